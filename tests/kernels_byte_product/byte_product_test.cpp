// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "kernels_byte_product/byte_case.hpp"

namespace colonnade::test {
namespace {

constexpr Output kOutputs[] = {Output::u8, Output::i8, Output::i32, Output::f32};

/// A kernel that this host runs gives the bits of the formula, and touches nothing else.
void check(const Kernel& kernel, ByteCase& c, const ByteSizes& sizes, std::uint64_t seed) {
  const auto rows = c.run(kernel, seed % 2 == 0 ? Edge::front : Edge::back);
  ASSERT_TRUE(c.packs() || (kernel.packing.splits && !sizes.splits)) << kernel.name << describe(sizes);
  ASSERT_TRUE(c.intact()) << kernel.name << describe(sizes);
  for (std::size_t y = 0; y < rows.size(); ++y) {
    const std::vector<std::uint8_t> expected = c.expected(y);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), rows[y].data()))
        << kernel.name << describe(sizes) << " seed " << seed << " row " << y;
  }
}

std::vector<Kernel> every_kernel() {
  std::vector<Kernel> all(kernels::byte_product::table().begin(), kernels::byte_product::table().end());
  for (const Kernel& kernel : kernels::byte_product::split_table()) all.push_back(kernel);
  return all;
}

/// Every one.
void check(const ByteSizes& sizes, std::uint64_t seed) {
  ByteCase c(sizes, seed);
  for (const Kernel& kernel : every_kernel()) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    ASSERT_NO_FATAL_FAILURE(check(kernel, c, sizes, seed));
  }
}

TEST(ByteProduct, OfOddSizes) {
  std::uint64_t seed = 1;
  for (const std::size_t channels_out : {1u, 2u, 7u, 15u, 16u, 17u, 31u, 32u, 33u, 48u, 64u, 65u, 80u, 100u, 144u})
    for (std::size_t width = 1; width <= 31; width += width < 16 ? 1 : 5, ++seed)
      ASSERT_NO_FATAL_FAILURE(check({.height_in = 2,
                                     .width_in = width,
                                     .channels_in = 1 + seed * 7 % 41,
                                     .channels_out = channels_out,
                                     .in_gap = seed % 2 * 3,
                                     .out_gap = seed % 3,
                                     .to = kOutputs[seed % 4],
                                     .tilts = seed % 3 == 0,
                                     .splits = seed % 5 < 3},
                                    seed));
}

/// Read where they lie: rows that follow each other, rows apart, steps of several pixels.
TEST(ByteProduct, OfWholeSteps) {
  std::uint64_t seed = 100;
  for (const std::size_t channels_in : {4u, 64u, 68u, 1024u})
    for (const std::size_t stride : {1u, 2u, 3u})
      for (const std::size_t width : {1u, 5u, 13u, 64u, 67u}) {
        const ByteSizes sizes{.height_in = 3,
                              .width_in = width,
                              .channels_in = channels_in,
                              .channels_out = 72,
                              .stride = stride,
                              .in_gap = seed % 3,
                              .to = kOutputs[seed % 4],
                              .tilts = seed % 2 == 0,
                              .splits = seed % 4 < 2};
        ASSERT_NO_FATAL_FAILURE(check(sizes, ++seed));
      }
}

TEST(ByteProduct, OfRandomWindows) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (int round = 0; round < 300; ++round) {
    const ByteSizes sizes{.height_in = 1 + below(9),
                          .width_in = 1 + below(23),
                          .channels_in = below(4) == 0 ? 4 * (1 + below(20)) : 1 + below(40),
                          .channels_out = 1 + below(40),
                          .kernel_h = 1 + below(5),
                          .kernel_w = 1 + below(5),
                          .stride = 1 + below(3),
                          .dilation = 1 + below(3),
                          .pad = below(4),
                          .groups = below(3) == 0 ? 1 + below(4) : 1,
                          .in_gap = below(3) == 0 ? below(5) : 0,
                          .out_gap = below(3) == 0 ? below(5) : 0,
                          .to = kOutputs[below(4)],
                          .x_zero = below(3) == 0   ? 0
                                    : below(2) == 0 ? 255
                                                    : static_cast<int>(below(256)),
                          .one_factor = below(3) == 0,
                          .shifts = below(3) != 0,
                          .offsets = below(3) != 0,
                          .tilts = below(3) == 0,
                          .splits = below(2) == 0};
    ASSERT_NO_FATAL_FAILURE(check(sizes, 1000 + static_cast<std::uint64_t>(round)));
  }
}

