// SPDX-License-Identifier: Apache-2.0
// Winograd's tiles of bytes against the definition, bit for bit, on every tier of the host.
#include "kernels/byte_winograd/byte_winograd.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernels_byte_product/byte_case.hpp"

namespace colonnade::test {
namespace {

namespace byte_winograd = kernels::byte_winograd;

constexpr Output kOutputs[] = {Output::u8, Output::i8, Output::i32, Output::f32};

class TileCase : public ByteCase {
 public:
  TileCase(ByteSizes sizes, std::uint64_t seed) : ByteCase(filtered(sizes), seed) {
    const ByteSizes& s = this->sizes();
    for (std::size_t o = 0; o < outputs(); ++o)
      for (std::size_t i = 0; i < s.k(); ++i) weights_.push_back(static_cast<std::int16_t>(weight(o, i)));
    for (std::size_t g = 0; g < s.groups; ++g)
      parts_ = std::max(parts_, byte_winograd::parts_of(weights_of(g), s.channels_in, s.channels_out));
  }

  static ByteSizes filtered(ByteSizes sizes) {
    sizes.kernel_h = sizes.kernel_w = 3;
    return sizes;
  }
  std::size_t parts() const { return parts_; }
  bool intact() const { return intact_; }

  /// The rows that a kernel wrote, with more parts than needed where `more`, from weights as if they were far.
  std::vector<Guarded<std::uint8_t>> run(const byte_winograd::Kernel& kernel, Edge edge, std::size_t more, bool far) {
    const ByteSizes& s = sizes();
    const std::size_t tile_rows = (s.height_out() + byte_winograd::kTile - 1) / byte_winograd::kTile;
    std::vector<Guarded<std::uint8_t>> in, out;
    for (const std::vector<std::uint8_t>& row : rows()) in.emplace_back(std::span<const std::uint8_t>(row), edge);
    std::vector<const std::uint8_t*> in_rows(4 * tile_rows + 2);
    std::vector<void*> out_rows(4 * tile_rows);
    for (std::size_t y = 0; y < in_rows.size(); ++y)
      if (y >= s.pad && y - s.pad < s.height_in) in_rows[y] = in[y - s.pad].data();
    for (std::size_t y = 0; y < s.height_out(); ++y) {
      out.emplace_back(expected(y).size(), edge);
      std::fill(out.back().values().begin(), out.back().values().end(), kUntouched);
      out_rows[y] = out.back().data();
    }
    const Guarded<std::byte> packed = packed_weights(edge);
    const Guarded<std::byte> workspace((byte_winograd::workspace_bytes(s.channels_in, s.channels_out) + 63) / 64 * 64,
                                       edge);
    byte_winograd::Args args = sizes_as_args();
    args.tile_rows = tile_rows;
    args.in_rows = in_rows.data();
    args.out_rows = out_rows.data();
    args.weights = packed.data();
    args.far_weights = far;
    args.parts = std::min(byte_winograd::most_parts(s.channels_in), parts_ + more);
    args.workspace = workspace.data();
    kernel.run(args);
    intact_ = workspace.intact() && packed.intact();
    for (const auto& row : in) intact_ = intact_ && row.intact();
    for (const auto& row : out) intact_ = intact_ && row.intact();
    return out;
  }

 private:
  Guarded<std::byte> packed_weights(Edge edge) const {
    const ByteSizes& s = sizes();
    const std::size_t bytes = byte_winograd::packed_bytes(s.channels_in, s.channels_out);
    Guarded<std::byte> packed(s.groups * bytes, edge);
    for (std::size_t g = 0; g < s.groups; ++g)
      byte_winograd::pack(weights_of(g), s.channels_in, s.channels_out, packed.data() + g * bytes);
    return packed;
  }

  /// All but what lies in memory of the case's own.
  byte_winograd::Args sizes_as_args() const {
    const ByteSizes& s = sizes();
    byte_winograd::Args args;
    args.width_in = s.width_in;
    args.width_out = s.width_out();
    args.pad_left = s.pad;
    args.channels_in = s.channels_in;
    args.channels_out = s.channels_out;
    args.groups = s.groups;
    args.in_pixel_stride = static_cast<std::ptrdiff_t>(in_stride());
    args.out_pixel_stride = static_cast<std::ptrdiff_t>(out_stride());
    args.x_zero = static_cast<std::uint8_t>(s.x_zero);
    args.out = rescale();
    return args;
  }

  const std::int16_t* weights_of(std::size_t group) const {
    return weights_.data() + group * sizes().channels_out * sizes().k();
  }

