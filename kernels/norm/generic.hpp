// SPDX-License-Identifier: Apache-2.0
// Horizontal sums and maxima of a tier, and the norm kernels built on them.
#pragma once

#include "kernels/base/fold.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/norm/norm.hpp"

namespace colonnade::kernels::norm {
namespace {

inline constexpr std::size_t kLanes = Vec::kLanes;

template <class At>
inline float sum_channels(std::size_t channels, At at) {
  return sum_lanes(fold_values(channels, zero(), at, [](Vec a, Vec b) { return a + b; }));
}

/// out[c] = f(in[c], c, n) over the channels of one pixel.
template <class F>
inline void map_channels(std::size_t channels, const float* in, float* out, F f) {
  std::size_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) store(out + c, f(load(in + c), c, kLanes));
  if (c < channels) store_first(out + c, f(load_first(in + c, channels - c), c, channels - c), channels - c);
}

inline float scalar_log(float x) {
  float lanes[kLanes];
  store(lanes, log(broadcast(x)));
  return lanes[0];
}

/// N pixels pass each stage together: a stage ends in a maximum or sum across lanes, whose steps wait for each other.
template <std::size_t N, bool kLog>
inline void softmax_pixels(const SoftmaxArgs& a, const float* in, float* out) {
  const auto from = [&](std::size_t p) { return in + static_cast<std::ptrdiff_t>(p) * a.in_pixel_stride; };
  const auto to = [&](std::size_t p) { return out + static_cast<std::ptrdiff_t>(p) * a.out_pixel_stride; };
  const Vec lowest = broadcast(-__builtin_inff());
  float largest[N], sums[N];
  for (std::size_t p = 0; p < N; ++p)
    largest[p] = max_lanes(fold_values(
        a.channels, lowest, [&](std::size_t c, std::size_t n) { return get_some(from(p) + c, n); },
        [](Vec x, Vec y) { return max(x, y); }));
  for (std::size_t p = 0; p < N; ++p) {
    const Vec top = broadcast(largest[p]);
    const float* const x = from(p);
    float* const y = to(p);
    sums[p] = sum_channels(a.channels, [&](std::size_t c, std::size_t n) {
      const Vec e = exp_of_negative(get_some(x + c, n) - top);
      if constexpr (!kLog) put_some(y + c, e, n);
      return e;
    });
  }
  for (std::size_t p = 0; p < N; ++p) {
    if constexpr (kLog) {
      const Vec top = broadcast(largest[p]), shift = broadcast(scalar_log(sums[p]));
      map_channels(a.channels, from(p), to(p), [&](Vec x, std::size_t, std::size_t) { return (x - top) - shift; });
    } else {
      const Vec scale = broadcast(1.0f / sums[p]);
      map_channels(a.channels, to(p), to(p), [&](Vec x, std::size_t, std::size_t) { return x * scale; });
    }
  }
}

/// Long pixels one by one: four of kLong values fill half of a first-level cache of 32 KiB, and are read in each stage.
template <bool kLog>
inline void softmax_of_all(const SoftmaxArgs& a) {
  constexpr std::size_t kTogether = 4, kLong = 1024;
  const float* in = a.in;
  float* out = a.out;
  std::size_t left = a.pixels;
  for (; left >= kTogether && a.channels < kLong; left -= kTogether) {
    softmax_pixels<kTogether, kLog>(a, in, out);
    in += static_cast<std::ptrdiff_t>(kTogether) * a.in_pixel_stride;
    out += static_cast<std::ptrdiff_t>(kTogether) * a.out_pixel_stride;
  }
  for (; left > 0; --left, in += a.in_pixel_stride, out += a.out_pixel_stride) softmax_pixels<1, kLog>(a, in, out);
}

inline void run_softmax(const SoftmaxArgs& a) noexcept {
  if (a.log) return softmax_of_all<true>(a);
  softmax_of_all<false>(a);
}

/// A root mean square norm has no center.
template <bool kCenters, bool kHasBias>
inline void layer_norm_pixel(const LayerNormArgs& a, const float* in, float* out) {
  const std::size_t channels = a.channels;
  const float* const scale = a.scale;
  const float* const bias = a.bias;
  const float count = static_cast<float>(channels);
  float mean = 0;
  if constexpr (kCenters)
    mean = sum_channels(channels, [in](std::size_t c, std::size_t n) { return get_some(in + c, n); }) / count;
  const Vec center = broadcast(mean);
  const auto centered = [center](Vec x) {
    if constexpr (kCenters) return x - center;
    return x;
  };
  const float squares = sum_channels(channels, [&](std::size_t c, std::size_t n) {
    const Vec d = centered(get_some(in + c, n));
    return d * d;
  });
  const Vec factor = broadcast(1.0f / __builtin_sqrtf(squares / count + a.epsilon));
  map_channels(channels, in, out, [=](Vec x, std::size_t c, std::size_t n) {
    const Vec y = centered(x) * factor, weight = get_some(scale + c, n);
    if constexpr (kHasBias) return fma(y, weight, get_some(bias + c, n));
    return y * weight;
  });
}

template <bool kCenters, bool kHasBias>
inline void layer_norm_pixels(const LayerNormArgs& a) {
  const float* in = a.in;
  float* out = a.out;
  for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride)
    layer_norm_pixel<kCenters, kHasBias>(a, in, out);
}