/// Rows wide enough to be padded and kept, of one tap and of many, by groups, with and without gaps between pixels.
TEST(ByteProduct, OfWideRows) {
  std::mt19937_64 random(17);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (int round = 0; round < 150; ++round) {
    const ByteSizes sizes{.height_in = 1 + below(9),
                          .width_in = 24 + below(60),
                          .channels_in = below(2) == 0 ? 4 * (1 + below(9)) : 1 + below(7),
                          .channels_out = 1 + below(140),
                          .kernel_h = 1 + below(4),
                          .kernel_w = 1 + below(4),
                          .stride = 1 + below(2),
                          .dilation = 1 + below(4) / 3,
                          .pad = below(3),
                          .groups = below(4) == 0 ? 2u : 1u,
                          .in_gap = below(3) == 0 ? below(5) : 0,
                          .out_gap = below(3) == 0 ? below(5) : 0,
                          .to = kOutputs[below(4)],
                          .x_zero = static_cast<int>(below(256)),
                          .tilts = below(3) == 0,
                          .splits = below(2) == 0};
    ASSERT_NO_FATAL_FAILURE(check(sizes, 3000 + static_cast<std::uint64_t>(round)));
  }
  ASSERT_NO_FATAL_FAILURE(
      check({.height_in = 40, .width_in = 30, .channels_out = 5, .kernel_h = 17, .kernel_w = 2}, 4));
}

/// Padding alone, and rows so wide that they are gathered.
TEST(ByteProduct, OfPaddingAndOfTheWidestRows) {
  ASSERT_NO_FATAL_FAILURE(check(
      {.height_in = 1, .width_in = 1, .channels_in = 3, .channels_out = 9, .kernel_h = 2, .kernel_w = 2, .pad = 20},
      1));
  ASSERT_NO_FATAL_FAILURE(check(
      {.height_in = 3, .width_in = 1500, .channels_in = 64, .channels_out = 3, .kernel_h = 3, .kernel_w = 3, .pad = 1},
      2));
}

/// Several blocks of pixels.
TEST(ByteProduct, OfManyPixels) {
  ASSERT_NO_FATAL_FAILURE(check(
      {.height_in = 30, .width_in = 41, .channels_in = 3, .channels_out = 20, .kernel_h = 3, .kernel_w = 3, .pad = 1},
      1));
  ASSERT_NO_FATAL_FAILURE(check(
      {.height_in = 9, .width_in = 11, .channels_in = 300, .channels_out = 70, .kernel_h = 3, .kernel_w = 3, .pad = 1},
      2));
  ASSERT_NO_FATAL_FAILURE(check({.width_in = 2000, .channels_in = 64, .channels_out = 70}, 3));
}

/// Threads may divide the output channels, which then pad rows that all of them would gather.
TEST(ByteProduct, OfFewerOutputsNeedsNoMoreWorkspace) {
  Args sizes;
  sizes.kernel_h = sizes.kernel_w = 3;
  sizes.channels_in = 128;
  for (const Kernel& kernel : every_kernel())
    for (sizes.width_out = 20; sizes.width_out < 800; sizes.width_out += 20)
      for (sizes.channels_out = 1; sizes.channels_out < 200; ++sizes.channels_out) {
        Args more = sizes;
        ++more.channels_out;
        ASSERT_LE(kernel.workspace_bytes(sizes), kernel.workspace_bytes(more))
            << kernel.name << ' ' << sizes.width_out << " wide, " << sizes.channels_out << " outputs";
      }
}

/// Products of 255 and -128 side by side: what saturates in instructions of 16 bits.
TEST(ByteProduct, SaturatesNothing) {
  for (const int x_zero : {0, 128, 255})
    for (const std::size_t channels : {1u, 2u, 3u, 4u, 64u, 1000u})
      ASSERT_NO_FATAL_FAILURE(check({.width_in = 9,
                                     .channels_in = channels,
                                     .channels_out = 33,
                                     .to = Output::i32,
                                     .x_zero = x_zero,
                                     .tilts = channels % 2 == 0,
                                     .extreme = true},
                                    channels));
}

