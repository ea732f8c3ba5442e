// SPDX-License-Identifier: Apache-2.0
// What the row-kernel tests share: buffers between unmapped pages, random values, distances in units in the last place.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::test {

/// Which end of a buffer touches an unmapped page.
enum class Edge { front, back };

/// `size` floats that begin or end at an unmapped page; the rest of the mapped pages holds a pattern that intact()
/// finds unchanged unless a kernel wrote outside.
class Guarded {
 public:
  explicit Guarded(std::size_t size, Edge edge = Edge::back) : size_(size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    inner_ = (size * sizeof(float) + 64 + page - 1) / page * page;
    mapped_ = inner_ + 2 * page;
    base_ = static_cast<unsigned char*>(
        ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    ::mprotect(base_, page, PROT_NONE);
    ::mprotect(base_ + page + inner_, page, PROT_NONE);
    first_ = base_ + page;
    std::memset(first_, kCanary, inner_);
    data_ = reinterpret_cast<float*>(edge == Edge::front ? first_ : first_ + inner_ - size * sizeof(float));
    for (float& x : values()) x = std::numeric_limits<float>::quiet_NaN();
  }
  Guarded(std::span<const float> source, Edge edge) : Guarded(source.size(), edge) {
    std::copy(source.begin(), source.end(), data_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { ::munmap(base_, mapped_); }

  float* data() { return data_; }
  std::span<float> values() { return {data_, size_}; }
  bool intact() const {
    const auto* begin = reinterpret_cast<const unsigned char*>(data_);
    for (const unsigned char* p = first_; p < first_ + inner_; ++p) {
      if (p == begin) p += size_ * sizeof(float);
      if (p < first_ + inner_ && *p != kCanary) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned char kCanary = 0xC5;
  std::size_t size_;
  std::size_t inner_;
  std::size_t mapped_;
  unsigned char* base_;
  unsigned char* first_;
  float* data_;
};

inline std::vector<float> random_floats(std::size_t size, unsigned seed, float low = -1.0f, float high = 1.0f) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(size);
  for (float& x : values) x = distribution(generator);
  return values;
}

/// |got - want| in units in the last place of want as a float; 0 for equal infinities and two NaN.
inline double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  if (std::isnan(got)) return 1e30;
  const double limit = std::numeric_limits<float>::max();
  const bool huge = std::fabs(want) > limit;
  if (std::isinf(got) || huge) {
    const bool close = std::fabs(want) > limit * (1 - 1e-6) && (std::isinf(got) || std::fabs(got) > 3.40e38f);
    return close && (got < 0) == (want < 0) ? 0 : 1e30;
  }
  const int exponent = want == 0 ? -149 : std::max(std::ilogb(want) - 23, -149);
  return std::fabs(got - want) / std::ldexp(1.0, exponent);
}

/// The channel counts around the vector widths 4, 8 and 16, and a few primes.
inline constexpr std::size_t kChannelCounts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 67};

/// The rows of a family's table that this host runs, their names printed once a test.
template <class Kernel>
std::vector<Kernel> runnable(std::span<const Kernel> table) {
  std::vector<Kernel> rows;
  std::string names;
  for (const Kernel& kernel : table) {
    if (kernel.isa > host_isa()) {
      names += std::string(" (skipped ") + kernel.name + ")";
      continue;
    }
    rows.push_back(kernel);
    names += std::string(" ") + kernel.name;
  }
  static std::string printed;
  if (printed != names) std::printf("[   ROWS   ]%s\n", names.c_str());
  printed = names;
  EXPECT_FALSE(rows.empty());
  return rows;
}

}  // namespace colonnade::kernels::test
