// SPDX-License-Identifier: Apache-2.0
// Memory between unmapped pages, for what kernels read and write.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>

namespace colonnade::test {

/// Which end of a buffer touches an unmapped page.
enum class Edge { front, back };

/// `size` elements that begin or end at an unmapped page, so that an access beyond faults; at the other end, up to a
/// page further, lies a pattern that intact() finds unchanged unless something wrote there. `slack` bytes move the
/// elements away from the page, to unalign their start. They are NaN or the pattern at first.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t size, Edge edge = Edge::back, std::size_t slack = 0) : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (size * sizeof(T) + slack + kLeastPattern + page - 1) / page * page;
    mapped_ = inner_ + 2 * page;
    void* const mapped = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<unsigned char*>(mapped);
    first_ = base_ + page;
    if (mprotect(base_, page, PROT_NONE) != 0 || mprotect(first_ + inner_, page, PROT_NONE) != 0)
      throw std::bad_alloc();
    std::memset(first_, kPattern, inner_);
    data_ = reinterpret_cast<T*>(edge == Edge::front ? first_ + slack : first_ + inner_ - slack - size * sizeof(T));
    if constexpr (std::floating_point<T>) std::fill_n(data_, size_, std::numeric_limits<T>::quiet_NaN());
  }
  explicit Guarded(std::span<const T> source, Edge edge = Edge::back) : Guarded(source.size(), edge) {
    std::copy(source.begin(), source.end(), data_);
  }
  Guarded(Guarded&& other) noexcept
      : size_(other.size_),
        inner_(other.inner_),
        mapped_(other.mapped_),
        base_(std::exchange(other.base_, nullptr)),
        first_(other.first_),
        data_(other.data_) {}
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<T> values() const { return {data_, size_}; }
  T& operator[](std::size_t i) const { return data_[i]; }

  bool intact() const {
    const auto* const begin = reinterpret_cast<const unsigned char*>(data_);
    const auto is_pattern = [](unsigned char byte) { return byte == kPattern; };
    return std::all_of<const unsigned char*>(first_, begin, is_pattern) &&
           std::all_of<const unsigned char*>(begin + size_ * sizeof(T), first_ + inner_, is_pattern);
  }

 private:
  static constexpr std::size_t kLeastPattern = 256;
  static constexpr unsigned char kPattern = 0xC5;
  std::size_t size_;
  std::size_t inner_ = 0;
  std::size_t mapped_ = 0;
  unsigned char* base_ = nullptr;
  unsigned char* first_ = nullptr;
  T* data_ = nullptr;
};

using GuardedFloats = Guarded<float>;

}  // namespace colonnade::test
