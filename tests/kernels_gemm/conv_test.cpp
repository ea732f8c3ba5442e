// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::gemm::ConvArgs;
using kernels::gemm::Kernel;

/// One rounding a product and sum: at most (k + 1) * 2^-24 of the sum of absolute values, doubled without FMA. Rounded
/// to bf16, both factors of a product are off by at most 2^-8.
double tolerance(const Kernel& kernel, double magnitude, std::size_t k) {
  const double rounded = kernel.encoding == kernels::Encoding::bf16 ? 0x1.02p-7 : 0;
  return (0x1p-23 * static_cast<double>(k + 2) + rounded) * magnitude;
}

/// Runs the whole convolution with each kernel; checks every output, the gaps between pixels and the canaries.
void check(const Kernel& kernel, const ConvSizes& sizes, std::uint64_t seed) {
  ConvCase c(sizes, seed);
  Rows out = c.make_out(seed + 2);
  const Rows before = c.make_out(seed + 2);
  const ConvArgs args = c.args(kernel, out);
  kernel.run(args);
  const std::size_t stride = sizes.channels_out + sizes.out_gap;
  for (std::size_t y = 0; y < args.rows; ++y) {
    ASSERT_TRUE(out[y].intact() && c.workspace.intact()) << describe(sizes);
    for (std::size_t i = 0; i < out[y].size(); ++i) {
      const std::size_t x = i / stride;
      const std::size_t channel = i % stride;
      if (channel >= sizes.channels_out) {
        ASSERT_EQ(out[y][i], before[y][i]) << kernel.name << ' ' << describe(sizes) << " wrote between pixels";
        continue;
      }
      const ConvCase::Exact exact = c.exact(y, x, channel);
      ASSERT_NEAR(out[y][i], exact.sum, tolerance(kernel, exact.magnitude, sizes.k()))
          << kernel.name << ' ' << describe(sizes) << " seed " << seed << " at y" << y << " x" << x << " c" << channel;
    }
  }
}

TEST(Conv, PointwiseOfOddSizes) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    std::uint64_t seed = 1;
    for (const std::size_t channels_out : {1u, 2u, 3u, 5u, 15u, 16u, 17u, 31u, 33u, 48u, 64u, 65u, 96u, 100u, 144u}) {
      for (std::size_t width = 1; width <= 31; width += width < 20 ? 1 : 3) {
        const std::size_t channels_in = 1 + (seed * 7) % 37;
        ASSERT_NO_FATAL_FAILURE(check(kernel,
                                      {.height_in = 2,
                                       .width_in = width,
                                       .channels_in = channels_in,
                                       .channels_out = channels_out,
                                       .in_gap = seed % 2 * 3,
                                       .out_gap = seed % 3},
                                      seed));
        ++seed;
      }
    }
  });
}

/// Sums of a single pixel taken in parts: as exact, and the same bits panel by panel.
TEST(Conv, PartialSums) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    if (kernel.encoding == kernels::Encoding::bf16x3) return;
    std::uint64_t seed = 500;
    for (std::size_t channels_in = 1; channels_in <= 260; channels_in += channels_in < 12 ? 1 : 31)
      for (const std::size_t channels_out : {1u, 3u, 16u, 17u, 33u, 48u, 64u, 100u}) {
        const ConvSizes sizes{.channels_in = channels_in, .channels_out = channels_out};
        ConvCase c(sizes, ++seed);
        Rows out = c.make_out(seed + 2), parts = c.make_out(seed + 2);
        ConvArgs args = c.args(kernel, out);
        args.partial_sums = true;
        kernel.run(args);
        ASSERT_TRUE(out[0].intact()) << describe(sizes);
        for (std::size_t o = 0; o < channels_out; ++o) {
          const ConvCase::Exact exact = c.exact(0, 0, o);
          ASSERT_NEAR(out[0][o], exact.sum, tolerance(kernel, exact.magnitude, sizes.k()))
              << kernel.name << describe(sizes);
        }
        args = c.args(kernel, parts);
        args.partial_sums = true;
        for (std::size_t first = 0; first < channels_out; first += kernels::gemm::kPanel) {
          args.channels_out = std::min(kernels::gemm::kPanel, channels_out - first);
          kernel.run(args);
          c.out_table[0] += kernels::gemm::kPanel;
          args.weights += args.panel_stride;
          args.bias += kernels::gemm::kPanel;
        }
        ASSERT_EQ(std::memcmp(out[0].data(), parts[0].data(), channels_out * sizeof(float)), 0)
            << kernel.name << ' ' << describe(sizes);
      }
  });
}

