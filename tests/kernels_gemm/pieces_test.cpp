// SPDX-License-Identifier: Apache-2.0
// Products of floats cut into bf16 pieces: what is cut, and what their sums err.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::Encoding;
using kernels::gemm::Kernel;
using kernels::gemm::kPanel;
using kernels::gemm::kPieces;
using kernels::gemm::kPiecesStep;

constexpr std::size_t kSide = kPiecesStep / 2;

/// The piece of a weight in a panel in pieces: the rows of a step and those kSide further share words.
float piece_of(const float* panel, std::size_t row, std::size_t column, std::size_t piece) {
  const std::size_t step = row / kPiecesStep, inside = row % kPiecesStep;
  const auto word =
      std::bit_cast<std::uint32_t>(panel[((step * kPieces + piece) * kSide + inside % kSide) * kPanel + column]);
  return std::bit_cast<float>(inside < kSide ? word << 16 : word & 0xffff0000u);
}

/// Three pieces of eight significant bits are the whole float; rows beyond the last are zero.
TEST(Conv, PiecesSumUpToTheFloat) {
  constexpr std::size_t k = 43;
  std::vector<float> source(k * kPanel);
  Random random(71);
  random.fill(source);
  source[5] = 0, source[6] = -1.5f, source[7] = 3.0e38f, source[8] = 1e-30f, source[9] = -0x1.fffffep127f;
  GuardedFloats pieces(kernels::gemm::panel_floats(Encoding::bf16x3, k));
  ASSERT_EQ(pieces.size(), 2u * 3 * 16 * 16);
  kernels::gemm::cut_pieces(source.data(), k, pieces.data());
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t column = 0; column < kPanel; ++column) {
      double sum = 0;
      for (std::size_t piece = 0; piece < kPieces; ++piece)
        sum += static_cast<double>(piece_of(pieces.data(), row, column, piece));
      ASSERT_EQ(sum, row < k ? static_cast<double>(source[row * kPanel + column]) : 0.0) << row << ' ' << column;
    }
}

/// Pieces of a pixel's channel: bits cut off, not rounded.
std::array<float, kPieces> pieces_of(float value) {
  std::array<float, kPieces> pieces{};
  for (float& piece : pieces) {
    piece = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000u);
    value -= piece;
  }
  return pieces;
}

constexpr std::size_t kPixels = 64, kChannels = 64;

/// A row of pixels, each with sums of `k` products.
ConvCase sums_of(std::size_t k) {
  return ConvCase({.width_in = kPixels, .channels_in = k, .channels_out = kChannels}, 72);
}

/// What one pixel and channel come to on matrix units, in plain C++: six products of pieces a step of kPiecesStep
/// terms, in the kernel's order; each product sums the terms of both halves of words apart, in float32. A product of
/// two pieces is exact.
float sum_of_pieces(const ConvCase& c, std::size_t x, std::size_t channel) {
  constexpr std::pair<std::size_t, std::size_t> kProducts[] = {{2, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 2}, {0, 0}};
  const std::size_t k = c.sizes.k();
  const float* const panel = c.pieces.data() + channel / kPanel * kernels::gemm::panel_floats(Encoding::bf16x3, k);
  float sum = 0;
  for (std::size_t first = 0; first < k; first += kPiecesStep)
    for (const auto& [pixel_piece, weight_piece] : kProducts) {
      float halves[2] = {};
      for (std::size_t row = first; row < std::min(k, first + kPiecesStep); ++row)
        halves[(row - first) / kSide] +=
            pieces_of(c.in[0][x * k + row])[pixel_piece] * piece_of(panel, row, channel % kPanel, weight_piece);
      sum += halves[0] + halves[1];
    }
  return sum + c.bias[channel];
}

/// Root mean square of what sums err against double precision; found(pixel, channel) is the sum.
template <class Found>
double error_of(const ConvCase& c, Found found) {
  double squares = 0;
  for (std::size_t x = 0; x < kPixels; ++x)
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      const double error = static_cast<double>(found(x, channel)) - c.exact(0, x, channel).sum;
      squares += error * error;
    }
  return std::sqrt(squares / (kPixels * kChannels));
}

double error_of(const Kernel& kernel, std::size_t k) {
  ConvCase c = sums_of(k);
  Rows out = c.make_out(73);
  kernel.run(c.args(kernel, out));
  return error_of(c, [&](std::size_t x, std::size_t channel) { return out[0][x * kChannels + channel]; });
}

const Kernel& floats_of_this_host() {
  const auto table = kernels::gemm::table();
  return *std::find_if(table.begin(), table.end(), [](const Kernel& kernel) {
    return kernel.encoding == Encoding::f32 && kernels::host_features().contains(kernel.isa);
  });
}

constexpr std::size_t kTerms[] = {32, 96, 200, 600, 1500};

/// Sums of pieces err no more than those of vector units, short ones and long.
TEST(Conv, PiecesErrNoMoreThanFloats) {
  for (const std::size_t k : kTerms) {
    const ConvCase c = sums_of(k);
    const double pieces = error_of(c, [&](std::size_t x, std::size_t channel) { return sum_of_pieces(c, x, channel); });
    const double floats = error_of(floats_of_this_host(), k);
    std::printf("%zu terms: pieces err %.2g, %s %.2g\n", k, pieces, floats_of_this_host().name, floats);
    EXPECT_LE(pieces, floats) << k;
  }
}

/// The kernels themselves.
TEST(Conv, MatrixUnitsErrNoMoreThanFloats) {
  bool ran = false;
  for (const Kernel& kernel : kernels::gemm::table()) {
    if (kernel.encoding != Encoding::bf16x3 || !kernels::host_features().contains(kernel.isa)) continue;
    ran = true;
    for (const std::size_t k : kTerms) EXPECT_LE(error_of(kernel, k), error_of(floats_of_this_host(), k)) << k;
  }
  if (!ran) GTEST_SKIP() << "no matrix units here";
}

}  // namespace
}  // namespace colonnade::testing
