// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd/winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels_gemm/activation.hpp"
#include "kernels_gemm/winograd_case.hpp"

namespace colonnade::testing {
namespace {

/// Filters that come down to those of tiles.
constexpr Filter kFilters[] = {{3, 2}, {4, 2},  {5, 3}, {6, 1}, {9, 1},  {5, 2},  {6, 2},  {7, 3},  {11, 4}, {7, 1},
                               {8, 1}, {11, 1}, {7, 2}, {8, 2}, {10, 3}, {10, 1}, {13, 1}, {14, 1}, {9, 2},  {10, 2}};

template <class Body>
void for_each_filter(Body body) {
  for_each_kernel(kernels::winograd::table(), [&](const Kernel& kernel) {
    for (const Filter filter : kFilters)
      if (filter.taps() == kernel.tile.taps) body(kernel, filter);
  });
}

/// Inputs and weights are in [-1, 1): the transforms err like the root of the number of channels, the sums like itself.
/// Tiles of eight inputs err four times as much, and filters of more than three taps sum up to three times as many.
double tolerance(Tile tile, std::size_t channels_in) {
  const auto n = static_cast<double>(channels_in);
  return (tile.inputs() == 8 ? 4 : 1) * (tile.taps > 3 ? 2 : 1) * (8e-6 * std::sqrt(n + 8) + 5e-7 * n);
}

void check(const Kernel& kernel, const ConvSizes& sizes, std::uint64_t seed) {
  WinogradCase c(kernel, sizes, seed);
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
      const double exact = c.conv.exact(y, i / stride, i % stride).sum;
      ASSERT_NEAR(out[y][i], exact, tolerance(kernel.tile, c.filter.channels(sizes.channels_in)))
          << kernel.name << ' ' << describe(sizes) << " seed " << seed << " at y" << y << " x" << i / stride << " c"
          << i % stride;
    }
  }
}

TEST(Winograd, OddSizes) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    std::uint64_t seed = 100;
    const std::size_t channels[] = {1, 2, 3, 5, 15, 16, 17, 31, 33, 48, 64, 65};
    for (std::size_t width = 1; width <= 20; ++width) {
      for (const std::size_t channels_in : channels) {
        ConvSizes sizes = sizes_of(kernel, 1 + seed % 9, width, channels_in, channels[seed % 11]);
        sizes.pad = seed % kernel.tile.taps;
        sizes.in_gap = seed % 4 == 0 ? 5 : 0;
        sizes.out_gap = seed % 5 == 0 ? 3 : 0;
        if (sizes.possible()) {
          ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, seed));
        }
        ++seed;
      }
    }
  });
}

TEST(Winograd, FiltersTakeTheTapsOfFewestProducts) {
  const std::size_t taps[] = {2, 3, 4, 5, 3, 4, 4, 3, 5, 4, 4, 5};
  for (std::size_t i = 0; i < std::size(taps); ++i) EXPECT_EQ(Filter{i + 2}.taps(), taps[i]) << "kernel " << i + 2;
  EXPECT_EQ((Filter{7, 2}.taps()), 4u);
  EXPECT_EQ((Filter{7, 2}.channels(3)), 12u);
  EXPECT_EQ((Filter{11, 4}.channels(3)), 48u);
  EXPECT_EQ(Filter{9}.channels(3), 27u);
}

TEST(Winograd, FiltersOfMoreTapsAndStrides) {
  std::uint64_t seed = 200;
  for_each_filter([&](const Kernel& kernel, Filter filter) {
    for (const std::size_t channels_in : {1u, 3u, 4u, 9u}) {
      for (const std::size_t width : {5u, 16u, 33u, 70u}) {
        ConvSizes sizes = sizes_of(filter, 7 + seed % 23, width, channels_in, 1 + seed % 37);
        sizes.pad = seed % filter.kernel;
        sizes.in_gap = seed % 3 == 0 ? 2 : 0;
        sizes.out_gap = seed % 5 == 0 ? 3 : 0;
        if (sizes.possible()) {
          ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, seed));
        }
        ++seed;
      }
    }
  });
}

