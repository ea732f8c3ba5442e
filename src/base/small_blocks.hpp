// SPDX-License-Identifier: Apache-2.0
// Blocks of one small size, kept by the thread that freed them last: what data of many small tensors are made of.
#pragma once

#include <cstddef>
#include <new>

namespace colonnade {

class SmallBlocks {
 public:
  static constexpr std::size_t kBytes = 144;
  /// Null where there is no memory. Aligned as malloc's.
  static void* take() noexcept;
  /// Of any thread.
  static void give(void* block) noexcept;
};

/// Of single objects that a block has room for; others are the heap's.
template <class T>
struct SmallAllocator {
  using value_type = T;
  SmallAllocator() = default;
  template <class Other>
  SmallAllocator(const SmallAllocator<Other>&) noexcept {}  // NOLINT(google-explicit-constructor)

  static constexpr bool kFits = sizeof(T) <= SmallBlocks::kBytes && alignof(T) <= alignof(std::max_align_t);
  T* allocate(std::size_t count) {
    if (!kFits || count != 1) return static_cast<T*>(::operator new(count * sizeof(T)));
    void* const block = SmallBlocks::take();
    if (block == nullptr) throw std::bad_alloc();
    return static_cast<T*>(block);
  }
  void deallocate(T* object, std::size_t count) noexcept {
    if (!kFits || count != 1) return ::operator delete(object);
    SmallBlocks::give(object);
  }
  template <class Other>
  bool operator==(const SmallAllocator<Other>&) const noexcept {
    return true;
  }
};

}  // namespace colonnade
