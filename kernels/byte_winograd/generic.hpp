// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles: inputs are evaluated, then for each block of outputs multiplied and interpolated.
#pragma once

#include "kernels/byte_winograd/products.hpp"
#include "kernels/byte_winograd/transform.hpp"

namespace colonnade::kernels::byte_winograd {
namespace {

using byte_product::Scales;

/// Goes from tile to tile of a call, row by row.
struct Walk {
  std::size_t width;
  std::size_t row = 0, x = 0;
  void next() {
    x += kTile;
    if (x < width) return;
    x = 0;
    row += kTile;
  }
};

/// One group, whose first channels lie at `in` and `out` of each pixel.
struct Group {
  const Args& a;
  std::size_t in;
  std::size_t out;
  const std::byte* weights;
  Layout layout;
};

/// Copies a tile that lies partly outside, or whose last channels fill no vector, from a row; null: padding.
inline void copy_row(const Group& g, const std::uint8_t* row, std::size_t x, std::byte* to) {
  const Args& a = g.a;
  for (std::size_t j = 0; j < kInputTile; ++j, to += g.layout.pixel) {
    const std::size_t at = x + j;
    if (row == nullptr || at < a.pad_left || at - a.pad_left >= a.width_in)
      std::memset(to, a.x_zero, a.channels_in);
    else
      std::memcpy(to, row + static_cast<std::ptrdiff_t>(at - a.pad_left) * a.in_pixel_stride + g.in, a.channels_in);
  }
}

/// Evaluates `count` tiles and returns where the next block starts.
inline Walk evaluate_block(const Group& g, Walk at, std::size_t count) {
  const Args& a = g.a;
  const bool fills = a.channels_in % kShorts == 0;
  for (std::size_t t = 0; t < count; ++t, at.next()) {
    const std::byte* rows[kInputTile];
    bool whole = fills && at.x >= a.pad_left && at.x + kInputTile <= a.width_in + a.pad_left;
    std::ptrdiff_t pixel = a.in_pixel_stride;
    for (std::size_t i = 0; i < kInputTile; ++i) {
      const std::uint8_t* const row = a.in_rows[at.row + i];
      whole = whole && row != nullptr;
      if (!whole) break;
      rows[i] = reinterpret_cast<const std::byte*>(row) +
                static_cast<std::ptrdiff_t>(at.x - a.pad_left) * a.in_pixel_stride + g.in;
    }
    if (!whole) {
      pixel = static_cast<std::ptrdiff_t>(g.layout.pixel);
      for (std::size_t i = 0; i < kInputTile; ++i) {
        std::byte* const copy = a.workspace + i * kInputTile * g.layout.pixel;
        copy_row(g, a.in_rows[at.row + i], at.x, copy);
        rows[i] = copy;
      }
    }
    std::byte* to = a.workspace + g.layout.inputs_at + t * g.layout.inputs.stride;
    for (std::size_t c = 0; c < a.channels_in; c += kShorts, to += sizeof(Shorts)) {
      evaluate_tile(rows, pixel, to, g.layout.inputs.plane);
      for (const std::byte*& row : rows) row += kShorts;
    }
  }
  return at;
}

/// Output channels [begin, begin + lanes) of a group.
struct Block {
  std::size_t begin;
  std::size_t lanes;
  const std::byte* weights;
  std::size_t panels() const { return (lanes + kPanel - 1) / kPanel; }
};

inline void make_scales(const Group& g, const Block& block, Scales& scales) {
  const Rescale& out = g.a.out;
  const std::size_t channel = g.out + block.begin;
  for (std::size_t i = 0; i < block.panels() * kPanel; ++i) {
    std::uint32_t weights;
    std::memcpy(&weights, block.weights + i / kPanel * panel_bytes(g.a.channels_in) + i % kPanel * sizeof weights,
                sizeof weights);
    const auto offset =
        static_cast<std::uint32_t>(out.offset != nullptr && i < block.lanes ? out.offset[channel + i] : 0);
    scales.start[i] = static_cast<std::int32_t>(offset + weights * static_cast<std::uint32_t>(kCentre - g.a.x_zero));
  }
  byte_product::set_numbers(out, channel, block.lanes, block.panels() * kPanel, scales);
}

/// The sums of a tile's outputs.
inline constexpr std::size_t kSums = kTile * kTile * kBlockChannels;
inline std::int32_t* sums_at(std::int32_t* sums, std::size_t i, std::size_t j, std::size_t lane) {
  return sums + (i * kTile + j) * kBlockChannels + lane;
}

enum class Before : unsigned char { nothing, sums };

/// Interpolates the products of a tile, and adds what was there before, or `start`.
template <Before kBefore>
[[gnu::noinline]] void interpolate_sums(const std::byte* products, std::size_t plane, std::size_t lanes,
                                        const std::int32_t* start, std::int32_t* sums) {
  for (std::size_t lane = 0; lane < lanes; lane += kLanes) {
    SignedWords first;
    read(first, start + lane);
    interpolate_tile(
        products + lane * sizeof(std::int32_t),
        plane, [&](std::size_t i, std::size_t j, SignedWords x) __attribute__((always_inline)) {
          std::int32_t* const to = sums_at(sums, i, j, lane);
          SignedWords before = first;
          if constexpr (kBefore == Before::sums) read(before, to);
          write(to, reinterpret_cast<SignedWords>(reinterpret_cast<Words>(x) + reinterpret_cast<Words>(before)));
        });
  }
}

inline void write_tile(const Group& g, const Walk& at, const Block& block, const Scales& scales,
                       const byte_product::Bytes& bytes, std::int32_t* sums) {
  const Args& a = g.a;
  const std::size_t value = byte_product::makes_bytes(a.out) ? 1 : sizeof(float);
  const std::size_t columns = a.width_out - at.x < kTile ? a.width_out - at.x : kTile;
  for (std::size_t i = 0; i < kTile; ++i) {
    auto* to = static_cast<std::uint8_t*>(a.out_rows[at.row + i]);
    if (to == nullptr) continue;
    to += static_cast<std::ptrdiff_t>(at.x) * a.out_pixel_stride + (g.out + block.begin) * value;
    for (std::size_t j = 0; j < columns; ++j, to += a.out_pixel_stride)
      byte_product::write_pixel(bytes, a.out, scales, block.lanes, sums_at(sums, i, j, 0), to);
  }
}

/// Multiplies, interpolates and writes `count` evaluated tiles for a block of outputs.
inline void finish_block(const Group& g, const Walk& first, std::size_t count, const Block& block) {
  const Args& a = g.a;
  const Layout& layout = g.layout;
  static_assert(kBlockChannels <= byte_product::kMostLanes && kBlockChannels % byte_product::kByteLanes == 0);
  alignas(64) std::int32_t scratch[kSums];
  Scales scales{};
  make_scales(g, block, scales);
  const byte_product::Bytes bytes(a.out);
  const std::size_t lanes = block.panels() * kPanel, channels = part_channels(a.channels_in, a.parts);
  std::byte* const products = a.workspace + layout.products_at;
  auto* const kept = reinterpret_cast<std::int32_t*>(a.workspace + layout.sums_at);
  for (std::size_t begin = 0; begin < a.channels_in; begin += channels) {
    const std::size_t left = a.channels_in - begin, pairs = ((left < channels ? left : channels) + 1) / 2;
    multiply_matrices({a.workspace + layout.inputs_at + begin * sizeof(std::int16_t),
                       static_cast<std::ptrdiff_t>(layout.inputs.stride),
                       block.weights + kPanel * sizeof(std::int32_t) + begin / 2 * kStepBytes,
                       panel_bytes(a.channels_in),
                       pairs,
                       products,
                       layout.products.stride,
                       {}},
                      count, block.panels(), layout, (a.channels_in + 1) / 2 * kStepBytes, a.far_weights);
    const auto interpolate = begin == 0 ? interpolate_sums<Before::nothing> : interpolate_sums<Before::sums>;
    Walk at = first;
    for (std::size_t t = 0; t < count; ++t, at.next()) {
      std::int32_t* const sums = channels < a.channels_in ? kept + t * kSums : scratch;
      interpolate(products + t * layout.products.stride, layout.products.plane, lanes, scales.start, sums);
      if (begin + channels >= a.channels_in) write_tile(g, at, block, scales, bytes, sums);
    }
  }
}

inline void convolve(const Group& g) {
  const Args& a = g.a;
  std::size_t left = a.tile_rows * ((a.width_out + kTile - 1) / kTile);
  for (Walk at{a.width_out}; left > 0;) {
    const std::size_t blocks = (left + g.layout.tiles - 1) / g.layout.tiles, count = (left + blocks - 1) / blocks;
    const Walk next = evaluate_block(g, at, count);
    const std::byte* weights = g.weights;
    for (std::size_t begin = 0; begin < a.channels_out; begin += kBlockChannels) {
      const std::size_t rest = a.channels_out - begin;
      const Block block{begin, rest < kBlockChannels ? rest : kBlockChannels, weights};
      finish_block(g, at, count, block);
      weights += block.panels() * panel_bytes(a.channels_in);
    }
    at = next;
    left -= count;
  }
}

inline void run(const Args& a) noexcept {
  if (a.width_out == 0 || a.channels_out == 0) return;
  const Layout layout = layout_of(a.channels_in, a.channels_out);
  for (std::size_t group = 0; group < a.groups; ++group)
    convolve({a, group * a.channels_in, group * a.channels_out,
              a.weights + group * packed_bytes(a.channels_in, a.channels_out), layout});
}

}  // namespace
}  // namespace colonnade::kernels::byte_winograd
