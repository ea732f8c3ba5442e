// SPDX-License-Identifier: Apache-2.0
// What becomes of the sums of a block of channels.
#pragma once

#include "kernels/byte_depthwise/blocks.hpp"

namespace colonnade::kernels::byte_depthwise {
namespace {

inline constexpr std::size_t kMostBytes = kLaneBytes * kMostLanes;

/// Of a block, in the order of quads: [quad][lane][channel].
struct alignas(64) Parameters {
  std::int32_t offset[kMostBytes];
  float factor[kMostBytes];
  float shift[kMostBytes];
  bool fit;  ///< whatever the input, numbers are integers of 32 bits when they are rounded
};

/// The channel of a block that is at a place in this order.
inline std::size_t channel_at(const Block& block, std::size_t place) {
  const std::size_t lanes = static_cast<std::size_t>(block.lanes);
  const std::size_t quad = place / (lanes * kGroup), rest = place % (lanes * kGroup);
  return rest / kGroup * kLaneBytes + quad * kGroup + rest % kGroup;
}

template <class T>
inline void put_in_quads(const Block& block, const T* channels, T* out) {
  for (std::size_t at = 0; at < block.bytes(); at += kGroup)
    std::memcpy(out + at, channels + channel_at(block, at), kGroup * sizeof(T));
}

/// One number a channel, or one for all; without any `otherwise`.
inline void read_numbers(const float* numbers, bool one, float otherwise, const Block& block, float* out) {
  for (std::size_t i = 0; i < kMostBytes; ++i) out[i] = otherwise;
  if (numbers == nullptr) return;
  for (std::size_t i = 0; i < block.count; ++i) out[i] = one ? *numbers : numbers[block.channel + i];
}

/// weights: the block's, which begin with the sum and the sum of magnitudes of each channel's.
inline void prepare_block(const Numbers& given, const Block& block, const std::byte* weights, Parameters& out) {
  std::uint32_t sums[kMostBytes], magnitudes[kMostBytes];
  std::int32_t offsets[kMostBytes];
  float factors[kMostBytes], shifts[kMostBytes];
  std::memcpy(sums, weights, sizeof *sums * block.bytes());
  std::memcpy(magnitudes, weights + sizeof *sums * block.bytes(), sizeof *sums * block.bytes());
  read_numbers(given.factor, !given.factors, 1, block, factors);
  read_numbers(given.shift, false, 0, block, shifts);
  out.fit = true;
  for (std::size_t i = 0; i < block.bytes(); ++i) {
    const std::int32_t offset = given.offset && i < block.count ? given.offset[block.channel + i] : 0;
    offsets[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset) - sums[i] * std::uint32_t{given.x_zero});
    const float most = __builtin_fabsf(static_cast<float>(offset)) + 255.0f * static_cast<float>(magnitudes[i]);
    out.fit = out.fit && most * __builtin_fabsf(factors[i]) + __builtin_fabsf(shifts[i]) < 0x1p30f;
  }
  put_in_quads(block, offsets, out.offset);
  put_in_quads(block, factors, out.factor);
  put_in_quads(block, shifts, out.shift);
}

inline std::size_t prepared_bytes(const Shape& shape) noexcept {
  std::size_t bytes = 0;
  each_block(shape.channels, [&](const Block&) { bytes += sizeof(Parameters); });
  return bytes;
}

inline void prepare(const Shape& shape, const Numbers& given, const std::byte* weights, std::byte* prepared) noexcept {
  each_block(shape.channels, [&](const Block& block) {
    Parameters parameters{};
    prepare_block(given, block, weights, parameters);
    std::memcpy(prepared, &parameters, sizeof parameters);
    weights += block_weights_bytes(block, shape.kernel_h, shape.kernel_w);
    prepared += sizeof parameters;
  });
}

/// Bytes are computed as if unsigned; signed ones differ in their first bit.
struct ByteRange {
  int zero, least, most, sign;
};
inline ByteRange byte_range(const Output& out) {
  const int sign = out.type == Type::i8 ? 128 : 0, zero = out.zero + sign;
  return {zero, static_cast<int>(out.low) + zero, static_cast<int>(out.high) + zero, sign};
}

/// Bytes of an element.
inline std::size_t size_of(Type type) { return type == Type::u8 || type == Type::i8 ? 1 : 4; }

/// The sums of an output's block, in the order of quads, as what they become.
inline void write_any(const Args& a, const Block& block, const Parameters& p, const std::int32_t* sums,
                      std::byte* out) {
  const std::size_t size = size_of(a.out.type);
  for (std::size_t i = 0; i < block.bytes(); ++i) {
    const std::size_t channel = channel_at(block, i);
    if (channel >= block.count) continue;
    std::byte* at = out + (block.channel + channel) * size;
    const float v = __builtin_fmaf(static_cast<float>(sums[i]), p.factor[i], p.shift[i]);
    if (a.out.type == Type::i32) {
      std::memcpy(at, sums + i, size);
    } else if (a.out.type == Type::f32) {
      std::memcpy(at, &v, size);
    } else {
      const float below = v < a.out.high ? v : a.out.high;
      *at =
          static_cast<std::byte>(static_cast<int>(__builtin_rintf(below > a.out.low ? below : a.out.low)) + a.out.zero);
    }
  }
}

}  // namespace
}  // namespace colonnade::kernels::byte_depthwise
