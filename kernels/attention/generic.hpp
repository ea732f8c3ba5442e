// SPDX-License-Identifier: Apache-2.0
// Softmax of rows of scores, some rows together: each stage ends in a maximum or sum across lanes, whose steps wait for
// each other.
#pragma once

#include "kernels/attention/attention.hpp"
#include "kernels/base/fold.hpp"
#include "kernels/base/vector_math.hpp"

namespace colonnade::kernels::attention {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

template <std::size_t N, int kAddends, bool kCaps>
inline void shares_of_rows(const SharesArgs& a, std::size_t row) {
  const auto line = [&](std::size_t i) { return a.scores + static_cast<std::ptrdiff_t>(row + i) * a.stride; };
  const auto addend = [&](std::size_t which, std::size_t i) {
    return a.addends[which] + static_cast<std::ptrdiff_t>(row + i) * a.addend_strides[which];
  };
  const auto sink = [&](std::size_t i) { return a.sinks + static_cast<std::ptrdiff_t>(row + i) * a.sink_stride; };
  const Vec scale = broadcast(kCaps ? a.cap : a.scale), inner = broadcast(kCaps ? a.scale / a.cap : 1),
            lowest = broadcast(-__builtin_inff());
  float largest[N];
  for (std::size_t i = 0; i < N; ++i) {
    float* scores = line(i);
    const float *first = kAddends > 0 ? addend(0, i) : nullptr, *second = kAddends > 1 ? addend(1, i) : nullptr;
    largest[i] = max_lanes(fold_values(
        a.keys, lowest,
        [&](std::size_t key, std::size_t n) {
          Vec x = get_some(scores + key, n);
          if constexpr (kCaps) x = tanh(x * inner);
          x = kAddends == 0 ? x * scale : fma(x, scale, get_some(first + key, n));
          if constexpr (kAddends > 1) x = x + get_some(second + key, n);
          put_some(scores + key, x, n);
          return x;
        },
        [](Vec x, Vec y) { return max(x, y); }));
    if (a.sinks != nullptr) largest[i] = largest[i] > *sink(i) ? largest[i] : *sink(i);
  }
  for (std::size_t i = 0; i < N; ++i) {
    float* scores = line(i);
    const Vec top = broadcast(largest[i]);
    a.sums[row + i] = sum_lanes(fold_values(
        a.keys, zero(),
        [&](std::size_t key, std::size_t n) {
          const Vec e = exp_of_negative(get_some(scores + key, n) - top);
          put_some(scores + key, e, n);
          return e;
        },
        [](Vec x, Vec y) { return x + y; }));
    if (a.sinks != nullptr) a.sums[row + i] += max_lanes(exp_of_negative(broadcast(*sink(i)) - top));
  }
}

template <int kAddends, bool kCaps>
inline void shares_of_all(const SharesArgs& a) {
  constexpr std::size_t kTogether = 4;
  std::size_t row = 0;
  for (; row + kTogether <= a.rows; row += kTogether) shares_of_rows<kTogether, kAddends, kCaps>(a, row);
  for (; row < a.rows; ++row) shares_of_rows<1, kAddends, kCaps>(a, row);
}

template <bool kCaps>
inline void shares_with_addends(const SharesArgs& a) {
  if (a.addends[1] != nullptr) return shares_of_all<2, kCaps>(a);
  if (a.addends[0] != nullptr) return shares_of_all<1, kCaps>(a);
  shares_of_all<0, kCaps>(a);
}

inline void run_shares(const SharesArgs& a) noexcept {
  if (a.cap != 0) return shares_with_addends<true>(a);
  shares_with_addends<false>(a);
}

/// Looks at the addends of rows, some keys at a time.
class Addends {
 public:
  explicit Addends(const SharesArgs& a) : a_(a) {}