/// Two weights of one sign are kept as far as 255 times both fits 16 bits; what is more of them is a rest of one step.
TEST(ByteProduct, SplitsWhatDoesNotFit) {
  using namespace kernels::byte_product;
  constexpr Packing kPacking{4, true};
  constexpr Depth kDepth{1, 36};
  std::vector<std::int8_t> weights(36), packed(packed_bytes(kPacking, kDepth, 1));
  const auto at = [&](std::size_t step, std::size_t i) { return packed[64 + step * 64 + i]; };
  weights[4] = 127, weights[5] = 1, weights[6] = -128, weights[7] = 127;
  ASSERT_TRUE(pack(weights.data(), 1, 36, kDepth, 1, kPacking, packed.data()));
  EXPECT_EQ(packed[64 + 9 * 64], 0) << "a weight of each sign, or a sum of 128, fits";
  weights[4] = 127, weights[5] = 100, weights[6] = -128, weights[7] = -128;
  ASSERT_TRUE(pack(weights.data(), 1, 36, kDepth, 1, kPacking, packed.data()));
  EXPECT_EQ(packed[64 + 9 * 64], 1);
  EXPECT_EQ(packed[64 + 9 * 64 + 4], 1) << "the step";
  const std::size_t rest = 64 + 9 * 64 + rest_steps_bytes(9);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(at(1, i) + packed[rest + i], weights[4 + i]) << i;
  EXPECT_EQ(at(1, 0) + at(1, 1), 128);
  EXPECT_EQ(at(1, 2) + at(1, 3), -128);
  weights[20] = weights[21] = 90;
  EXPECT_TRUE(pack(weights.data(), 1, 36, kDepth, 1, kPacking, packed.data()));
  weights[34] = weights[35] = -90;
  EXPECT_FALSE(pack(weights.data(), 1, 36, kDepth, 1, kPacking, packed.data())) << "three rests of nine steps";
}

TEST(ByteProduct, OfNothing) {
  ASSERT_NO_FATAL_FAILURE(check({.width_in = 0, .channels_in = 4, .channels_out = 4}, 1));
  ASSERT_NO_FATAL_FAILURE(check({.width_in = 3, .channels_in = 0, .channels_out = 20}, 1));
  ASSERT_NO_FATAL_FAILURE(check({.width_in = 3, .channels_in = 4, .channels_out = 0}, 1));
}

/// Sums wrap, and numbers beyond every integer end at a bound.
TEST(ByteProduct, HasDefinedEnds) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const float factors[] = {1e30f, -1e30f, kInfinity, -kInfinity, kNan, 1e-30f};
  const int expected[] = {200, 10, 200, 10, 10, 100};
  for (const Kernel& kernel : kernels::byte_product::table()) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    const std::int8_t weights[6] = {1, 1, 1, 1, 1, 1};
    std::vector<std::int8_t> packed(kernels::byte_product::packed_bytes(kernel.packing, {1, 1}, 6));
    kernels::byte_product::pack(weights, 6, 1, {1, 1}, 6, kernel.packing, packed.data());
    const std::uint8_t x = 5, *row = &x;
    std::int32_t offset[6];
    std::fill_n(offset, 6, std::numeric_limits<std::int32_t>::max() - 4);
    Args args;
    args.in_rows = &row;
    args.width_in = args.width_out = args.channels_in = 1;
    args.channels_out = 6;
    args.in_pixel_stride = 1;
    args.weights = packed.data();
    const Guarded<std::byte> workspace((kernel.workspace_bytes(args) + 63) / 64 * 64);
    args.workspace = workspace.data();
    std::int32_t sums[6];
    void* out = sums;
    args.out_rows = &out;
    args.out_pixel_stride = sizeof sums;
    args.out = {.to = Output::i32, .offset = offset};
    kernel.run(args);
    for (const std::int32_t sum : sums) EXPECT_EQ(sum, std::numeric_limits<std::int32_t>::min()) << kernel.name;
    std::uint8_t bytes[6];
    out = bytes;
    args.out_pixel_stride = sizeof bytes;
    args.out = {.to = Output::u8, .zero = 100, .low = -90, .high = 100, .factor = factors};
    kernel.run(args);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(bytes[i], expected[i]) << kernel.name << ' ' << factors[i];
  }
}

TEST(ByteProduct, TableIsBestFirst) {
  const auto table = kernels::byte_product::table();
  for (const kernels::Isa isa : kernels::kAllIsas) {
    const Kernel& kernel = kernels::byte_product::select(isa);
    EXPECT_LE(kernel.isa, isa);
    EXPECT_TRUE(kernels::Features(isa).contains(kernel.isa));
  }
  EXPECT_EQ(table.back().isa, kernels::Isa::baseline);
#if defined(__x86_64__)
  EXPECT_EQ(kernels::byte_product::select(kernels::Isa::amx).isa, kernels::Isa::vnni);
  EXPECT_EQ(kernels::byte_product::select_split(kernels::Isa::amx), nullptr);
  EXPECT_TRUE(kernels::byte_product::select_split(kernels::Isa::avx2)->packing.splits);
#endif
}

}  // namespace
}  // namespace colonnade::test