/// Rows and columns shorter than a dilation, of a tile and a bit more, of several; with every padding there is.
TEST(Winograd, DilatedFilters) {
  std::uint64_t seed = 300;
  for_each_kernel(kernels::winograd::table(), [&](const Kernel& kernel) {
    const std::size_t taps = kernel.tile.taps;
    for (const std::size_t dilation : {2u, 3u, 5u, 12u})
      for (const std::size_t width : {1u, 7u, 20u, 45u}) {
        ConvSizes sizes = sizes_of(kernel, 1 + seed % 31, width, 1 + seed % 19, 1 + seed % 37);
        sizes.dilation = dilation;
        sizes.pad = seed % ((taps - 1) * dilation + 1);
        sizes.in_gap = seed % 3 == 0 ? 2 : 0;
        sizes.out_gap = seed % 5 == 0 ? 3 : 0;
        if (sizes.possible()) {
          ASSERT_NO_FATAL_FAILURE(check(kernel, sizes, seed));
        }
        ++seed;
      }
    ConvSizes many = sizes_of(kernel, 26, 29, 40, 70);
    many.dilation = 2, many.pad = 2;
    ASSERT_NO_FATAL_FAILURE(check(kernel, many, ++seed));
  });
}

TEST(Winograd, ManyChannelsAndManyBlocks) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes_of(kernel, 9, 61, 24, 40), 1));
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes_of(kernel, 5, 13, 256, 96), 2));
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes_of(kernel, 4, 7, 1024, 16), 3));
    ASSERT_NO_FATAL_FAILURE(check(kernel, sizes_of(kernel, 4, 7, 16, 1030), 4));
  });
}

void expect_same_bits(const Kernel& kernel, const Rows& one, const Rows& other) {
  for (std::size_t y = 0; y < one.size(); ++y)
    ASSERT_EQ(std::memcmp(one[y].data(), other[y].data(), one[y].size() * sizeof(float)), 0) << kernel.name;
}

/// One call, and one for each tile row, with rows of NaN where no tap reads any.
void check_tile_rows(const Kernel& kernel, const ConvSizes& sizes) {
  WinogradCase c(kernel, sizes, 7);
  const bool apart = sizes.dilation > 1;  // rows of tiles have inputs of their own
  Rows whole = c.conv.make_out(8);
  kernel.run(c.args(whole));
  Rows split = c.conv.make_out(8);
  const Args args = c.args(split);
  const std::size_t outputs = kernel.tile.outputs, parts = c.filter.parts();
  const std::vector<float> none(sizes.width_in * sizes.channels_in, std::nanf(""));
  for (std::size_t row = 0; row < args.tile_rows; ++row) {
    const std::size_t begin = row * (apart ? kernel.tile.inputs() : outputs) * parts;
    const std::size_t end_of_row = begin + kernel.tile.inputs() * parts;
    std::vector<const float*> in(c.in_table.begin() + static_cast<std::ptrdiff_t>(begin),
                                 c.in_table.begin() + static_cast<std::ptrdiff_t>(end_of_row));
    const std::size_t end = (outputs - 1) * c.filter.stride + c.filter.kernel;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (i / parts * c.filter.stride + i % parts * c.filter.step() >= end) in[i] = none.data();
    Args part = args;
    part.tile_rows = 1;
    part.in_rows = in.data();
    part.out_rows += row * outputs;
    kernel.run(part);
  }
  expect_same_bits(kernel, whole, split);
}

TEST(Winograd, SameBitsHoweverTileRowsAreSplit) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    for (const std::size_t width : {3u, 29u, 56u, 131u})
      ASSERT_NO_FATAL_FAILURE(check_tile_rows(kernel, sizes_of(kernel, 19, width, 20, 70)));
    ConvSizes dilated = sizes_of(kernel, 19, 29, 20, 70);
    dilated.dilation = 3, dilated.pad = 3;
    ASSERT_NO_FATAL_FAILURE(check_tile_rows(kernel, dilated));
  });
  for_each_filter([](const Kernel& kernel, Filter filter) {
    ASSERT_NO_FATAL_FAILURE(check_tile_rows(kernel, sizes_of(filter, 19 * filter.stride, 29, 3, 20)));
  });
}