  std::size_t rows() const {
    const bool same = a_.addend_strides[0] == 0 && (a_.addends[1] == nullptr || a_.addend_strides[1] == 0);
    return same ? 1 : a_.rows;
  }
  /// The largest of so many keys from `key` on, each with the lower one of its addends.
  template <std::size_t kKeys>
  float largest(std::size_t row, std::size_t key) const {
    const std::size_t count = a_.keys - key < kKeys ? a_.keys - key : kKeys;
    const float* first = at(0, row) + key;
    const float* second = a_.addends[1] == nullptr ? first : at(1, row) + key;
    return max_lanes(fold_values(
        count, broadcast(-__builtin_inff()),
        [&](std::size_t i, std::size_t n) { return min(get_some(first + i, n), get_some(second + i, n)); },
        [](Vec x, Vec y) { return max(x, y); }));
  }
  /// Whether shares of zero are left out: not of keys that are all barred by numbers, which share evenly.
  bool may_leave_out(std::size_t row, std::size_t begin, std::size_t end) const {
    const float most = largest(row, begin, end);
    return most > kOpen || (most <= kBarred && largest(row, 0, a_.keys) == -__builtin_inff());
  }

 private:
  const float* at(std::size_t which, std::size_t row) const {
    return a_.addends[which] + static_cast<std::ptrdiff_t>(row) * a_.addend_strides[which];
  }
  float largest(std::size_t row, std::size_t begin, std::size_t end) const {
    float most = -__builtin_inff();
    for (std::size_t key = begin; key < end && most <= kOpen; key += kLiveStep) {
      const float some = largest<kLiveStep>(row, key);
      most = most < some ? some : most;
    }
    return most;
  }

  const SharesArgs& a_;
};

/// Without the last keys that no row sees.
inline std::size_t live_end(const Addends& addends, std::size_t begin, std::size_t end) {
  const std::size_t rows = addends.rows();
  for (std::size_t key = (end - 1) / kLiveEnd * kLiveEnd; key > begin; key -= kLiveEnd) {
    for (std::size_t row = rows; row-- > 0;)
      if (addends.largest<kLiveEnd>(row, key) > kBarred) return end;
    end = key;
  }
  return end;
}

inline LiveKeys live_keys(const SharesArgs& a) noexcept {
  const LiveKeys all{0, a.keys};
  if (a.addends[0] == nullptr) return all;
  const Addends addends(a);
  const std::size_t rows = addends.rows(), steps = (a.keys + kLiveStep - 1) / kLiveStep;
  const auto is_live = [&](std::size_t row, std::size_t step) {
    return addends.largest<kLiveStep>(row, step * kLiveStep) > kBarred;
  };
  std::size_t begin = steps, end = 0;
  for (std::size_t row = rows; row-- > 0 && end < steps;)  // under a causal mask the last row sees the most
    for (std::size_t step = steps; step > end; --step)
      if (is_live(row, step - 1)) end = step;
  for (std::size_t row = 0; row < rows && begin > 0; ++row)
    for (std::size_t step = 0; step < begin; ++step)
      if (is_live(row, step)) begin = step;
  if (begin >= end) return all;
  LiveKeys live{begin * kLiveStep, end * kLiveStep < a.keys ? end * kLiveStep : a.keys};
  live.end = live_end(addends, live.begin, live.end);
  if (live.begin == 0 && live.end == a.keys) return all;
  for (std::size_t row = 0; row < rows; ++row)
    if (!addends.may_leave_out(row, live.begin, live.end)) return all;
  return live;
}

inline void run_divide(const DivideArgs& a) noexcept {
  float* out = a.out;
  for (std::size_t row = 0; row < a.rows; ++row, out += a.stride) {
    const Vec factor = broadcast(1.0f / a.sums[row]);
    for (std::size_t c = 0; c < a.columns; c += kLanes) {
      const std::size_t n = a.columns - c < kLanes ? a.columns - c : kLanes;
      put_some(out + c, get_some(out + c, n) * factor, n);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::attention
