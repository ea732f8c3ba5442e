// SPDX-License-Identifier: Apache-2.0
// Equal inputs give equal bits however rows, columns, output channels and input channels are split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::gemm::ConvArgs;
using kernels::gemm::Kernel;
using kernels::gemm::kPanel;

const ConvSizes kShapes[] = {
    {.height_in = 5, .width_in = 29, .channels_in = 13, .channels_out = 100, .kernel_h = 3, .kernel_w = 3, .pad = 1},
    {.height_in = 4, .width_in = 41, .channels_in = 64, .channels_out = 64},
    {.height_in = 9,
     .width_in = 30,
     .channels_in = 3,
     .channels_out = 48,
     .kernel_h = 5,
     .kernel_w = 5,
     .stride = 2,
     .pad = 2},
    {.height_in = 6,
     .width_in = 23,
     .channels_in = 8,
     .channels_out = 200,
     .kernel_h = 3,
     .kernel_w = 3,
     .dilation = 4,
     .pad = 4,
     .in_gap = 3},
};

void expect_same_bits(const Rows& a, const Rows& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t y = 0; y < a.size(); ++y) {
    ASSERT_EQ(std::memcmp(a[y].data(), b[y].data(), a[y].size() * sizeof(float)), 0) << what << " row " << y;
  }
}

TEST(ConvSplit, RowsOneByOne) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    for (const ConvSizes& sizes : kShapes) {
      ConvCase c(sizes, 11);
      Rows whole = c.make_out(12);
      kernel.run(c.args(kernel, whole));
      Rows parts = c.make_out(12);
      ConvArgs args = c.args(kernel, parts);
      for (std::size_t row = sizes.height_out(); row-- > 0;) {
        args.rows = 1;
        args.in_rows = c.in_table.data() + row * sizes.kernel_h;
        args.out_rows = c.out_table.data() + row;
        kernel.run(args);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_bits(whole, parts, describe(sizes) + " " + kernel.name));
    }
  });
}

/// Output columns [from, to) as a strip of its own: the input starts at the first column that it needs.
void run_columns(const Kernel& kernel, ConvCase& c, Rows& out, std::size_t from, std::size_t to) {
  const ConvSizes& s = c.sizes;
  ConvArgs args = c.args(kernel, out);
  const std::size_t first = from * s.stride;
  const std::size_t skipped = first > s.pad ? first - s.pad : 0;
  const std::size_t until =
      std::min((to - 1) * s.stride + (s.kernel_w - 1) * s.dilation + 1, s.width_in + s.pad) - s.pad;
  for (const float*& row : c.in_table) {
    if (row != nullptr) row += skipped * (s.channels_in + s.in_gap);
  }
  for (float*& row : c.out_table) row += from * (s.channels_out + s.out_gap);
  args.pad_left = s.pad + skipped - first;
  args.width_in = until - skipped;
  args.width_out = to - from;
  kernel.run(args);
}

TEST(ConvSplit, Strips) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    for (const ConvSizes& sizes : kShapes) {
      ConvCase c(sizes, 21);
      Rows whole = c.make_out(22);
      kernel.run(c.args(kernel, whole));
      for (const std::size_t strip : {1u, 2u, 3u, 5u, 7u, 11u}) {
        Rows parts = c.make_out(22);
        const std::size_t width = sizes.width_out();
        for (std::size_t x = 0; x < width; x += strip) run_columns(kernel, c, parts, x, std::min(width, x + strip));
        ASSERT_NO_FATAL_FAILURE(
            expect_same_bits(whole, parts, describe(sizes) + " " + kernel.name + " strip " + std::to_string(strip)));
      }
    }
  });
}

