// SPDX-License-Identifier: Apache-2.0
// How a convolution in pairs of bf16 is cut: the input rows that its workspace holds at a time, rounded.
#pragma once

#include <cstddef>

#include "kernels/gemm/gemm.hpp"

namespace colonnade::kernels::gemm {

/// Halves are numbers of 16 bits, two a float. A workspace has so many floats; more, up to the second number, where
/// they do not hold what a few pixels read; and always enough for one.
inline constexpr std::size_t kPairFloats = 32 * 1024, kMostPairFloats = 192 * 1024, kFewPixels = 24, kLineHalves = 32;

/// A rounded pixel, and rounded rows of `columns` input pixels: whole lines, which end in zeros.
constexpr std::size_t pixel_halves(const Terms& terms) {
  return paired_terms(terms) == terms.channels ? (terms.channels + 1) / 2 * 2 : terms.channels;
}
constexpr std::size_t row_halves(const Terms& terms, std::size_t columns) {
  return (columns * pixel_halves(terms) + kLineHalves) / kLineHalves * kLineHalves;
}
/// Input columns that `outputs` output columns read.
constexpr std::size_t columns_read(const Terms& terms, std::size_t outputs) {
  return (outputs - 1) * terms.stride_w + (terms.kernel_w - 1) * terms.dilation_w + 1;
}

constexpr std::size_t pair_workspace_floats(const Terms& terms) {
  const auto floats = [&](std::size_t outputs) {
    return terms.kernel_h * row_halves(terms, columns_read(terms, outputs)) / 2;
  };
  const std::size_t terms_alone = panel_rows(Encoding::bf16, terms), rows = floats(1);
  const std::size_t one = rows > terms_alone ? rows : terms_alone, few = floats(kFewPixels),
                    least = one > kPairFloats ? one : kPairFloats;
  const std::size_t wanted = few < kMostPairFloats ? few : kMostPairFloats;
  return wanted > least ? wanted : least;
}

}  // namespace colonnade::kernels::gemm
