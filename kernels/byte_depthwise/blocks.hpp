// SPDX-License-Identifier: Apache-2.0
// How channels are cut into blocks of a register, and how weights are packed for them.
#pragma once

#include "kernels/byte_depthwise/byte_depthwise.hpp"
#include "kernels/byte_depthwise/lanes.hpp"

namespace colonnade::kernels::byte_depthwise {
namespace {

inline constexpr std::size_t kLaneBytes = 16;
/// Rows of a group: those of a quad.
inline constexpr std::size_t kGroup = 4;
/// Registers of quads that a register of bytes becomes.
inline constexpr std::size_t kQuads = 4;

/// Channels [channel, channel + count) in registers of `lanes` lanes. Blocks may overlap; all but the only one of few
/// channels are full.
struct Block {
  std::size_t channel;
  std::size_t count;
  int lanes;
  std::size_t bytes() const { return kLaneBytes * static_cast<std::size_t>(lanes); }
  std::size_t end() const { return channel + count; }
};

/// The block that begins at or before `begin`, the first channel that none has: as wide as there are channels for, but
/// by half where it would overlap the one before by more than a quarter. One lane is slow, so not for a rest.
inline Block block_at(std::size_t channels, std::size_t begin) {
  const std::size_t rest = channels - begin;
  int lanes = kMostLanes;
  for (; lanes > 1; lanes /= 2) {
    const std::size_t full = kLaneBytes * static_cast<std::size_t>(lanes);
    if (channels >= full && (4 * rest >= 3 * full || lanes == 2)) break;
  }
  const std::size_t full = kLaneBytes * static_cast<std::size_t>(lanes);
  if (rest >= full) return {begin, full, lanes};
  return channels >= full ? Block{channels - full, full, lanes} : Block{begin, rest, lanes};
}

/// Of two output rows that share their input rows.
inline std::size_t groups_of(std::size_t kernel_h) { return (kernel_h + kGroup) / kGroup; }

/// Bytes of a block's weights: the sum and the sum of magnitudes of each channel's, then for the upper and the lower of
/// two rows [group][kx][quad] registers. Input rows that an output row does not read have zeros.
inline std::size_t row_weights_bytes(const Block& block, std::size_t kernel_h, std::size_t kernel_w) {
  return groups_of(kernel_h) * kernel_w * kQuads * kParts * block.bytes();
}
inline std::size_t block_weights_bytes(const Block& block, std::size_t kernel_h, std::size_t kernel_w) {
  return 2 * sizeof(std::int32_t) * block.bytes() + 2 * row_weights_bytes(block, kernel_h, kernel_w);
}

template <class Visit>
inline void each_block(std::size_t channels, Visit visit) {
  for (std::size_t begin = 0; begin < channels;) {
    const Block block = block_at(channels, begin);
    visit(block);
    begin = block.end();
  }
}

inline std::size_t packed_bytes(const Shape& shape) noexcept {
  std::size_t bytes = 0;
  each_block(shape.channels,
             [&](const Block& block) { bytes += block_weights_bytes(block, shape.kernel_h, shape.kernel_w); });
  return bytes;
}

/// Where weight k of a quad of channel i of a block lies among the registers of one (group, kx), in bytes.
inline std::size_t weight_place(const Block& block, std::size_t i, std::size_t k) {
  const std::size_t lane = i / kLaneBytes, quad = i % kLaneBytes / kGroup, channel = i % kGroup;
  const std::size_t part = kParts == 1 ? 0 : k % 2;
  const std::size_t in_lane = kParts == 1 ? kGroup * channel + k : kGroup * channel + k / 2 * sizeof(std::int16_t);
  return (quad * kParts + part) * block.bytes() + lane * kLaneBytes + in_lane;
}

inline void put_weight(std::byte* at, std::int8_t weight) {
  const std::int16_t word = weight;
  std::memcpy(at, &word, kParts == 1 ? 1 : sizeof word);
}

inline void pack_block(const Shape& shape, const Block& block, const std::int8_t* weights, std::byte* packed) {
  std::memset(packed, 0, block_weights_bytes(block, shape.kernel_h, shape.kernel_w));
  std::byte* const rows = packed + 2 * sizeof(std::int32_t) * block.bytes();
  const std::size_t tap_bytes = kQuads * kParts * block.bytes();
  for (std::size_t i = 0; i < block.count; ++i) {
    const std::int8_t* filter = weights + (block.channel + i) * shape.kernel_h * shape.kernel_w;
    std::int32_t sum = 0, magnitude = 0;
    for (std::size_t ky = 0; ky < shape.kernel_h; ++ky) {
      for (std::size_t kx = 0; kx < shape.kernel_w; ++kx) {
        const std::int8_t weight = filter[ky * shape.kernel_w + kx];
        sum += weight;
        magnitude += weight < 0 ? -weight : weight;
        for (std::size_t lower = 0; lower < 2; ++lower) {
          const std::size_t row = ky + lower, group = row / kGroup;
          std::byte* const tap = rows + lower * row_weights_bytes(block, shape.kernel_h, shape.kernel_w) +
                                 (group * shape.kernel_w + kx) * tap_bytes;
          put_weight(tap + weight_place(block, i, row % kGroup), weight);
        }
      }
    }
    std::memcpy(packed + sizeof sum * i, &sum, sizeof sum);
    std::memcpy(packed + sizeof sum * (block.bytes() + i), &magnitude, sizeof magnitude);
  }
}

inline void pack(const Shape& shape, const std::int8_t* weights, std::byte* packed) noexcept {
  each_block(shape.channels, [&](const Block& block) {
    pack_block(shape, block, weights, packed);
    packed += block_weights_bytes(block, shape.kernel_h, shape.kernel_w);
  });
}

}  // namespace
}  // namespace colonnade::kernels::byte_depthwise