inline void run_layer_norm(const LayerNormArgs& a) noexcept {
  if (a.rms) return a.bias != nullptr ? layer_norm_pixels<false, true>(a) : layer_norm_pixels<false, false>(a);
  return a.bias != nullptr ? layer_norm_pixels<true, true>(a) : layer_norm_pixels<true, false>(a);
}

/// Pixels of one block of a sum over pixels: a block is summed on its own, then added, so that errors grow with the
/// number of blocks.
inline constexpr std::size_t kBlock = 128;

/// V vectors of channels (n lanes of one where V is 1) folded over the pixels, block by block: at(x, v) of each input.
template <int V, class At, class Fold, class Done>
inline __attribute__((always_inline)) void fold_pixels(std::size_t pixels, const float* in, std::ptrdiff_t stride,
                                                       std::size_t n, Vec start, At at, Fold fold, Done done) {
  Vec totals[V];
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) totals[v] = start;
  for (std::size_t p = 0; p < pixels;) {
    const std::size_t end = pixels - p < kBlock ? pixels : p + kBlock;
    Vec block[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) block[v] = start;
    for (; p < end; ++p, in += stride) {
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const std::size_t c = static_cast<std::size_t>(v) * kLanes;
        block[v] = fold(block[v], at(V > 1 ? load(in + c) : get_some(in, n), v));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) totals[v] = fold(totals[v], block[v]);
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) done(totals[v], v);
}

/// One pass over all channels: out[c] = finish(fold over pixels of at(in[p][c], c...)).
template <class At, class Fold, class Finish>
inline void fold_image(std::size_t pixels, std::size_t channels, const float* in, std::ptrdiff_t stride, float* out,
                       Vec start, At at, Fold fold, Finish finish) {
  std::size_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
    const auto centered = at.template from<4>(c, kLanes);
    fold_pixels<4>(pixels, in + c, stride, kLanes, start, centered, fold,
                   [&](Vec x, int v) { store(out + c + static_cast<std::size_t>(v) * kLanes, finish(x)); });
  }
  for (; c < channels; c += kLanes) {
    const std::size_t n = channels - c < kLanes ? channels - c : kLanes;
    const auto centered = at.template from<1>(c, n);
    fold_pixels<1>(pixels, in + c, stride, n, start, centered, fold,
                   [&](Vec x, int) { put_some(out + c, finish(x), n); });
  }
}