/// Partial sums of several pixels are those of each alone.
TEST(Conv, PartialSumsOfSeveralPixels) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    if (kernel.encoding == kernels::Encoding::bf16x3) return;
    std::uint64_t seed = 900;
    for (const std::size_t width : {2u, 3u, 5u, 6u, 7u, 9u, 29u, 31u})
      for (const std::size_t channels_in : {1u, 2u, 3u, 4u, 5u, 33u, 130u})
        for (const std::size_t channels_out : {3u, 16u, 33u, 64u, 100u, 160u}) {
          const ConvSizes sizes{
              .width_in = width, .channels_in = channels_in, .channels_out = channels_out, .out_gap = 2};
          ConvCase c(sizes, ++seed);
          Rows out = c.make_out(seed + 2), alone = c.make_out(seed + 2);
          ConvArgs args = c.args(kernel, out);
          args.partial_sums = true;
          args.epilogue.activation.kind = seed % 2 == 0 ? kernels::Unary::identity : kernels::Unary::silu;
          args.accumulate = seed % 3 == 0;
          kernel.run(args);
          ASSERT_TRUE(out[0].intact()) << describe(sizes);
          const ConvArgs together = args;
          args = c.args(kernel, alone);
          args.partial_sums = true;
          args.epilogue = together.epilogue, args.accumulate = together.accumulate;
          args.width_in = args.width_out = 1;
          for (std::size_t x = 0; x < width; ++x) {
            kernel.run(args);
            c.in_table[0] += args.in_pixel_stride;
            c.out_table[0] += args.out_pixel_stride;
          }
          for (std::size_t x = 0; x < width; ++x)
            ASSERT_EQ(std::memcmp(out[0].data() + x * (channels_out + 2), alone[0].data() + x * (channels_out + 2),
                                  channels_out * sizeof(float)),
                      0)
                << kernel.name << ' ' << describe(sizes) << " pixel " << x;
        }
  });
}

TEST(Conv, KernelsStridesAndPadding) {
  const ConvSizes shapes[] = {
      {.kernel_h = 3, .kernel_w = 3, .pad = 1},
      {.kernel_h = 3, .kernel_w = 3, .pad = 0},
      {.kernel_h = 5, .kernel_w = 5, .pad = 2},
      {.kernel_h = 7, .kernel_w = 7, .stride = 2, .pad = 3},
      {.kernel_h = 1, .kernel_w = 7, .pad = 3},
      {.kernel_h = 7, .kernel_w = 1, .pad = 3},
      {.kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1},
      {.kernel_h = 1, .kernel_w = 1, .stride = 2, .pad = 0},
      {.kernel_h = 2, .kernel_w = 2, .stride = 3, .pad = 1},
      {.kernel_h = 3, .kernel_w = 3, .dilation = 2, .pad = 2},
      {.kernel_h = 3, .kernel_w = 3, .dilation = 3, .pad = 1},
      {.kernel_h = 3, .kernel_w = 3, .dilation = 18, .pad = 18},
      {.kernel_h = 3, .kernel_w = 3, .stride = 2, .dilation = 5, .pad = 11},
      {.kernel_h = 1, .kernel_w = 41, .pad = 20},
      {.kernel_h = 4, .kernel_w = 4, .stride = 4, .pad = 9},
  };
  for_each_kernel(kernels::gemm::table(), [&](const Kernel& kernel) {
    std::uint64_t seed = 1000;
    for (ConvSizes sizes : shapes) {
      for (const std::size_t width : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 11u, 13u, 17u, 23u, 37u}) {
        for (const std::size_t channels_in : {1u, 3u, 4u, 17u}) {
          const std::size_t channels_out[] = {1, 5, 16, 24, 33, 48, 64, 100};
          ++seed;
          sizes.height_in = 1 + seed % 5;
          sizes.width_in = width;
          sizes.channels_in = channels_in;
          sizes.channels_out = channels_out[seed % 8];
          sizes.in_gap = seed % 3 == 0 ? 2 : 0;
          sizes.out_gap = seed % 5 == 0 ? 1 : 0;
          if (!sizes.possible()) continue;
          ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, seed));
        }
      }
    }
  });
}