  std::vector<std::int16_t> weights_;
  std::size_t parts_ = 1;
  bool intact_ = true;
};

void check(const ByteSizes& given, std::uint64_t seed) {
  const ByteSizes sizes = TileCase::filtered(given);
  TileCase c(sizes, seed);
  for (const byte_winograd::Kernel& kernel : byte_winograd::table()) {
    if (!kernels::host_features().contains(kernel.isa)) continue;
    const auto rows = c.run(kernel, seed % 2 == 0 ? Edge::front : Edge::back, seed % 3, seed / 2 % 2 == 0);
    ASSERT_TRUE(c.intact()) << kernel.name << describe(sizes);
    for (std::size_t y = 0; y < rows.size(); ++y) {
      const std::vector<std::uint8_t> expected = c.expected(y);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), rows[y].data()))
          << kernel.name << describe(sizes) << " seed " << seed << " row " << y;
    }
  }
}

TEST(ByteWinograd, OfOddSizes) {
  std::uint64_t seed = 1;
  for (const std::size_t channels_out : {1u, 7u, 15u, 16u, 17u, 32u, 33u, 48u, 64u, 65u, 100u, 144u})
    for (std::size_t width = 1; width <= 14; width += 1 + seed % 2, ++seed)
      ASSERT_NO_FATAL_FAILURE(check({.height_in = 1 + seed % 9,
                                     .width_in = width,
                                     .channels_in = 1 + seed * 7 % 71,
                                     .channels_out = channels_out,
                                     .pad = 1,
                                     .in_gap = seed % 2 * 3,
                                     .out_gap = seed % 3,
                                     .to = kOutputs[seed % 4],
                                     .tilts = seed % 3 == 0},
                                    seed));
}

TEST(ByteWinograd, OfRandomShapes) {
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (int round = 0; round < 200; ++round) {
    const ByteSizes sizes{.height_in = 3 + below(12),
                          .width_in = 3 + below(23),
                          .channels_in = below(3) == 0 ? 32 * (1 + below(5)) : 1 + below(40),
                          .channels_out = 1 + below(90),
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
                          .tilts = below(3) == 0};
    ASSERT_NO_FATAL_FAILURE(check(sizes, 1000 + static_cast<std::uint64_t>(round)));
  }
}

/// Operands at their ends, in so many channels that sums are added up in parts.
TEST(ByteWinograd, OfTheLargestSums) {
  for (const int x_zero : {0, 128, 255})
    for (const std::size_t channels : {64u, 113u, 114u, 115u, 227u, 228u, 229u, 512u})
      for (const bool tilts : {false, true})
        ASSERT_NO_FATAL_FAILURE(check({.height_in = 6,
                                       .width_in = 9,
                                       .channels_in = channels,
                                       .channels_out = 17,
                                       .pad = 1,
                                       .to = Output::i32,
                                       .x_zero = x_zero,
                                       .tilts = tilts,
                                       .extreme = true},
                                      channels));
}

TEST(ByteWinograd, PartsKeepSumsWithin26Bits) {
  const std::size_t channels = 400;
  std::vector<std::int16_t> weights(9 * channels, 1);
  EXPECT_EQ(byte_winograd::parts_of(weights.data(), channels, 1), 1u);
  std::fill(weights.begin(), weights.end(), std::int16_t{-72});
  EXPECT_EQ(byte_winograd::parts_of(weights.data(), channels, 1), 1u) << "together 259,200, less than 2^18";
  std::fill(weights.begin(), weights.end(), std::int16_t{73});
  EXPECT_EQ(byte_winograd::parts_of(weights.data(), channels, 1), 2u);
  std::fill(weights.begin(), weights.end(), std::int16_t{-255});
  EXPECT_EQ(byte_winograd::parts_of(weights.data(), channels, 1), byte_winograd::most_parts(channels));
  for (std::size_t c = 1; c < 3000; ++c) {
    const auto part = static_cast<std::int64_t>(byte_winograd::part_channels(c, byte_winograd::most_parts(c)));
    ASSERT_LT(std::min<std::int64_t>(part, static_cast<std::int64_t>(c)) * 9 * 255, byte_winograd::kPartWeights) << c;
  }
}

/// Threads may divide the output channels.
TEST(ByteWinograd, OfFewerOutputsNeedsNoMoreWorkspace) {
  for (std::size_t in = 1; in < 600; in += 37)
    for (std::size_t out = 1; out < 200; ++out)
      ASSERT_LE(byte_winograd::workspace_bytes(in, out), byte_winograd::workspace_bytes(in, out + 1))
          << in << ' ' << out;
}

TEST(ByteWinograd, TableIsBestFirst) {
  for (const kernels::Isa isa : kernels::kAllIsas)
    EXPECT_TRUE(kernels::Features(isa).contains(byte_winograd::select(isa).isa));
  EXPECT_EQ(byte_winograd::table().back().isa, kernels::Isa::baseline);
}

}  // namespace
}  // namespace colonnade::test
