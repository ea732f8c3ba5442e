// SPDX-License-Identifier: Apache-2.0
// What convolutions on matrix units read: the pixels of a block, gathered and handed to the splitter step by step.
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/gemm/blocks.hpp"
#include "kernels/gemm/pieces.hpp"

#if defined(__AVX512F__)

namespace colonnade::kernels::gemm {
namespace {

inline std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }
inline std::size_t share_of(std::size_t units, std::size_t calls) { return (units + calls - 1) / calls; }

/// Output pixels of a call that are multiplied together, `tile_rows` of them a tile.
struct PixelBlock {
  std::size_t first;
  std::size_t count;
  std::size_t tile_rows;
  std::size_t tiles() const { return (count + tile_rows - 1) / tile_rows; }
};

/// A range of steps through the sums.
struct StepRange {
  std::size_t begin;
  std::size_t count;
};

/// The call as one group sees it.
struct Group {
  const ConvArgs& a;
  std::size_t index;
  const float* weights;
  std::size_t k;
  Blocks blocks;
  float* pixels[2];  ///< pieces: [tile][step][piece][kTileSide][kTileSide]; what is multiplied, and what comes next
  float* sums;       ///< tiles of float32
  float* gathered;   ///< what a pixel reads in a range of steps
};

/// Goes through output pixels row by row.
struct PixelWalk {
  std::size_t row = 0;
  std::size_t x = 0;
  std::size_t width = 0;
  PixelWalk() = default;
  PixelWalk(const ConvArgs& a, std::size_t pixel)
      : row(pixel / a.width_out), x(pixel % a.width_out), width(a.width_out) {}
  void next() {
    if (++x < width) return;
    x = 0;
    ++row;
  }
};

/// What tap (ky, kx) of a pixel reads; null in the padding.
inline const float* tap_of(const Group& g, const PixelWalk& at, std::size_t ky, std::size_t kx) {
  const ConvArgs& a = g.a;
  const float* row = a.in_rows[at.row * a.kernel_h + ky];
  const std::size_t x = at.x * a.stride_w + kx * a.dilation_w;
  if (row == nullptr || x < a.pad_left || x - a.pad_left >= a.width_in) return nullptr;
  return row + static_cast<std::ptrdiff_t>(x - a.pad_left) * a.in_pixel_stride + g.index * a.channels_in;
}

/// The inputs [begin, begin + count) of a pixel's sums, tap after tap.
inline void gather(const Group& g, const PixelWalk& at, std::size_t begin, std::size_t count) {
  const std::size_t channels = g.a.channels_in;
  float* to = g.gathered;
  for (std::size_t k = begin; k < begin + count;) {
    const std::size_t tap = k / channels, channel = k % channels;
    const std::size_t whole = channels - channel, left = begin + count - k;
    const std::size_t taken = whole < left ? whole : left;
    const float* from = tap_of(g, at, tap / g.a.kernel_w, tap % g.a.kernel_w);
    std::size_t i = 0;
    for (; i + Vec::kLanes <= taken; i += Vec::kLanes)
      store(to + i, from == nullptr ? zero() : load(from + channel + i));
    if (i < taken) store_first(to + i, from == nullptr ? zero() : load_first(from + channel + i, taken - i), taken - i);
    to += taken;
    k += taken;
  }
}

inline Lanes lanes_of(std::size_t count) { return first_lanes(count < kTileSide ? count : kTileSide); }

inline std::size_t pixels_before(const PixelBlock& block, std::size_t tile) {
  return tile * block.tile_rows < block.count ? tile * block.tile_rows : block.count;
}

/// What a range of steps of tiles [tile, last) reads.
class PixelSource {
 public:
  PixelSource(const Group& g, const PixelBlock& block, const StepRange& range, std::size_t tile, std::size_t last,
              float* to)
      : g_(&g),
        at_(g.a, block.first + tile * block.tile_rows),
        tile_rows_(block.tile_rows),
        row_(0),
        pixels_(pixels_before(block, last) - pixels_before(block, tile)),
        step_(range.begin),
        range_(range),
        to_(to + tile * g.blocks.steps * kStepFloats) {}

  bool next(SplitRun& run) {
    if (pixels_ == 0) return false;
    const std::size_t k = step_ * kTileProducts, end = range_.begin + range_.count;
    std::size_t steps = end - step_, left = g_->k - k;
    const float* from = pieces_from(k, steps, left);
    if (left >= kTileProducts && left < steps * kTileProducts)
      steps = left / kTileProducts;  // the tail is a run of its own
    run.low_lanes = from == nullptr ? Lanes{} : lanes_of(left);
    run.high_lanes = from == nullptr || left < kTileSide ? Lanes{} : lanes_of(left - kTileSide);
    run.low = from;
    run.high = from + kTileSide;
    run.step = kTileProducts;
    run.to = to_ + (step_ - range_.begin) * kStepFloats + row_ * kTileSide;
    run.to_step = kStepFloats;
    run.count = steps;
    step_ += steps;
    if (step_ == end) next_pixel();
    return true;
  }

 private:
  /// Where the inputs from `k` on lie, of as many of the steps as follow each other in memory; null: zeros.
  const float* pieces_from(std::size_t k, std::size_t& steps, std::size_t& left) const {
    const ConvArgs& a = g_->a;
    if (a.kernel_h * a.kernel_w == 1) {
      const float* from = tap_of(*g_, at_, 0, 0);
      return from == nullptr ? nullptr : from + k;
    }
    if (a.channels_in % kTileProducts == 0) {
      const std::size_t tap = k / a.channels_in, channel = k % a.channels_in;
      const std::size_t in_tap = (a.channels_in - channel) / kTileProducts;
      if (in_tap < steps) steps = in_tap;
      const float* from = tap_of(*g_, at_, tap / a.kernel_w, tap % a.kernel_w);
      return from == nullptr ? nullptr : from + channel;
    }
    const std::size_t begin = range_.begin * kTileProducts;
    if (step_ == range_.begin) gather(*g_, at_, begin, left < steps * kTileProducts ? left : steps * kTileProducts);
    return g_->gathered + (k - begin);
  }

  void next_pixel() {
    step_ = range_.begin;
    at_.next();
    --pixels_;
    if (++row_ < tile_rows_) return;
    row_ = 0;
    to_ += g_->blocks.steps * kStepFloats;
  }

  const Group* g_;
  PixelWalk at_;
  std::size_t tile_rows_;
  std::size_t row_;
  std::size_t pixels_;
  std::size_t step_;
  StepRange range_;
  float* to_;
};

}  // namespace
}  // namespace colonnade::kernels::gemm

#endif