/// More rows than are padded together: each by itself gives the same bits.
TEST(Conv, ManyNarrowRows) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    const ConvSizes sizes{
        .height_in = 150, .width_in = 28, .channels_in = 1, .channels_out = 8, .kernel_h = 5, .kernel_w = 5, .pad = 2};
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, 1901));
    ConvCase c(sizes, 1902);
    const Rows added = c.make_out(1903);
    std::vector<const float*> residual;
    for (const auto& row : added) residual.push_back(row.data());
    Rows whole = c.make_out(1904), parts = c.make_out(1904);
    ConvArgs args = c.args(kernel, whole);
    args.residual_rows = residual.data();
    args.residual_pixel_stride = args.out_pixel_stride;
    kernel.run(args);
    const ConvArgs all = c.args(kernel, parts);
    for (std::size_t row = 0; row < all.rows; ++row) {
      ConvArgs one = all;
      one.rows = 1;
      one.in_rows += row * all.kernel_h;
      one.out_rows += row;
      one.residual_rows = residual.data() + row;
      one.residual_pixel_stride = one.out_pixel_stride;
      kernel.run(one);
      ASSERT_EQ(std::memcmp(whole[row].data(), parts[row].data(), whole[row].size() * sizeof(float)), 0)
          << kernel.name << " row " << row;
    }
  });
}

TEST(Conv, LongSums) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    check(
        kernel,
        {.height_in = 3, .width_in = 7, .channels_in = 512, .channels_out = 65, .kernel_h = 3, .kernel_w = 3, .pad = 1},
        2001);
    check(kernel, {.width_in = 1, .channels_in = 1280, .channels_out = 1000}, 2002);
    check(kernel, {.width_in = 2, .channels_in = 1024, .channels_out = 257}, 2003);
    check(kernel, {.width_in = 15, .channels_in = 1024, .channels_out = 33}, 2004);
    check(kernel, {.width_in = 1, .channels_in = 4096, .channels_out = 2100}, 2005);  // weights that no cache holds
  });
}

TEST(Conv, NoBiasNoRowsNoPixels) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    ConvCase c({.height_in = 2, .width_in = 9, .channels_in = 6, .channels_out = 20}, 3001);
    Rows out = c.make_out(3002);
    const Rows before = c.make_out(3002);
    ConvArgs args = c.args(kernel, out);
    args.rows = 0;
    kernel.run(args);
    args.rows = 2;
    args.width_out = 0;
    kernel.run(args);
    for (std::size_t i = 0; i < out[0].size(); ++i) ASSERT_EQ(out[0][i], before[0][i]);
    args.width_out = 9;
    args.bias = nullptr;
    kernel.run(args);
    for (std::size_t i = 0; i < out[1].size(); ++i) {
      const ConvCase::Exact exact = c.exact(1, i / 20, i % 20);
      ASSERT_NEAR(out[1][i], exact.sum - static_cast<double>(c.bias[i % 20]), tolerance(kernel, exact.magnitude, 6));
    }
  });
}

TEST(Conv, PackFillsTheLastPanelWithZeros) {
  const std::size_t k = 3;
  const std::size_t n = 21;
  std::vector<float> source(k * n);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
  GuardedFloats packed(kernels::gemm::packed_floats(kernels::Encoding::f32, k, n));
  kernels::gemm::pack(source.data(), 1, static_cast<std::ptrdiff_t>(k), k, n, packed.data());
  ASSERT_EQ(packed.size(), 2 * k * 16);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const std::size_t column = i / (k * 16) * 16 + i % 16;
    const std::size_t row = i % (k * 16) / 16;
    ASSERT_EQ(packed[i], column < n ? source[column * k + row] : 0.0f) << i;
  }
}

TEST(Conv, TableIsBestFirstAndSelectFindsEveryTier) {
  const auto table = kernels::gemm::table();
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_GE(table[i - 1].isa, table[i].isa);
  for (const kernels::Isa isa : kernels::kAllIsas) {
    const Kernel& floats = kernels::gemm::select(isa, kernels::Encoding::f32);
    kernels::Isa expected = kernels::Isa::baseline;
    for (const kernels::Isa tier : {kernels::Isa::avx2, kernels::Isa::avx512})
      if (kernels::Features(isa).contains(tier)) expected = tier;
    EXPECT_EQ(floats.isa, expected);
    EXPECT_EQ(floats.encoding, kernels::Encoding::f32);
  }
  const Kernel& pieces = kernels::gemm::select(kernels::Isa::amx, kernels::Encoding::bf16x3);
  EXPECT_EQ(pieces.encoding, kernels::Encoding::bf16x3);
  EXPECT_EQ(kernels::gemm::select(kernels::Isa::bf16, kernels::Encoding::bf16).isa, kernels::Isa::bf16);
  EXPECT_EQ(kernels::gemm::select(kernels::Isa::avx2, kernels::Encoding::bf16).isa, kernels::Isa::avx2);
}

}  // namespace
}  // namespace colonnade::testing
