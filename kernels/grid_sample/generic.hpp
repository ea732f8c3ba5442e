// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/base/simd.hpp"
#include "kernels/grid_sample/grid_sample.hpp"

namespace colonnade::kernels::grid_sample {
namespace {

constexpr int kMaxTaps = 4;

/// The elements of one axis that a coordinate reads; those outside that count as zero have weight 0.
struct Taps {
  std::ptrdiff_t index[kMaxTaps];
  float weight[kMaxTaps];
};

/// x mirrored at low and high until it lies between them.
inline double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = x < low ? low - x : x - high;
  if (distance <= 0) return x;
  const double flips = __builtin_floor(distance / range), rest = distance - flips * range;
  const bool even = flips - 2 * __builtin_floor(flips / 2) == 0;
  return (x < low) == even ? low + rest : high - rest;
}

inline double clamped(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/// Weights of the four taps of ONNX's cubic, a = -0.75, at `t` past the second.
inline void cubic_weights(double t, double* weights) {
  constexpr double kA = -0.75;
  const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  weights[0] = far(1 + t);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

template <Mode kMode>
inline constexpr int kTaps = kMode == Mode::nearest  ? 1
                             : kMode == Mode::linear ? 2
                                                     : 4;

template <Mode kMode>
inline Taps taps_of(const Args& args, double grid, std::size_t axis_size) {
  const auto size = static_cast<double>(axis_size);
  const double low = args.align_corners ? 0 : -0.5, high = size - (args.align_corners ? 1 : 0.5);
  double x = args.align_corners ? (grid + 1) / 2 * (size - 1) : ((grid + 1) * size - 1) / 2;
  if (kMode == Mode::nearest) x = __builtin_nearbyint(x);
  if (x < low || x > high) {
    if (args.padding == Padding::border) x = clamped(x, 0, size - 1);
    if (args.padding == Padding::reflection) x = reflect(x, low, high);
  }
  x = x != x ? -1e9 : clamped(x, -1e9, 1e9);  // further out the taps are outside all the same
  const double base = __builtin_floor(x), t = x - base;
  double weights[kMaxTaps] = {1 - t, t};
  if (kMode == Mode::nearest) weights[0] = 1;
  if (kMode == Mode::cubic) cubic_weights(t, weights);
  const double first = kMode == Mode::nearest ? x : kMode == Mode::cubic ? base - 1 : base;
  Taps taps;
  for (int i = 0; i < kTaps<kMode>; ++i) {
    double index = first + i;
    taps.weight[i] = static_cast<float>(weights[i]);
    if (index < 0 || index >= size) {
      if (args.padding == Padding::zeros) taps.weight[i] = 0;
      if (args.padding == Padding::reflection) index = __builtin_trunc(reflect(index, low, high));
      index = clamped(index, 0, size - 1);
    }
    taps.index[i] = static_cast<std::ptrdiff_t>(index);
  }
  return taps;
}

/// Adds the taps of the plane whose first row is `first`, weighted by `plane`, behind the `used` ones; returns how many
/// there are then.
template <int kCount>
inline int add_plane(const Args& args, const Taps& x, const Taps& y, std::ptrdiff_t first, float plane,
                     const float** pixels, float* weights, int used) {
  for (int j = 0; j < kCount; ++j)
    for (int i = 0; i < kCount; ++i) {
      if (y.weight[j] == 0 || x.weight[i] == 0) continue;  // what is outside may not be a number
      const std::ptrdiff_t row = first + y.index[j];
      pixels[used] = args.image + (row * static_cast<std::ptrdiff_t>(args.width) + x.index[i]) * args.pixel_stride;
      weights[used++] = plane * y.weight[j] * x.weight[i];
    }
  return used;
}

/// The weighted sum of pixels.
inline void mix(const Args& args, const float* const* pixels, const float* weights, int used, float* out) {
  if (args.channel_stride != 1 || args.channels == 1) {
    for (std::size_t c = 0; c < args.channels; ++c) {
      float sum = 0;
      for (int k = 0; k < used; ++k)
        sum += weights[k] * pixels[k][static_cast<std::ptrdiff_t>(c) * args.channel_stride];
      out[c] = sum;
    }
    return;
  }
  for (std::size_t c = 0; c < args.channels; c += Vec::kLanes) {
    const std::size_t n = args.channels - c < Vec::kLanes ? args.channels - c : Vec::kLanes;
    Vec sum = zero();
    if (n == Vec::kLanes) {
      for (int k = 0; k < used; ++k) sum = fma(broadcast(weights[k]), load(pixels[k] + c), sum);
      store(out + c, sum);
    } else {
      for (int k = 0; k < used; ++k) sum = fma(broadcast(weights[k]), load_first(pixels[k] + c, n), sum);
      store_first(out + c, sum, n);
    }
  }
}

template <Mode kMode, bool kVolume>
inline void run_mode(const Args& args) {
  constexpr int taps = kTaps<kMode>, axes = kVolume ? 3 : 2;
  float* out = args.out;
  for (std::size_t p = 0; p < args.positions; ++p, out += args.channels) {
    const float* const grid = args.grid + axes * p;
    const Taps x = taps_of<kMode>(args, static_cast<double>(grid[0]), args.width);
    const Taps y = taps_of<kMode>(args, static_cast<double>(grid[1]), args.height);
    const float* pixels[taps * taps * (kVolume ? taps : 1)];
    float weights[taps * taps * (kVolume ? taps : 1)];
    int used = 0;
    if constexpr (kVolume) {
      const Taps z = taps_of<kMode>(args, static_cast<double>(grid[2]), args.depth);
      for (int k = 0; k < taps; ++k) {
        const std::ptrdiff_t first = z.index[k] * static_cast<std::ptrdiff_t>(args.height);
        if (z.weight[k] != 0) used = add_plane<taps>(args, x, y, first, z.weight[k], pixels, weights, used);
      }
    } else {
      used = add_plane<taps>(args, x, y, 0, 1, pixels, weights, used);
    }
    mix(args, pixels, weights, used, out);
  }
}

template <Mode kMode>
inline void run_axes(const Args& args) {
  args.depth == 0 ? run_mode<kMode, false>(args) : run_mode<kMode, true>(args);
}

inline void run(const Args& args) noexcept {
  switch (args.mode) {
    case Mode::nearest: return run_axes<Mode::nearest>(args);
    case Mode::linear: return run_axes<Mode::linear>(args);
    case Mode::cubic: return run_axes<Mode::cubic>(args);
  }
}

}  // namespace
}  // namespace colonnade::kernels::grid_sample
