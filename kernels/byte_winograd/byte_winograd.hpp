// SPDX-License-Identifier: Apache-2.0
// Convolutions of bytes by 3x3 filters, by Winograd's minimal filtering F(4x4, 3x3) in integers: 36 products for 144,
// and the sums of the definition. Inputs and weights are evaluated at the points 0, 1, -1, 2, -2 and infinity, weights
// times what makes them integers; both fit 16 bits. Sums of their products are taken modulo 2^32, transformed back, and
// are then the convolution's times 576, 288, 144, 72 or 36: nine has an inverse modulo 2^32, and a power of two is
// shifted away, which leaves 26 bits at least. So a sum of less than 2^25 is exact. Where weights are too large for
// that, channels are added up in parts. Source: A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks",
// 2016, for the transforms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/byte_product/byte_product.hpp"

namespace colonnade::kernels::byte_winograd {

using byte_product::kPanel;
using byte_product::Rescale;

inline constexpr std::size_t kTaps = 3, kTile = 4, kInputTile = kTile + kTaps - 1;
inline constexpr std::size_t kMatrices = kInputTile * kInputTile;
/// The most that a weight is, by its size.
inline constexpr int kMostWeight = 256;
/// Inputs are taken less this, which makes them as small as they can be.
inline constexpr int kCentre = 128;
/// An output's weights of a part, by their sizes, are less than this together: its sum is less than 2^25.
inline constexpr std::int64_t kPartWeights = (std::int64_t{1} << 25) / kCentre;

/// Weights of a part of `parts` are those of so many channels, which are even.
constexpr std::size_t part_channels(std::size_t channels_in, std::size_t parts) {
  return (channels_in + 2 * parts - 1) / (2 * parts) * 2;
}
/// Parts that any weights are content with.
constexpr std::size_t most_parts(std::size_t channels_in) {
  constexpr std::size_t kChannels = (kPartWeights - 1) / (kTaps * kTaps * kMostWeight) / 2 * 2;
  return channels_in <= kChannels ? 1 : (channels_in + kChannels - 1) / kChannels;
}
/// Bytes of a panel: the sums of its weights as int32, then [36][channels / 2][16][2] transformed weights of 16 bits.
constexpr std::size_t panel_bytes(std::size_t channels_in) {
  return kPanel * (sizeof(std::int32_t) + kMatrices * ((channels_in + 1) / 2) * 2 * sizeof(std::int16_t));
}
/// Of weights of one group with `n` output channels.
constexpr std::size_t packed_bytes(std::size_t channels_in, std::size_t n) {
  return (n + kPanel - 1) / kPanel * panel_bytes(channels_in);
}
/// Transforms and packs weights of one group: [n][3][3][channels_in].
void pack(const std::int16_t* source, std::size_t channels_in, std::size_t n, std::byte* packed) noexcept;
/// The fewest parts that such weights are content with.
std::size_t parts_of(const std::int16_t* source, std::size_t channels_in, std::size_t n) noexcept;

/// Rows of tiles of an output, stride 1. Strides count bytes.
///
/// in_rows[i] is the input row that tap 0 of output row i reads, 4 * tile_rows + 2 of them, null where it lies in the
/// padding, which counts as x_zero, as do pixels outside [0, width_in): tap kx of output pixel x reads pixel
/// x - pad_left + kx. out_rows are 4 * tile_rows, null where a row is not written. Groups are those of byte_product.
/// Nothing may overlap, no alignment is required, nothing is read or written outside the rows given.
struct Args {
  std::size_t tile_rows = 1;
  const std::uint8_t* const* in_rows = nullptr;
  void* const* out_rows = nullptr;
  std::size_t width_in = 0;
  std::size_t width_out = 0;
  std::size_t pad_left = 0;
  std::size_t channels_in = 0;   ///< of one group, at least one
  std::size_t channels_out = 0;  ///< of one group
  std::size_t groups = 1;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
  const std::byte* weights = nullptr;  ///< packed; a group's are packed_bytes() apart
  bool far_weights = false;            ///< they come from beyond the second-level cache: tiles ask for them ahead
  std::size_t parts = 1;               ///< at least parts_of() every group's weights
  std::uint8_t x_zero = 0;
  Rescale out;
  std::byte* workspace = nullptr;  ///< workspace_bytes() bytes, 64-byte aligned
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*run)(const Args&) noexcept;
};

/// For so many channels of a group, and fewer outputs.
std::size_t workspace_bytes(std::size_t channels_in, std::size_t channels_out) noexcept;

/// What a convolution takes, in operations: multiply-adds of transformed tiles, and vector lanes of 32 bits that
/// transforms compute.
struct Work {
  double products;
  double input_lanes, output_lanes;
  double weights_read;  ///< transformed weights that pass
};
Work work(std::size_t rows, std::size_t width, std::size_t channels_in, std::size_t channels_out) noexcept;

/// Every kernel of this build, best first; a host runs those whose tier its features hold.
std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::byte_winograd
