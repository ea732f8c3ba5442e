// SPDX-License-Identifier: Apache-2.0
#include "kernels/row_winograd/row_winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels_gemm/activation.hpp"
#include "kernels_gemm/conv_case.hpp"

namespace colonnade::testing {
namespace {

using kernels::row_winograd::Args;
using kernels::row_winograd::Filter;
using kernels::row_winograd::Kernel;
using kernels::row_winograd::kTiles;
using kernels::row_winograd::packed_floats;
using kernels::row_winograd::Tile;
using kernels::row_winograd::workspace_floats;

struct RowCase {
  RowCase(const Kernel& kernel, const ConvSizes& sizes, std::uint64_t seed, bool is_far = false)
      : tile(kernel.tile),
        down(sizes.kernel_w == 1),
        filter{down ? 1 : sizes.kernel_h, down ? sizes.kernel_h : sizes.kernel_w, sizes.dilation},
        far(is_far),
        conv(sizes, seed),
        packed(packed_floats(tile, filter, sizes.channels_in, sizes.channels_out)),
        workspace(workspace_floats(tile, filter, sizes.channels_in, sizes.channels_out)) {
    pack(0, sizes.channels_out);
  }

  /// Packs output channels [first, first + count).
  void pack(std::size_t first, std::size_t count) {
    const float* weights = conv.weights.data() + first * conv.sizes.k();
    kernels::row_winograd::pack(tile, filter, weights, conv.sizes.channels_in, first, count, packed.data());
  }

  Args args(Rows& out) {
    const ConvSizes& s = conv.sizes;
    in_table.clear();
    out_table.clear();
    if (down)
      put_down(out);
    else
      put_along(out);
    Args a;
    a.down = down;
    a.rows = out_table.size() / (down ? tile.outputs : 1);
    a.in_rows = in_table.data();
    a.out_rows = out_table.data();
    a.width_in = s.width_in;
    a.width_out = s.width_out();
    a.pad_left = s.pad;
    a.filter = filter;
    a.channels_in = s.channels_in;
    a.channels_out = s.channels_out;
    a.in_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_in + s.in_gap);
    a.out_pixel_stride = static_cast<std::ptrdiff_t>(s.channels_out + s.out_gap);
    a.residual_pixel_stride = a.out_pixel_stride;
    a.weights = packed.data();
    a.bias = conv.bias.data();
    a.far_weights = far;
    a.workspace = workspace.data();
    return a;
  }

  void put_along(Rows& out) {
    const ConvSizes& s = conv.sizes;
    for (std::size_t row = 0; row < s.height_out(); ++row) {
      for (std::size_t i = 0; i < filter.height; ++i) {
        const std::size_t y = row + i * s.dilation;
        in_table.push_back(y >= s.pad && y - s.pad < s.height_in ? conv.in[y - s.pad].data() : nullptr);
      }
      out_table.push_back(out[row].data());
    }
  }
  /// Tiles of rows a dilation apart; what no tap reads, or only those of rows that there are not, is null.
  void put_down(Rows& out) {
    const std::size_t rows = out.size(), dilation = filter.dilation, parts = filter.parts(tile);
    for (std::size_t begin = 0; begin < rows; begin += tile.outputs * dilation)
      for (std::size_t phase = 0; phase < dilation; ++phase) {
        for (std::size_t i = 0; i < parts * tile.inputs(); ++i) {
          const std::size_t at = i / tile.inputs() * tile.taps + i % tile.inputs();
          const std::size_t y = begin + phase + at * dilation;
          const bool is_read = at < tile.outputs - 1 + filter.width && begin + phase < rows;
          in_table.push_back(is_read && y < conv.sizes.height_in ? conv.in[y].data() : nullptr);
        }
        for (std::size_t i = 0; i < tile.outputs; ++i) {
          const std::size_t y = begin + phase + i * dilation;
          out_table.push_back(y < rows ? out[y].data() : nullptr);
        }
      }
  }