TEST(Winograd, SameBitsWhereverWeightsComeFrom) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    for (const std::size_t width : {29u, 131u, 401u}) {
      std::vector<Rows> outputs;
      for (const bool far : {false, true}) {
        WinogradCase c(kernel, sizes_of(kernel, 19, width, 20, 70), 10, far);
        kernel.run(c.args(outputs.emplace_back(c.conv.make_out(10))));
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_bits(kernel, outputs[0], outputs[1]));
    }
  });
}

/// Strips that start at multiples of a tile, with the columns they read.
void check_strips(const Kernel& kernel, Filter filter, std::size_t channels_in) {
  const std::size_t tile = kernel.tile.outputs, stride = filter.stride, pad = filter.kernel / 2;
  const std::size_t width = (8 * tile - 2) * stride;
  WinogradCase c(kernel, sizes_of(filter, 6 * stride, width, channels_in, 33), 17);
  Rows whole = c.conv.make_out(18);
  kernel.run(c.args(whole));
  Rows split = c.conv.make_out(18);
  const std::size_t cuts[] = {0, 2 * tile, 3 * tile, 6 * tile, c.conv.sizes.width_out()};
  for (std::size_t strip = 0; strip < 4; ++strip) {
    Args args = c.args(split);
    const std::size_t x = cuts[strip], until = cuts[strip + 1];
    const std::size_t begin = x * stride < pad ? 0 : x * stride - pad;
    for (const float*& row : c.in_table)
      if (row != nullptr) row += begin * channels_in;
    for (float*& row : c.out_table)
      if (row != nullptr) row += x * 33;
    args.pad_left = x * stride < pad ? pad - x * stride : 0;
    args.width_in = std::min((until - 1) * stride + filter.kernel - pad, width) - begin;
    args.width_out = until - x;
    kernel.run(args);
  }
  expect_same_bits(kernel, whole, split);
}

TEST(Winograd, SameBitsInStripsOfWholeTiles) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    ASSERT_NO_FATAL_FAILURE(check_strips(kernel, Filter{kernel.tile.taps}, 17));
  });
  for_each_filter(
      [](const Kernel& kernel, Filter filter) { ASSERT_NO_FATAL_FAILURE(check_strips(kernel, filter, 3)); });
}

/// act(sum + residual) and act(sum) + residual, from the sums of a run without them; `in_place`: out is the residual.
void check_epilogue(const Kernel& kernel, std::size_t channels_out, const kernels::UnaryOp& op, bool after,
                    bool in_place) {
  WinogradCase c(kernel, sizes_of(kernel, 6, 11, 9, channels_out), 27);
  Rows sums = c.conv.make_out(28);
  kernel.run(c.args(sums));
  const Rows added = c.conv.make_out(29);
  Rows out = c.conv.make_out(29);
  Args args = c.args(out);
  std::vector<const float*> residual(args.tile_rows * kernel.tile.outputs, nullptr);
  for (std::size_t y = 0; y < out.size(); ++y) residual[y] = in_place ? out[y].data() : added[y].data();
  args.residual_rows = residual.data();
  args.epilogue = {op, after};
  kernel.run(args);
  for (std::size_t i = 0; i < out[5].size(); ++i) {
    const double add = static_cast<double>(added[5][i]);
    const double before = static_cast<double>(after ? sums[5][i] : sums[5][i] + added[5][i]);
    const double active = activate(op, before, i % channels_out);
    const double expected = after ? active + add : active;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(out[5][i]));
      continue;
    }
    ASSERT_NEAR(out[5][i], expected, activation_tolerance(op, before) + 0x1p-22 * std::fabs(add))
        << kernel.name << " activation " << static_cast<int>(op.kind) << " of " << before;
  }
}

