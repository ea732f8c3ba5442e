// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace colonnade::testing {

/// Floats that end where an unmapped page begins and start after a canary: a read or write past the end faults, a write
/// before the start is found by intact(). `slack` bytes move the end away from the page, to unalign the start.
class GuardedFloats {
 public:
  explicit GuardedFloats(std::size_t count, std::size_t slack = 0) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t data = (count * sizeof(float) + slack + kCanaryBytes + page - 1) / page * page;
    mapped_ = data + page;
    base_ = static_cast<unsigned char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + data, page, PROT_NONE) != 0) throw std::bad_alloc();
    first_ = base_ + (data - slack - count * sizeof(float));
    for (unsigned char* p = first_ - kCanaryBytes; p != first_; ++p) *p = kCanary;
  }
  GuardedFloats(GuardedFloats&& other) noexcept
      : base_(other.base_), first_(other.first_), mapped_(other.mapped_), count_(other.count_) {
    other.base_ = nullptr;
  }
  GuardedFloats& operator=(GuardedFloats&&) = delete;
  ~GuardedFloats() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }

  float* data() const { return reinterpret_cast<float*>(first_); }
  std::size_t size() const { return count_; }
  std::span<float> span() const { return {data(), count_}; }
  float& operator[](std::size_t i) const { return data()[i]; }

  bool intact() const {
    for (const unsigned char* p = first_ - kCanaryBytes; p != first_; ++p) {
      if (*p != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kCanaryBytes = 256;
  static constexpr unsigned char kCanary = 0xA5;
  unsigned char* base_ = nullptr;
  unsigned char* first_ = nullptr;
  std::size_t mapped_ = 0;
  std::size_t count_ = 0;
};

/// Numbers in [-1, 1), the same for equal seeds.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2862933555777941757u + 3037000493u) {}
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<std::int32_t>(state_ >> 32)) * 0x1p-31f;
  }
  void fill(std::span<float> values) {
    for (float& value : values) value = next();
  }

 private:
  std::uint64_t state_;
};

}  // namespace colonnade::testing