/// The values themselves, and the squares of their distances from a mean a channel.
struct Values {
  template <int V>
  Values from(std::size_t, std::size_t) const {
    return {};
  }
  Vec operator()(Vec x, int) const { return x; }
};
template <int V>
struct SquaresAbout {
  Vec mean[V];
  Vec operator()(Vec x, int v) const { return (x - mean[v]) * (x - mean[v]); }
};
struct Squares {
  const float* mean;
  template <int V>
  SquaresAbout<V> from(std::size_t channel, std::size_t n) const {
    SquaresAbout<V> about;
#pragma GCC unroll 4
    for (std::size_t v = 0; v < V; ++v) about.mean[v] = get_some(mean + channel + v * kLanes, n);
    return about;
  }
};

inline constexpr auto kAdd = [](Vec a, Vec b) { return a + b; };
inline void run_instance_norm(const InstanceNormArgs& a) noexcept {
  if (a.pixels == 0) return;
  float* mean = a.scratch;
  float* factor = a.scratch + a.channels;
  const Vec share = broadcast(1.0f / static_cast<float>(a.pixels));
  const Vec one = broadcast(1.0f);
  const Vec epsilon = broadcast(a.epsilon);
  fold_image(a.pixels, a.channels, a.in, a.in_pixel_stride, mean, zero(), Values{}, kAdd,
             [&](Vec sum) { return sum * share; });
  fold_image(a.pixels, a.channels, a.in, a.in_pixel_stride, factor, zero(), Squares{mean}, kAdd,
             [&](Vec sum) { return one / sqrt(fma(sum, share, epsilon)); });
  map_channels(a.channels, factor, factor,
               [&](Vec f, std::size_t c, std::size_t n) { return f * get_some(a.scale + c, n); });
  const float* in = a.in;
  float* out = a.out;
  for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride) {
    map_channels(a.channels, in, out, [&](Vec x, std::size_t c, std::size_t n) {
      return fma(x - get_some(mean + c, n), get_some(factor + c, n), get_some(a.bias + c, n));
    });
  }
}

/// x^-beta for positive x.
inline Vec inverse_power(Vec x, float beta) {
  const Vec one = broadcast(1.0f);
  if (beta == 0.75f) {
    const Vec root = sqrt(x);
    return one / (root * sqrt(root));
  }
  if (beta == 0.5f) return one / sqrt(x);
  if (beta == 1.0f) return one / x;
  return exp(broadcast(-beta) * log(x));
}

/// n values from in[first], zero where the index is outside [0, channels).
inline Vec window_values(const float* in, std::ptrdiff_t first, std::size_t n, std::ptrdiff_t channels) {
  if (first >= 0 && first + static_cast<std::ptrdiff_t>(kLanes) <= channels) return load(in + first);
  float lanes[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::ptrdiff_t c = first + static_cast<std::ptrdiff_t>(i);
    lanes[i] = i < n && c >= 0 && c < channels ? in[c] : 0.0f;
  }
  return load(lanes);
}

inline void run_lrn(const LrnArgs& a) noexcept {
  const auto channels = static_cast<std::ptrdiff_t>(a.channels);
  const auto below = static_cast<std::ptrdiff_t>((a.size - 1) / 2);
  const auto above = static_cast<std::ptrdiff_t>(a.size / 2);
  const Vec share = broadcast(a.alpha / static_cast<float>(a.size));
  const Vec bias = broadcast(a.bias);
  const float* in = a.in;
  float* out = a.out;
  for (std::size_t p = 0; p < a.pixels; ++p, in += a.in_pixel_stride, out += a.out_pixel_stride) {
    map_channels(a.channels, in, out, [&](Vec x, std::size_t c, std::size_t n) {
      Vec sum = zero();
      for (std::ptrdiff_t d = -below; d <= above; ++d) {
        const Vec v = window_values(in, static_cast<std::ptrdiff_t>(c) + d, n, channels);
        sum = fma(v, v, sum);
      }
      return x * inverse_power(fma(sum, share, bias), a.beta);
    });
  }
}

}  // namespace
}  // namespace colonnade::kernels::norm
