// SPDX-License-Identifier: Apache-2.0
// Products of pairs of bf16 against VDPBF16PS done in software: of a lane's two products first that of the upper
// halves is added, then that of the lower ones, each with one rounding; subnormal numbers count as zero.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::Encoding;
using kernels::gemm::Kernel;

float flushed(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }

/// The nearest bf16, from halfway to the even one.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(flushed(x));
  return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

float add_products(float sum, float low, float low_weight, float high, float high_weight) {
  return flushed(std::fma(low, low_weight, flushed(std::fma(high, high_weight, flushed(sum)))));
}

/// Term `term` of row `ky` of taps for output pixel (y, x): zero in the padding.
float input_of(const ConvCase& c, std::size_t y, std::size_t x, std::size_t ky, std::size_t term) {
  const ConvSizes& s = c.sizes;
  const std::size_t row = y * s.stride + ky * s.dilation;
  const std::size_t column = x * s.stride + term / s.channels_in * s.dilation;
  if (row < s.pad || row - s.pad >= s.height_in || column < s.pad || column - s.pad >= s.width_in) return 0;
  return c.in[row - s.pad][(column - s.pad) * (s.channels_in + s.in_gap) + term % s.channels_in];
}

float emulated(const ConvCase& c, std::size_t y, std::size_t x, std::size_t channel) {
  const ConvSizes& s = c.sizes;
  const std::size_t run = kernels::gemm::paired_terms(s.terms()), row_terms = s.kernel_w * s.channels_in;
  float sum = c.bias[channel];
  for (std::size_t ky = 0; ky < s.kernel_h; ++ky)
    for (std::size_t first = 0; first < row_terms; first += run)
      for (std::size_t term = first; term < first + run; term += 2) {
        const auto input = [&](std::size_t t) { return t < first + run ? rounded(input_of(c, y, x, ky, t)) : 0.0f; };
        const auto weight = [&](std::size_t t) {
          return t < first + run ? rounded(c.weight(channel, t % s.channels_in, ky, t / s.channels_in)) : 0.0f;
        };
        sum = add_products(sum, input(term), weight(term), input(term + 1), weight(term + 1));
      }
  return sum;
}

TEST(Pairs, BitsOfTheInstruction) {
  bool ran = false;
  for (const Kernel& kernel : kernels::gemm::table()) {
    if (kernel.encoding != Encoding::bf16 || kernel.isa != kernels::Isa::bf16) continue;
    if (!kernels::host_features().contains(kernel.isa)) continue;
    ran = true;
    std::uint64_t seed = 9000;
    for (const std::size_t channels_in : {1u, 2u, 3u, 5u, 16u, 33u})
      for (const std::size_t channels_out : {1u, 16u, 20u, 65u})
        for (const std::size_t stride : {1u, 2u, 3u})
          for (const std::size_t size : {1u, 3u, 5u}) {
            ++seed;
            const ConvSizes sizes{.height_in = 6 + seed % 3,
                                  .width_in = 7 + seed % 23,
                                  .channels_in = channels_in,
                                  .channels_out = channels_out,
                                  .kernel_h = size,
                                  .kernel_w = size,
                                  .stride = stride,
                                  .dilation = size == 3 ? 1 + seed % 2 : 1,
                                  .pad = size / 2,
                                  .in_gap = seed % 2};
            ConvCase c(sizes, seed);
            c.in[0][0] = 0x1p-140f;
            Rows out = c.make_out(seed + 2);
            const kernels::gemm::ConvArgs args = c.args(kernel, out);
            kernel.run(args);
            for (std::size_t y = 0; y < args.rows; ++y)
              for (std::size_t i = 0; i < out[y].size(); ++i)
                ASSERT_EQ(out[y][i], emulated(c, y, i / channels_out, i % channels_out))
                    << describe(sizes) << " at y" << y << " x" << i / channels_out << " c" << i % channels_out;
          }
  }
  if (!ran) GTEST_SKIP() << "no dot products of bf16 here";
}

TEST(Pairs, WeightsAreRoundedToTheNearestEven) {
  const float panel[16] = {1.0f,
                           0x1.01p0f,
                           0x1.03p0f,
                           0x1.0101p0f,
                           -0x1.01p0f,
                           0x1p-130f,
                           0x1.fffffep127f,
                           std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN()};
  float pairs[16];
  kernels::gemm::pair_up(panel, 1, 1, pairs);
  const float expected[16] = {1.0f,
                              1.0f,
                              0x1.04p0f,
                              0x1.02p0f,
                              -1.0f,
                              0.0f,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::infinity()};
  for (std::size_t i = 0; i < 16; ++i) {
    const auto word = std::bit_cast<std::uint32_t>(pairs[i]);
    EXPECT_EQ(word >> 16, 0u) << i;
    const auto low = std::bit_cast<float>(word << 16);
    if (i == 8)
      EXPECT_TRUE(std::isnan(low));
    else
      EXPECT_EQ(low, expected[i]) << i;
  }
}

TEST(Pairs, TermsAreJoinedWherePixelsStartAtWholeWords) {
  using kernels::gemm::paired_terms;
  EXPECT_EQ(paired_terms({3, 3, 1, 1, 64}), 192u);
  EXPECT_EQ(paired_terms({7, 7, 2, 1, 3}), 21u);
  EXPECT_EQ(paired_terms({3, 3, 1, 1, 3}), 3u);
  EXPECT_EQ(paired_terms({3, 3, 1, 2, 64}), 64u);
  EXPECT_EQ(kernels::gemm::panel_rows(Encoding::bf16, {7, 7, 2, 1, 3}), 7u * 22);
  EXPECT_EQ(kernels::gemm::panel_rows(Encoding::bf16, {3, 3, 1, 1, 3}), 9u * 4);
}

}  // namespace
}  // namespace colonnade::testing
