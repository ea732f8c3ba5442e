// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles: input transform, then for each block of output channels the matrix products and output transform.
#pragma once

#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/products.hpp"
#include "kernels/winograd/tile_copy.hpp"
#include "kernels/winograd/transform.hpp"

namespace colonnade::kernels::winograd {
namespace {

/// Asks for the output of tiles before it is written, a row of a tile at a time: sums that write few lines between many
/// products leave the memory time. What is read next, the hardware fetches as early. Small outputs are near anyhow.
template <class F>
class OutputPrefetch {
 public:
  OutputPrefetch(const Args& args, const Walk<F>& at, std::size_t tiles)
      : args_(&args), at_(at), tiles_(pays(args) ? tiles : 0) {}

  std::size_t steps() const { return tiles_ * F::kTile; }

  void step() {
    if (tiles_ == 0) return;
    const float* row = args_->out_rows[at_.row() + row_];
    const std::size_t left = args_->width_out - at_.x();
    for (std::size_t j = 0, x = 0; row != nullptr && j < F::kTile && x < left; ++j, x += args_->dilation) {
      const float* pixel = row + static_cast<std::ptrdiff_t>(at_.x() + x) * args_->out_pixel_stride;
      for (std::size_t c = 0; c < args_->channels_out; c += kLine) __builtin_prefetch(pixel + c, 0, 2);
    }
    if (++row_ < F::kTile) return;
    row_ = 0;
    at_.next();
    --tiles_;
  }

 private:
  static bool pays(const Args& args) {
    constexpr std::size_t kFewestInputs = 32;  // with fewer the products are too short
    constexpr std::size_t kNearFloats = 512 * 1024 / sizeof(float);
    return args.filter.channels(args.channels_in) >= kFewestInputs &&
           args.tile_rows * F::kTile * args.width_out * args.channels_out > kNearFloats;
  }

