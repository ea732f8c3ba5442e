// SPDX-License-Identifier: Apache-2.0
// Products of floats with weights in pairs of bf16, pixel by pixel: for tiers that multiply no bf16, where a product of
// few pixels waits for its weights. Of a pair the upper half is added first, as VDPBF16PS does.
#pragma once

#include "kernels/gemm/conv_tile.hpp"
#include "kernels/gemm/pair_blocks.hpp"

namespace colonnade::kernels::gemm {
namespace {

inline constexpr std::size_t kPairPanels = 4;

/// What the taps of pixel x of an output row read, run by run, zeros in the padding and where a run is odd.
inline void gather_runs(const ConvArgs& a, std::size_t group, std::size_t row, std::size_t x, float* to) {
  const std::size_t run = paired_terms(terms_of(a));
  std::size_t filled = 0;
  for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
    const float* const from = a.in_rows[row * a.kernel_h + ky];
    for (std::size_t kx = 0; kx < a.kernel_w; ++kx) {
      const std::size_t at = x * a.stride_w + kx * a.dilation_w - a.pad_left;
      if (from != nullptr && at < a.width_in)
        copy_floats(from + static_cast<std::ptrdiff_t>(at) * a.in_pixel_stride + group * a.channels_in, a.channels_in,
                    to);
      else
        clear_floats(to, a.channels_in);
      to += a.channels_in;
      if ((filled += a.channels_in) < run) continue;
      filled = 0;
      if (run % 2 != 0) *to++ = 0;
    }
  }
}

template <std::size_t V>
[[gnu::always_inline]] inline void multiply_pairs(const float* x, const float* weights, std::size_t panel_stride,
                                                  std::size_t pairs, float* sums) {
  Vec at[V];
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) at[v] = load(sums + v * Vec::kLanes);
  const IntBatch upper(static_cast<std::int32_t>(0xffff0000u));
  for (; pairs > 0; --pairs, x += 2, weights += kPanelFloats) {
    const Vec low = broadcast(x[0]), high = broadcast(x[1]);
    prefetch_weights<V>(weights + kWeightsAhead * kPanelFloats, panel_stride);
#pragma GCC unroll 16
    for (std::size_t v = 0; v < V; ++v) {
      const IntBatch pair = bits_of(load(weights_at(weights, panel_stride, v)));
      at[v] = fma(low, from_bits(pair << 16), fma(high, from_bits(pair & upper), at[v]));
    }
  }
#pragma GCC unroll 16
  for (std::size_t v = 0; v < V; ++v) store(sums + v * Vec::kLanes, at[v]);
}

/// Sums of `panels` panels from weights on, of the terms of one pixel.
inline void sum_panels(const float* x, const float* weights, std::size_t panel_stride, std::size_t pairs,
                       std::size_t panels, float* sums) {
  if (panels == kPairPanels) return multiply_pairs<kPairPanels * kPanelVectors>(x, weights, panel_stride, pairs, sums);
  for (std::size_t i = 0; i < panels; ++i)
    multiply_pairs<kPanelVectors>(x, weights + i * panel_stride, panel_stride, pairs, sums + i * kPanel);
}

/// Channels of one group for pixel x of an output row, whose terms are at `terms`.
inline void conv_pixel(const ConvArgs& a, std::size_t group, std::size_t row, std::size_t x, const float* terms,
                       const float* weights) {
  alignas(64) float scratch[kPairPanels * kPanel];
  const std::size_t pairs = panel_rows(Encoding::bf16, terms_of(a)) / 2;
  for (std::size_t first = 0; first < a.channels_out; first += kPairPanels * kPanel) {
    const std::size_t left = a.channels_out - first, channel = group * a.channels_out + first;
    Tile tile{};
    Epilogue epilogue = a.epilogue;
    if (epilogue.activation.slope != nullptr) epilogue.activation.slope += channel;
    tile.epilogue = &epilogue;
    tile.scratch = scratch;
    tile.lanes = left < kPairPanels * kPanel ? left : kPairPanels * kPanel;
    tile.out = a.out_rows[row] + static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride + channel;
    if (a.residual_rows != nullptr)
      tile.residual = a.residual_rows[row] + static_cast<std::ptrdiff_t>(x) * a.residual_pixel_stride + channel;
    clear_floats(scratch, kPairPanels * kPanel);
    const float* const from = a.accumulate ? tile.out : a.bias == nullptr ? nullptr : a.bias + channel;
    if (from != nullptr) copy_floats(from, tile.lanes, scratch);
    sum_panels(terms, weights + first / kPanel * a.panel_stride, a.panel_stride, pairs,
               (tile.lanes + kPanel - 1) / kPanel, scratch);
    finish_scratch(tile, 1, kPairPanels * kPanel);
  }
}

inline void conv_pair_weights(const ConvArgs& a) noexcept {
  const Terms terms = terms_of(a);
  const std::size_t group_floats = packed_floats(Encoding::bf16, panel_rows(Encoding::bf16, terms), a.channels_out);
  const bool in_place = a.kernel_h * a.kernel_w == 1 && a.channels_in % 2 == 0 && a.pad_left == 0;
  const float* weights = a.weights;
  for (std::size_t group = 0; group < a.groups; ++group, weights += group_floats)
    for (std::size_t row = 0; row < a.rows; ++row)
      for (std::size_t x = 0; x < a.width_out; ++x) {
        const float* const pixels = a.in_rows[row * a.kernel_h];
        const bool there = in_place && pixels != nullptr && x * a.stride_w < a.width_in;
        if (!there) gather_runs(a, group, row, x, a.workspace);
        conv_pixel(
            a, group, row, x,
            there ? pixels + static_cast<std::ptrdiff_t>(x * a.stride_w) * a.in_pixel_stride + group * a.channels_in
                  : a.workspace,
            weights);
      }
}

}  // namespace
}  // namespace colonnade::kernels::gemm