  Tile tile;
  bool down;  ///< a filter of one column
  Filter filter;
  bool far;  ///< weights, as kernels are told
  ConvCase conv;
  GuardedFloats packed;
  GuardedFloats workspace;
  std::vector<const float*> in_table;
  std::vector<float*> out_table;
};

ConvSizes sizes_of(const Filter& filter, std::size_t height, std::size_t width, std::size_t channels_in,
                   std::size_t channels_out) {
  return {.height_in = height,
          .width_in = width,
          .channels_in = channels_in,
          .channels_out = channels_out,
          .kernel_h = filter.height,
          .kernel_w = filter.width,
          .dilation = filter.dilation,
          .pad = filter.width / 2 * filter.dilation};
}

/// One part whole, several parts, a last part of fewer taps, several rows, dilations beyond the width.
constexpr Filter kFilters[] = {{1, 2, 1},  {1, 3, 1},  {1, 3, 7},  {1, 4, 3}, {1, 5, 1}, {1, 5, 2},
                               {1, 7, 1},  {1, 7, 12}, {1, 9, 1},  {2, 3, 1}, {3, 3, 2}, {1, 11, 5},
                               {1, 13, 1}, {3, 5, 1},  {1, 3, 40}, {2, 7, 3}};

template <class Body>
void for_each_filter(Body body) {
  for_each_kernel(kernels::row_winograd::table(), [&](const Kernel& kernel) {
    for (const Filter& filter : kFilters)
      if (filter.width >= kernel.tile.taps) body(kernel, filter);
  });
}

/// Inputs and weights are in [-1, 1): the transforms err like the root of the number of terms, the sums like itself.
double tolerance(Tile tile, std::size_t terms) {
  const auto n = static_cast<double>(terms);
  return (tile.inputs() == 8 ? 2 : 1) * (8e-6 * std::sqrt(n + 8) + 5e-7 * n);
}

void check(const Kernel& kernel, const ConvSizes& sizes, std::uint64_t seed) {
  RowCase c(kernel, sizes, seed);
  Rows out = c.conv.make_out(seed + 2);
  const Rows before = c.conv.make_out(seed + 2);
  kernel.run(c.args(out));
  ASSERT_TRUE(c.workspace.intact());
  const std::size_t stride = sizes.channels_out + sizes.out_gap;
  for (std::size_t y = 0; y < out.size(); ++y) {
    ASSERT_TRUE(out[y].intact()) << describe(sizes);
    for (std::size_t i = 0; i < out[y].size(); ++i) {
      if (i % stride >= sizes.channels_out) {
        ASSERT_EQ(out[y][i], before[y][i]) << kernel.name << ' ' << describe(sizes) << " wrote between pixels";
        continue;
      }
      ASSERT_NEAR(out[y][i], c.conv.exact(y, i / stride, i % stride).sum,
                  tolerance(kernel.tile, c.filter.terms(kernel.tile, sizes.channels_in)))
          << kernel.name << ' ' << describe(sizes) << " seed " << seed << " at y" << y << " x" << i / stride << " c"
          << i % stride;
    }
  }
}

TEST(RowWinograd, OddSizes) {
  std::uint64_t seed = 100;
  const std::size_t channels[] = {1, 2, 3, 5, 15, 16, 17, 31, 33, 48, 64, 65};
  for_each_filter([&](const Kernel& kernel, const Filter& filter) {
    for (std::size_t width = 1; width <= 60; width += 1 + seed % 7) {
      ConvSizes sizes = sizes_of(filter, 1 + seed % 4, width, channels[seed % 12], channels[seed % 11]);
      sizes.pad = seed % ((filter.width - 1) * filter.dilation + 1);
      sizes.in_gap = seed % 4 == 0 ? 5 : 0;
      sizes.out_gap = seed % 5 == 0 ? 3 : 0;
      if (sizes.possible()) {
        ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, seed));
      }
      ++seed;
    }
  });
}

TEST(RowWinograd, ManyTermsAndManyBlocks) {
  for_each_filter([](const Kernel& kernel, const Filter& filter) {
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes_of(filter, 1, 700, 8, 20), 1));
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes_of(filter, 1, 29, 100, 70), 2));
  });
}

/// A filter of one column, of as many rows as `filter` has columns; no padding.
ConvSizes down_of(const Filter& filter, std::size_t rows, std::size_t width, std::size_t channels_in,
                  std::size_t channels_out) {
  return {.height_in = rows + (filter.width - 1) * filter.dilation,
          .width_in = width,
          .channels_in = channels_in,
          .channels_out = channels_out,
          .kernel_h = filter.width,
          .kernel_w = 1,
          .dilation = filter.dilation};
}

