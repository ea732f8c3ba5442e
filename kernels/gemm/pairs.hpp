// SPDX-License-Identifier: Apache-2.0
// Convolutions in pairs of bf16: input rows are rounded to the nearest (from halfway to the even one) a block at a
// time, with zeros for the padding beside them. What follows is the convolution of floats, of which each is now two
// numbers.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/gemm/generic.hpp"
#include "kernels/gemm/pair_blocks.hpp"

#if defined(__AVX512BF16__)  // else there is no such tier
namespace colonnade::kernels::gemm {
namespace {

using Half = std::uint16_t;

/// `count` floats as bf16; subnormal numbers become zero.
inline void round_floats(const float* from, std::size_t count, Half* to) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const __m512bh pair = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + i + 16), _mm512_loadu_ps(from + i));
    _mm512_storeu_si512(to + i, reinterpret_cast<const __m512i&>(pair));
  }
  if (i == count) return;
  const std::uint32_t left = (1u << (count - i)) - 1;
  const __m512bh pair = _mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(static_cast<__mmask16>(left >> 16), from + i + 16),
                                            _mm512_maskz_loadu_ps(static_cast<__mmask16>(left), from + i));
  _mm512_mask_storeu_epi16(to + i, left, reinterpret_cast<const __m512i&>(pair));
}

inline void clear_halves(Half* to, std::size_t count) { std::memset(to, 0, count * sizeof(Half)); }

/// Input columns of a block: `left` of them in the padding, then `inside` from `first` on, the rest in the padding too.
struct Columns {
  std::size_t count;
  std::size_t left;
  std::size_t first;
  std::size_t inside;
};

/// What output columns [x, x + outputs) read.
inline Columns columns_of(const ConvArgs& a, std::size_t x, std::size_t outputs) {
  Columns columns{columns_read(terms_of(a), outputs), 0, 0, 0};
  const std::size_t at = x * a.stride_w;
  columns.left = at < a.pad_left ? a.pad_left - at : 0;
  if (columns.left > columns.count) columns.left = columns.count;
  columns.first = at < a.pad_left ? 0 : at - a.pad_left;
  const std::size_t there = columns.first < a.width_in ? a.width_in - columns.first : 0;
  const std::size_t wanted = columns.count - columns.left;
  columns.inside = there < wanted ? there : wanted;
  return columns;
}

/// Rounded rows of one group: how they lie in the workspace.
struct PairRows {
  const ConvArgs& a;
  std::size_t first_channel;
  std::size_t pixel;  ///< halves
  std::size_t row;    ///< halves
  Columns columns;
};

inline void round_row(const PairRows& rows, const float* from, Half* to) {
  const ConvArgs& a = rows.a;
  const Columns& columns = rows.columns;
  Half* const end = to + rows.row;
  clear_halves(to, columns.left * rows.pixel);
  to += columns.left * rows.pixel;
  from += static_cast<std::ptrdiff_t>(columns.first) * a.in_pixel_stride + rows.first_channel;
  if (rows.pixel == a.channels_in && a.in_pixel_stride == static_cast<std::ptrdiff_t>(a.channels_in)) {
    round_floats(from, columns.inside * rows.pixel, to);
    to += columns.inside * rows.pixel;
  } else {
    for (std::size_t x = 0; x < columns.inside; ++x, from += a.in_pixel_stride, to += rows.pixel) {
      round_floats(from, a.channels_in, to);
      if (rows.pixel > a.channels_in) to[a.channels_in] = 0;
    }
  }
  clear_halves(to, static_cast<std::size_t>(end - to));
}

/// Rows of a block of output rows, each rounded once, and where taps find them.
struct PairBlock {
  static constexpr std::size_t kMostSources = 128, kMostTaps = 256;
  const float* sources[kMostSources];
  const float* taps[kMostTaps];
};

/// Rounds what output rows from `row` on read, as many as there is room for, one at least; returns where they end.
inline std::size_t round_rows(const PairRows& rows, std::size_t row, PairBlock& block) {
  const ConvArgs& a = rows.a;
  const std::size_t room = pair_workspace_floats(terms_of(a)) * 2 / rows.row;
  const std::size_t most = room < PairBlock::kMostSources ? room : PairBlock::kMostSources;
  Half* const halves = reinterpret_cast<Half*>(a.workspace);
  std::size_t rounded = 0, taps = 0;
  for (; row < a.rows && taps + a.kernel_h <= PairBlock::kMostTaps && rounded + a.kernel_h <= most; ++row)
    for (std::size_t ky = 0; ky < a.kernel_h; ++ky) {
      const float* const source = a.in_rows[row * a.kernel_h + ky];
      if (source == nullptr) {
        block.taps[taps++] = nullptr;
        continue;
      }
      std::size_t at = rounded;
      while (at > 0 && block.sources[at - 1] != source) --at;
      if (at == 0) {
        round_row(rows, source, halves + rounded * rows.row);
        block.sources[rounded++] = source;
        at = rounded;
      }
      block.taps[taps++] = reinterpret_cast<const float*>(halves + (at - 1) * rows.row);
    }
  return row;
}

