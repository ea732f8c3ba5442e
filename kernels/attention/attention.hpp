// SPDX-License-Identifier: Apache-2.0
// What attention does with its scores between the two products, fp32. Products are kernels/gemm's.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::attention {

inline constexpr std::size_t kMostAddends = 2;

/// Rows of scores become exp(s - their largest), where s = scale * score + addends, or with a cap cap * tanh(scale *
/// score / cap) + addends, and sums[row] the sum of a row. It is taken in four vectors of keys in turn, then pairwise:
/// keys whose exponential is zero leave the bits as they are where they come last. A row's sink is one score more,
/// whose exponential is added to the sum in the end. Rows lie `stride` floats apart; addend i of a row at addends[i] +
/// row * addend_strides[i].
struct SharesArgs {
  std::size_t rows = 0;
  std::size_t keys = 0;  ///< at least one
  float* scores = nullptr;
  std::ptrdiff_t stride = 0;
  float scale = 1;
  float cap = 0;                            ///< 0: none
  const float* addends[kMostAddends] = {};  ///< null: none; the first before the second
  std::ptrdiff_t addend_strides[kMostAddends] = {};
  const float* sinks = nullptr;  ///< null: none
  std::ptrdiff_t sink_stride = 0;
  float* sums = nullptr;
};

/// out[row][c] /= sums[row].
struct DivideArgs {
  std::size_t rows = 0;
  std::size_t columns = 0;
  float* out = nullptr;
  std::ptrdiff_t stride = 0;
  const float* sums = nullptr;
};

/// Addends bar a key where one of them is as low as this, and leave it open where none is below the other number.
inline constexpr float kBarred = -1e12f, kOpen = -1e6f;
/// Ranges of keys begin at multiples of the first, where shares have the bits that they have behind keys whose share is
/// zero, and end at multiples of the second or with the last key.
inline constexpr std::size_t kLiveStep = 64, kLiveEnd = 16;
struct LiveKeys {
  std::size_t begin, end;
};

struct Kernel {
  const char* name;
  Isa isa;
  /// Keys outside have a share of zero in all rows: addends bar them, while each row has an open key or nothing but
  /// -inf. Scores and sums are not read.
  LiveKeys (*live)(const SharesArgs&) noexcept;
  void (*shares)(const SharesArgs&) noexcept;
  void (*divide)(const DivideArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::attention