TEST(RowWinograd, OfTilesThatGoDown) {
  std::uint64_t seed = 500;
  const std::size_t channels[] = {1, 3, 16, 17, 40, 65};
  for_each_filter([&](const Kernel& kernel, const Filter& filter) {
    if (filter.height != 1) return;
    for (const std::size_t rows : {1u, 5u, 12u, 31u}) {
      ConvSizes sizes = down_of(filter, rows, 1 + seed % 9, channels[seed % 6], channels[seed % 5]);
      sizes.in_gap = seed % 4 == 0 ? 5 : 0;
      sizes.out_gap = seed % 3 == 0 ? 3 : 0;
      ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, ++seed));
    }
  });
}

void expect_same_bits(const Kernel& kernel, const Rows& one, const Rows& other) {
  for (std::size_t y = 0; y < one.size(); ++y)
    ASSERT_EQ(std::memcmp(one[y].data(), other[y].data(), one[y].size() * sizeof(float)), 0) << kernel.name;
}

TEST(RowWinograd, SameBitsRowByRow) {
  for_each_filter([](const Kernel& kernel, const Filter& filter) {
    RowCase c(kernel, sizes_of(filter, 5, 31, 20, 70), 7);
    Rows whole = c.conv.make_out(8), split = c.conv.make_out(8);
    kernel.run(c.args(whole));
    const Args all = c.args(split);
    for (std::size_t row = 0; row < all.rows; ++row) {
      Args one = all;
      one.rows = 1;
      one.in_rows += row * filter.height;
      one.out_rows += row;
      kernel.run(one);
    }
    expect_same_bits(kernel, whole, split);
  });
}

TEST(RowWinograd, SameBitsWhereverWeightsComeFrom) {
  for_each_filter([](const Kernel& kernel, const Filter& filter) {
    std::vector<Rows> outputs;
    for (const bool far : {false, true}) {
      RowCase c(kernel, sizes_of(filter, 2, 231, 20, 70), 10, far);
      kernel.run(c.args(outputs.emplace_back(c.conv.make_out(10))));
    }
    ASSERT_NO_FATAL_FAILURE(expect_same_bits(kernel, outputs[0], outputs[1]));
  });
}

/// Strips that start at multiples of a tile, with the columns that they read; NaN beside those.
TEST(RowWinograd, SameBitsInStripsOfWholeTiles) {
  for_each_filter([](const Kernel& kernel, const Filter& filter) {
    const std::size_t grain = kernel.tile.outputs * filter.dilation, width = 7 * grain + grain / 2 + 1;
    constexpr std::size_t kIn = 9, kOut = 33;
    RowCase c(kernel, sizes_of(filter, 1, width, kIn, kOut), 17);
    Rows whole = c.conv.make_out(18), split = c.conv.make_out(18);
    kernel.run(c.args(whole));
    const std::size_t pad = c.conv.sizes.pad, width_out = c.conv.sizes.width_out();
    const std::size_t cuts[] = {0, 2 * grain, 3 * grain, 6 * grain, width_out};
    for (std::size_t strip = 0; strip < 4; ++strip) {
      Args args = c.args(split);
      const std::size_t x = cuts[strip], begin = x < pad ? 0 : x - pad;
      const std::size_t end = std::min(cuts[strip + 1] + (filter.width - 1) * filter.dilation - pad, width);
      std::vector<float> columns((end - begin + 64) * kIn, std::nanf(""));
      for (const float*& row : c.in_table) {
        if (row == nullptr) continue;
        std::copy(row + begin * kIn, row + end * kIn, columns.begin() + static_cast<std::ptrdiff_t>(32 * kIn));
        row = columns.data() + 32 * kIn;
      }
      for (float*& row : c.out_table) row += x * kOut;
      args.pad_left = x < pad ? pad - x : 0;
      args.width_in = end - begin;
      args.width_out = cuts[strip + 1] - x;
      kernel.run(args);
    }
    expect_same_bits(kernel, whole, split);
  });
}