/// The call on rounded rows, whose floats are pairs: a row of taps that follow each other is one tap of all their
/// channels.
inline ConvArgs args_of_pairs(const PairRows& rows) {
  ConvArgs part = rows.a;
  const std::size_t run = paired_terms(terms_of(rows.a));
  part.channels_in = (run + 1) / 2;
  part.in_pixel_stride = static_cast<std::ptrdiff_t>(rows.pixel / 2);
  part.pad_left = 0;
  part.width_in = rows.columns.count;
  if (run != rows.a.channels_in) {
    part.in_pixel_stride = static_cast<std::ptrdiff_t>(rows.a.stride_w * rows.pixel / 2);
    part.kernel_w = part.stride_w = 1;
    part.width_in = part.width_out;
  }
  return part;
}

/// Output columns [x, x + outputs) of output rows [row, end) of a group.
inline void conv_columns(const PairRows& rows, std::size_t group, std::size_t x, std::size_t outputs, std::size_t row,
                         std::size_t end, const float* weights) {
  const ConvArgs& a = rows.a;
  PairBlock block;
  ConvArgs part = args_of_pairs(rows);
  part.width_out = outputs;
  part.in_rows = block.taps;
  if (part.kernel_w != a.kernel_w) part.width_in = outputs;
  Runs runs;
  find_runs(part, 0, runs);
  while (row < end) {
    const std::size_t from = row;
    row = round_rows(rows, row, block);
    part.rows = row - from;
    part.out_rows = a.out_rows + from;
    part.residual_rows = a.residual_rows == nullptr ? nullptr : a.residual_rows + from;
    if (x == 0) {
      conv_group(part, runs, group, 0, weights);
      continue;
    }
    float* const out = a.out_rows[from] + static_cast<std::ptrdiff_t>(x) * a.out_pixel_stride;
    const float* const residual =
        a.residual_rows == nullptr ? nullptr
                                   : a.residual_rows[from] + static_cast<std::ptrdiff_t>(x) * a.residual_pixel_stride;
    part.out_rows = &out;
    if (residual != nullptr) part.residual_rows = &residual;
    conv_group(part, runs, group, 0, weights);
  }
}

/// Most output columns whose inputs a workspace holds.
inline std::size_t most_columns(const Terms& terms, std::size_t width_out) {
  const std::size_t row = pair_workspace_floats(terms) * 2 / terms.kernel_h / kLineHalves * kLineHalves;
  const std::size_t columns = pixel_halves(terms) == 0 ? width_out : (row - 1) / pixel_halves(terms);
  const std::size_t reach = (terms.kernel_w - 1) * terms.dilation_w + 1;
  const std::size_t outputs = columns < reach ? 1 : (columns - reach) / terms.stride_w + 1;
  return outputs < width_out ? outputs : width_out;
}

inline void conv_pairs(const ConvArgs& a) noexcept {
  if (a.width_out == 0) return;
  const Terms terms = terms_of(a);
  const std::size_t most = most_columns(terms, a.width_out), pieces = ceil_div(a.width_out, most);
  const std::size_t each = ceil_div(a.width_out, pieces);
  const std::size_t group_floats = packed_floats(Encoding::bf16, panel_rows(Encoding::bf16, terms), a.channels_out);
  const float* weights = a.weights;
  for (std::size_t group = 0; group < a.groups; ++group, weights += group_floats)
    for (std::size_t row = 0; row < a.rows; row = pieces == 1 ? a.rows : row + 1)
      for (std::size_t x = 0; x < a.width_out; x += each) {
        const std::size_t outputs = a.width_out - x < each ? a.width_out - x : each;
        const Columns columns = columns_of(a, x, outputs);
        const PairRows rows{a, group * a.channels_in, pixel_halves(terms), row_halves(terms, columns.count), columns};
        conv_columns(rows, group, x, outputs, row, pieces == 1 ? a.rows : row + 1, weights);
      }
}

}  // namespace
}  // namespace colonnade::kernels::gemm
#endif
