// SPDX-License-Identifier: Apache-2.0
// Pooling of one pixel whose taps are given one by one.
#pragma once

#include "kernels/base/fold.hpp"
#include "kernels/base/simd.hpp"
#include "kernels/pool/pool.hpp"

namespace colonnade::kernels::pool {
namespace {

/// visit(channel, n): n channels of a vector, all but the last one as many as there are lanes.
template <class Visit>
inline void each_vector(std::size_t channels, Visit visit) {
  for (std::size_t c = 0; c < channels; c += Vec::kLanes)
    visit(c, channels - c < Vec::kLanes ? channels - c : Vec::kLanes);
}

inline Vec position_bits(std::int32_t position) { return from_bits(IntBatch(position)); }

inline void run_largest(const TapsArgs& a) noexcept {
  each_vector(a.channels, [&a](std::size_t c, std::size_t n) {
    Vec value = broadcast(-__FLT_MAX__), position = position_bits(-1);
    if (a.taps > 0) value = get_some(a.in[0] + c, n), position = position_bits(a.positions[0]);
    for (std::size_t t = 1; t < a.taps; ++t) {
      const Vec x = get_some(a.in[t] + c, n), at = position_bits(a.positions[t]);
      const Mask larger = less(value, x), none = is_nan(x);
      value = select(none, x, select(larger, x, value));
      position = select(none, at, select(larger, at, position));
    }
    put_some(a.out + c, value, n);
    put_some(reinterpret_cast<float*>(a.out_positions) + c, position, n);
  });
}

inline Vec to_power(Vec x, int power) {
  Vec result = x;
  for (int i = 1; i < power; ++i) result = result * x;
  return result;
}

inline Vec root_of(Vec x, int power) {
  if (power == 1) return x;
  if (power == 2) return sqrt(x);
  float lanes[Vec::kLanes];
  store(lanes, x);
  for (float& lane : lanes) lane = __builtin_powf(lane, 1.0f / static_cast<float>(power));
  return load(lanes);
}

inline void run_powers(const TapsArgs& a) noexcept {
  each_vector(a.channels, [&a](std::size_t c, std::size_t n) {
    Vec sum = zero();
    for (std::size_t t = 0; t < a.taps; ++t) sum = sum + to_power(abs(get_some(a.in[t] + c, n)), a.power);
    put_some(a.out + c, root_of(sum, a.power), n);
  });
}

}  // namespace
}  // namespace colonnade::kernels::pool