/// act(sum + residual) and act(sum) + residual, from the sums of a run without them; `in_place`: out is the residual.
void check_epilogue(const Kernel& kernel, std::size_t channels_out, const kernels::UnaryOp& op, bool after,
                    bool in_place) {
  const Filter filter{1, kernel.tile.taps, 2};
  const bool down = channels_out % 2 == 0;
  RowCase c(kernel, down ? down_of(filter, 23, 3, 9, channels_out) : sizes_of(filter, 1, 23, 9, channels_out), 27);
  const std::size_t row = c.conv.sizes.pad;
  Rows sums = c.conv.make_out(28);
  kernel.run(c.args(sums));
  const Rows added = c.conv.make_out(29);
  Rows out = c.conv.make_out(29);
  Args args = c.args(out);
  std::vector<const float*> residual;
  for (const float* to : c.out_table) {
    const auto of = [&](const auto& values) { return values.data() == to; };
    const auto y = std::ranges::find_if(out, of) - out.begin();
    residual.push_back(to == nullptr || in_place ? to : added[static_cast<std::size_t>(y)].data());
  }
  args.residual_rows = residual.data();
  args.epilogue = {op, after};
  kernel.run(args);
  for (std::size_t i = 0; i < out[row].size(); ++i) {
    const double add = static_cast<double>(added[row][i]);
    const double before = static_cast<double>(after ? sums[row][i] : sums[row][i] + added[row][i]);
    const double active = activate(op, before, i % channels_out);
    const double expected = after ? active + add : active;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(out[row][i]));
      continue;
    }
    ASSERT_NEAR(out[row][i], expected, activation_tolerance(op, before) + 0x1p-22 * std::fabs(add))
        << kernel.name << " activation " << static_cast<int>(op.kind) << " of " << before;
  }
}

TEST(RowWinograd, EveryActivationAndResidual) {
  GuardedFloats slopes(64);
  Random(3).fill(slopes.values());
  for_each_kernel(kernels::row_winograd::table(), [&](const Kernel& kernel) {
    for (const std::size_t channels_out : {5u, 48u}) {
      for (const auto& op : every_activation(slopes.data() + (64 - channels_out))) {
        for (const bool after : {false, true}) {
          for (const bool in_place : {false, true}) {
            ASSERT_NO_FATAL_FAILURE(check_epilogue(kernel, channels_out, op, after, in_place));
          }
        }
      }
    }
  });
}

/// A range of output channels by itself, and weights packed range by range; without bias.
TEST(RowWinograd, SameBitsInRangesOfChannels) {
  for_each_filter([](const Kernel& kernel, const Filter& filter) {
    constexpr std::size_t kOut = 150;
    RowCase c(kernel, sizes_of(filter, 2, 22, 21, kOut), 47);
    Rows whole = c.conv.make_out(48);
    Args all = c.args(whole);
    all.bias = nullptr;
    kernel.run(all);
    const std::vector<float> packed(c.packed.data(), c.packed.data() + c.packed.size());
    Rows parts = c.conv.make_out(48);
    for (const std::size_t begin : {0u, 64u, 80u}) {
      const std::size_t end = begin == 0 ? 64 : begin == 64 ? 80 : kOut;
      c.pack(begin, end - begin);
      Args args = c.args(parts);
      for (float*& row : c.out_table) row += begin;
      args.channels_out = end - begin;
      args.weights += packed_floats(kernel.tile, filter, 21, begin);
      args.bias = nullptr;
      kernel.run(args);
    }
    ASSERT_EQ(std::memcmp(packed.data(), c.packed.data(), packed.size() * sizeof(float)), 0) << kernel.name;
    expect_same_bits(kernel, whole, parts);
  });
}

TEST(RowWinograd, WorkCountsTilesThatStickOut) {
  for (const Tile tile : kTiles) {
    const Filter filter{2, tile.taps + 1, 3};  // two parts
    const std::size_t width = 4 * tile.outputs * filter.dilation;
    const auto exact = kernels::row_winograd::work(tile, filter, 5, width, 16, 32);
    EXPECT_EQ(exact.multiply_flop, 2.0 * 4 * 16 * 32 * static_cast<double>(5 * 12 * tile.inputs()));
    EXPECT_EQ(kernels::row_winograd::work(tile, filter, 5, width - 2, 16, 20).multiply_flop, exact.multiply_flop);
    EXPECT_EQ(kernels::row_winograd::work(tile, filter, 1, 2, 16, 32).multiply_flop, exact.multiply_flop / 60 * 2);
  }
}

TEST(RowWinograd, TableIsBestFirstAndSelectFindsEveryTier) {
  const auto table = kernels::row_winograd::table();
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_GE(table[i - 1].isa, table[i].isa);
  for (const kernels::Isa isa : kernels::kAllIsas)
    for (const Tile tile : kTiles) {
      EXPECT_LE(kernels::row_winograd::select(isa, tile).isa, isa);
      EXPECT_EQ(kernels::row_winograd::select(isa, tile).tile, tile);
    }
}

}  // namespace
}  // namespace colonnade::testing