TEST(Winograd, EveryActivationAndResidual) {
  GuardedFloats slopes(64);
  Random(3).fill(slopes.values());
  for_each_kernel(kernels::winograd::table(), [&](const Kernel& kernel) {
    for (const std::size_t channels_out : {5u, 33u, 64u}) {
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

TEST(Winograd, NoBias) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    WinogradCase c(kernel, sizes_of(kernel, 4, 6, 4, 18), 37);
    Rows with = c.conv.make_out(38);
    kernel.run(c.args(with));
    std::fill(c.conv.bias.values().begin(), c.conv.bias.values().end(), 0.0f);
    Rows zero = c.conv.make_out(38);
    kernel.run(c.args(zero));
    Rows without = c.conv.make_out(38);
    Args args = c.args(without);
    args.bias = nullptr;
    kernel.run(args);
    for (std::size_t i = 0; i < zero[2].size(); ++i) ASSERT_EQ(zero[2][i], without[2][i]);
    EXPECT_NE(with[2][0], zero[2][0]);
  });
}

/// A range of output channels by itself, and weights packed range by range.
TEST(Winograd, SameBitsInRangesOfChannels) {
  for_each_kernel(kernels::winograd::table(), [](const Kernel& kernel) {
    constexpr std::size_t kOut = 150;
    WinogradCase c(kernel, sizes_of(kernel, 9, 22, 21, kOut), 47);
    Rows whole = c.conv.make_out(48);
    kernel.run(c.args(whole));
    const std::vector<float> packed(c.packed.data(), c.packed.data() + c.packed.size());
    Rows parts = c.conv.make_out(48);
    for (const std::size_t begin : {0u, 64u, 80u}) {
      const std::size_t end = begin == 0 ? 64 : begin == 64 ? 80 : kOut;
      c.pack(kernel, begin, end - begin);
      Args args = c.args(parts);
      for (float*& row : c.out_table) {
        if (row != nullptr) row += begin;
      }
      args.channels_out = end - begin;
      args.weights += kernels::winograd::packed_floats(kernel.encoding, kernel.tile, 21, begin);
      args.bias += begin;
      kernel.run(args);
    }
    ASSERT_EQ(std::memcmp(packed.data(), c.packed.data(), packed.size() * sizeof(float)), 0) << kernel.name;
    expect_same_bits(kernel, whole, parts);
  });
}

TEST(Winograd, WorkCountsTilesThatStickOut) {
  for (const Tile tile : kernels::winograd::kTiles) {
    const std::size_t rows = 2 * tile.outputs, columns = 4 * tile.outputs;
    const auto exact = kernels::winograd::work(kernels::Encoding::f32, tile, rows, columns, 16, 32, false),
               ragged = kernels::winograd::work(kernels::Encoding::f32, tile, rows - 1, columns - 1, 9, 20, false);
    EXPECT_EQ(exact.multiply_flop, 2.0 * 16 * 32 * static_cast<double>(8 * tile.matrices()));
    EXPECT_EQ(ragged.multiply_flop, exact.multiply_flop / 16 * 9);
    EXPECT_EQ(ragged.transform_flop, exact.transform_flop);
    EXPECT_EQ(kernels::winograd::work(kernels::Encoding::f32, tile, 2, 2, 16, 32, false).weights_read,
              static_cast<double>(kernels::winograd::packed_floats(kernels::Encoding::f32, tile, 16, 32)));
  }
}

TEST(Winograd, TableIsBestFirstAndSelectFindsEveryTier) {
  const auto table = kernels::winograd::table();
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_GE(table[i - 1].isa, table[i].isa);
  for (const kernels::Isa isa : kernels::kAllIsas)
    for (const Tile tile : kernels::winograd::kTiles) {
      EXPECT_LE(kernels::winograd::select(isa, kernels::Encoding::f32, tile).isa, isa);
      EXPECT_EQ(kernels::winograd::select(isa, kernels::Encoding::f32, tile).tile, tile);
    }
}

}  // namespace
}  // namespace colonnade::testing