  const Args* args_;
  Walk<F> at_;
  std::size_t tiles_;
  std::size_t row_ = 0;
};

/// Transforms `count` tiles and returns where the next block starts.
template <class F>
inline Walk<F> transform_inputs(const Args& a, Walk<F> at, std::size_t count, const Layout& layout) {
  InputTile<F> tile{};
  tile.channels = a.filter.channels(a.channels_in);
  TileCopy<F> copy(a, tile.channels);
  for (std::size_t t = 0; t < count; ++t, at.next()) {
    const auto left = static_cast<std::ptrdiff_t>(at.x()) - static_cast<std::ptrdiff_t>(a.pad_left);
    const std::size_t last = at.x() + (F::kInputTile - 1) * a.dilation;
    bool whole = a.filter.whole() && left >= 0 && last < a.width_in + a.pad_left;
    for (std::size_t i = 0; whole && i < F::kInputTile; ++i) {
      const float* row = a.in_rows[at.in_row() + i];
      whole = row != nullptr;
      tile.rows[i] = whole ? row + left * a.in_pixel_stride : nullptr;
    }
    tile.pixel_stride = static_cast<std::ptrdiff_t>(a.dilation) * a.in_pixel_stride;
    if (!whole) copy.run(at, a.workspace, tile);
    transform_input_tile(tile, a.workspace + layout.inputs_at + t * layout.inputs.stride, layout.inputs.plane);
  }
  return at;
}

/// Channels [begin, begin + channels) of the output, and where the products of the block's first tile lie.
struct OutputBlock {
  std::size_t begin;
  std::size_t channels;
  const float* sums;
  Planes planes;
};

template <class F>
inline void set_rows(const Args& a, const Walk<F>& at, std::size_t channel, OutputTile<F>& tile) {
  const auto x = static_cast<std::ptrdiff_t>(at.x());
  const auto c = static_cast<std::ptrdiff_t>(channel);
  for (std::size_t i = 0; i < F::kTile; ++i) {
    float* out = a.out_rows[at.row() + i];
    tile.rows[i] = out == nullptr ? nullptr : out + (x * a.out_pixel_stride + c);
    tile.residual[i] = out == nullptr || a.residual_rows == nullptr
                           ? nullptr
                           : a.residual_rows[at.row() + i] + (x * a.residual_pixel_stride + c);
  }
  const std::size_t left = a.width_out - at.x();
  const std::size_t columns = a.dilation == 1 ? left : (left + a.dilation - 1) / a.dilation;
  tile.columns = columns < F::kTile ? columns : F::kTile;
}

template <class F>
inline void write_outputs(const Args& a, Walk<F> at, std::size_t count, const OutputBlock& block) {
  OutputTile<F> tile{};
  tile.out_stride = static_cast<std::ptrdiff_t>(a.dilation) * a.out_pixel_stride;
  tile.residual_stride = static_cast<std::ptrdiff_t>(a.dilation) * a.residual_pixel_stride;
  tile.channels = block.channels;
  tile.bias = a.bias == nullptr ? nullptr : a.bias + block.begin;
  tile.residual_after = a.epilogue.residual_after;
  tile.slope = a.epilogue.activation.slope == nullptr ? nullptr : a.epilogue.activation.slope + block.begin;
  const UnaryOp& activation = a.epilogue.activation;
  const bool later = !is_cheap(activation) && !(a.residual_rows != nullptr && tile.residual_after);
  with_fused_unary(later ? UnaryOp{} : activation, [&](const auto& function) {
    for (std::size_t t = 0; t < count; ++t, at.next()) {
      set_rows(a, at, block.begin, tile);
      write_output_tile(tile, function, block.sums + t * block.planes.stride, block.planes.plane);
      if (later) activate(tile, activation);
    }
  });
}

/// Multiplies and writes `count` transformed tiles, a block of output channels at a time. A single block writes its
/// products over the inputs, which keeps few channels in the first-level cache.
template <class F, class Units>
inline void finish_tiles(const Args& a, const Walk<F>& at, std::size_t count, const Layout& layout) {
  constexpr std::size_t kMatrices = F::kShape.matrices();
  const std::size_t channels_in = a.filter.channels(a.channels_in);
  const std::size_t matrix = gemm::panel_floats(Units::kEncoding, channels_in);
  const std::size_t panels = (a.channels_out + kPanelFloats - 1) / kPanelFloats;
  const bool over = panels <= kProductPanels && a.channels_out <= layout.inputs.stride;
  float* inputs = a.workspace + layout.inputs_at;
  float* sums = over ? inputs : a.workspace + layout.sums_at;
  const Planes planes = over ? layout.inputs : layout.sums;
  OutputPrefetch<F> outputs(a, at, count);
  for (std::size_t panel = 0; panel < panels;) {
    const std::size_t left = panels - panel;
    const std::size_t blocks = (left + kProductPanels - 1) / kProductPanels;
    const std::size_t taken = (left + blocks - 1) / blocks;
    const std::size_t begin = panel * kPanelFloats;
    Units::template multiply_tiles<kMatrices>({inputs,
                                               static_cast<std::ptrdiff_t>(layout.inputs.stride),
                                               a.weights + panel * kMatrices * matrix,
                                               kMatrices * matrix,
                                               channels_in,
                                               sums,
                                               static_cast<std::ptrdiff_t>(planes.stride),
                                               a.far_weights,
                                               a.workspace + layout.pieces_at,
                                               {}},
                                              count, taken, layout.inputs.plane, planes.plane, outputs);
    const std::size_t end = begin + taken * kPanelFloats;
    write_outputs(a, at, count, {begin, (end < a.channels_out ? end : a.channels_out) - begin, sums, planes});
    panel += taken;
  }
}

template <class F, class Units = VectorUnits>
inline void convolve(const Args& a) noexcept {
  const Layout layout =
      layout_of(Units::kEncoding, F::kShape, a.filter.channels(a.channels_in), a.channels_out, a.far_weights);
  std::size_t left = a.tile_rows * tiles_across(F::kTile, a.dilation, a.width_out);
  for (Walk<F> at(a); left > 0;) {
    const std::size_t count = next_block(left, layout.tiles);
    const Walk<F> next = transform_inputs(a, at, count, layout);
    finish_tiles<F, Units>(a, at, count, layout);
    at = next;
    left -= count;
  }
}

}  // namespace
}  // namespace colonnade::kernels::winograd

/// Every tile: its name, outputs and taps a side, and the points that it is made of.
#define COLONNADE_TILES(KERNEL)              \
  KERNEL("6x6", 6, 3, EightPoints<3>)        \
  KERNEL("4x4", 4, 3, SixPoints<3>)          \
  KERNEL("2x2", 2, 3, FourPoints<3>)         \
  KERNEL("5x5_of_2x2", 5, 2, SixPoints<2>)   \
  KERNEL("3x3_of_2x2", 3, 2, FourPoints<2>)  \
  KERNEL("5x5_of_4x4", 5, 4, EightPoints<4>) \
  KERNEL("3x3_of_4x4", 3, 4, SixPoints<4>)   \
  KERNEL("4x4_of_5x5", 4, 5, EightPoints<5>) \
  KERNEL("2x2_of_5x5", 2, 5, SixPoints<5>)