TEST(ConvSplit, OutputChannels) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    for (const ConvSizes& sizes : kShapes) {
      ConvCase c(sizes, 31);
      Rows whole = c.make_out(32);
      ConvArgs args = c.args(kernel, whole);
      args.epilogue.activation.kind = kernels::Unary::relu;
      kernel.run(args);
      for (const std::size_t panels : {1u, 2u, 3u, 5u}) {
        Rows parts = c.make_out(32);
        const ConvArgs all = c.args(kernel, parts);
        for (std::size_t n = 0; n < sizes.channels_out; n += panels * kPanel) {
          ConvArgs part = all;
          std::vector<float*> rows = c.out_table;
          for (float*& row : rows) row += n;
          part.out_rows = rows.data();
          part.epilogue.activation.kind = kernels::Unary::relu;
          part.channels_out = std::min(panels * kPanel, sizes.channels_out - n);
          part.weights = all.weights + n / kPanel * all.panel_stride;
          part.bias = all.bias + n;
          kernel.run(part);
        }
        ASSERT_NO_FATAL_FAILURE(expect_same_bits(whole, parts, describe(sizes) + " " + kernel.name));
      }
    }
  });
}

TEST(ConvSplit, AccumulatedInputChannels) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    for (const std::size_t channels_out : {16u, 33u, 64u, 150u}) {
      const ConvSizes sizes{.height_in = 3, .width_in = 17, .channels_in = 96, .channels_out = channels_out};
      ConvCase c(sizes, 51);
      Rows whole = c.make_out(52);
      ConvArgs args = c.args(kernel, whole);
      args.epilogue.activation.kind = kernels::Unary::silu;
      kernel.run(args);
      Rows parts = c.make_out(53);
      args = c.args(kernel, parts);
      const std::vector<const float*> in = c.in_table;
      const float* const weights = args.weights;
      for (std::size_t from = 0; from < 96; from += 32) {
        for (std::size_t i = 0; i < in.size(); ++i) c.in_table[i] = in[i] + from;
        args.channels_in = 32;
        args.weights = weights + kernels::gemm::panel_floats(kernel.encoding, from);
        args.accumulate = from > 0;
        args.epilogue.activation.kind = from == 64 ? kernels::Unary::silu : kernels::Unary::identity;
        kernel.run(args);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_bits(whole, parts, describe(sizes) + " " + kernel.name));
    }
  });
}

TEST(ConvSplit, GroupsTogetherAndByOffsetPointers) {
  for_each_kernel(kernels::gemm::table(), [](const Kernel& kernel) {
    const ConvSizes group{.height_in = 2,
                          .width_in = 12,
                          .channels_in = 10,
                          .channels_out = 20,
                          .kernel_h = 2,
                          .kernel_w = 3,
                          .pad = 1,
                          .in_gap = 10,
                          .out_gap = 20};
    ConvCase c(group, 61);
    const Rows in = make_rows(2, 12, 20, 20, 62);
    Rows out = make_rows(group.height_out(), group.width_out(), 40, 40, 63);
    for (std::size_t g = 0; g < 2; ++g) {
      for (std::size_t y = 0; y < 2; ++y) {
        for (std::size_t i = 0; i < c.in[y].size(); ++i) c.in[y][i] = in[y][g * 10 + i];
      }
      Rows expected = c.make_out(64);
      kernel.run(c.args(kernel, expected));
      ConvArgs args = c.args(kernel, out);
      for (const float*& row : c.in_table) {
        if (row != nullptr) row = (row == c.in[0].data() ? in[0] : in[1]).data() + g * 10;
      }
      for (float*& row : c.out_table) row += g * 20;
      kernel.run(args);
      for (std::size_t i = 0; i < expected[1].size(); ++i) {
        if (i % 40 >= 20) continue;
        ASSERT_EQ(out[1][g * 20 + i], expected[1][i]) << kernel.name << " group " << g;
      }
    }
    const auto twice = [](const GuardedFloats& x) {
      std::vector<float> both(x.data(), x.data() + x.size());
      both.insert(both.end(), x.data(), x.data() + x.size());
      return both;
    };
    const std::vector<float> weights = twice(c.encoded(kernel.encoding)), bias = twice(c.bias);
    Rows together = make_rows(group.height_out(), group.width_out(), 40, 40, 65);
    ConvArgs args = c.args(kernel, together);
    for (const float*& row : c.in_table) {
      if (row != nullptr) row = (row == c.in[0].data() ? in[0] : in[1]).data();
    }
    args.groups = 2;
    args.weights = weights.data();
    args.bias = bias.data();
    kernel.run(args);
    ASSERT_NO_FATAL_FAILURE(expect_same_bits(out, together, kernel.name));
  });
}

}  // namespace
}  // namespace colonnade::testing
