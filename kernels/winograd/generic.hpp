// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles: input transform, then for each block of output channels the matrix products and output transform.
#pragma once

#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/microkernel.hpp"
#include "kernels/winograd/tile_copy.hpp"
#include "kernels/winograd/transform.hpp"

namespace colonnade::kernels::winograd {
namespace {

/// out[R][V * kLanes] = in[R][k] * weights, all rows whole. May write over its input when that has no fewer columns.
struct Product {
  const float* in;
  std::ptrdiff_t in_stride;
  const float* weights;
  std::size_t panel_stride;
  std::size_t k;
  float* out;
  std::ptrdiff_t out_stride;
  bool far_weights;
  float* pieces;  ///< workspace of matrix units
  Ahead ahead;    ///< of vector units
};

template <bool kFarWeights>
struct ProductTile {
  using Fn = void (*)(const Product&) noexcept;

  template <std::size_t R, std::size_t V>
  static void run(const Product& p) noexcept {
    Sums<R, V> sums;
    clear(sums);
    multiply<0, R, kFarWeights ? 2 : 0>(sums, p.in, p.in_stride, p.weights, p.panel_stride, p.k, p.ahead);
    store_sums(sums, p.out, p.out_stride);
  }
};

/// Most panels of a register tile. With few registers one: a tile of more rows, by which blocks of tiles divide.
inline constexpr std::size_t kProductPanels = kFewRegisters ? 1 : kTilePanels;

template <bool kFarWeights>
inline constexpr auto kProducts = tile_tables<ProductTile<kFarWeights>>(std::make_index_sequence<kProductPanels>());

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
    for (std::size_t j = 0; row != nullptr && j < F::kTile && j < left; ++j) {
      const float* pixel = row + static_cast<std::ptrdiff_t>(at_.x() + j) * args_->out_pixel_stride;
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

/// Tiles of a product, of nearly equal size.
struct Cut {
  std::size_t rows;
  std::size_t parts;
  Cut(std::size_t count, std::size_t most) : rows(count), parts((count + most - 1) / most) {}
  std::size_t take() {
    const std::size_t taken = (rows + parts - 1) / parts;
    rows -= taken, --parts;
    return taken;
  }
};

/// Transforms `count` tiles and returns where the next block starts.
template <class F>
inline Walk<F> transform_inputs(const Args& a, Walk<F> at, std::size_t count, const Layout& layout) {
  InputTile<F> tile{};
  tile.channels = a.filter.channels(a.channels_in);
  TileCopy<F> copy(a, tile.channels);
  for (std::size_t t = 0; t < count; ++t, at.next()) {
    const auto left = static_cast<std::ptrdiff_t>(at.x()) - static_cast<std::ptrdiff_t>(a.pad_left);
    bool whole = a.filter.whole() && left >= 0 && at.x() + F::kInputTile <= a.width_in + a.pad_left;
    for (std::size_t i = 0; whole && i < F::kInputTile; ++i) {
      const float* row = a.in_rows[at.row() + i];
      whole = row != nullptr;
      tile.rows[i] = whole ? row + left * a.in_pixel_stride : nullptr;
    }
    tile.pixel_stride = a.in_pixel_stride;
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
  tile.columns = a.width_out - at.x() < F::kTile ? a.width_out - at.x() : F::kTile;
}

template <class F>
inline void write_outputs(const Args& a, Walk<F> at, std::size_t count, const OutputBlock& block) {
  OutputTile<F> tile{};
  tile.out_stride = a.out_pixel_stride;
  tile.residual_stride = a.residual_pixel_stride;
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

/// How the register tiles of a matrix, `calls` of them, bring the weights of the next one into the second-level cache:
/// a panel, or half of one where there are twice as many calls, each in two streams.
class FetchWeights {
 public:
  FetchWeights(const Product& product, std::size_t panels, std::size_t calls)
      : calls_a_panel_(calls < 2 * panels ? 1 : 2),
        fetching_(panels * calls_a_panel_),
        panel_stride_(product.panel_stride),
        apart_(product.k / 2 * kPanelFloats) {}

  /// What tile `call` fetches of the weights at `next`, and of the inputs at `pixels`.
  Ahead ahead(std::size_t call, const float* pixels, const float* next) const {
    if (call >= fetching_) return {pixels, next, 0, 0};
    next += call / calls_a_panel_ * panel_stride_ + call % calls_a_panel_ * (apart_ / 2);
    return {pixels, next, static_cast<std::ptrdiff_t>(kPanelFloats / 2 / calls_a_panel_),
            static_cast<std::ptrdiff_t>(apart_)};
  }

 private:
  std::size_t calls_a_panel_;
  std::size_t fetching_;
  std::size_t panel_stride_;
  std::size_t apart_;
};

/// Multiplies `count` transformed tiles by the weights of `panels` panels, matrix by matrix, on vector units.
struct VectorUnits {
  static constexpr Encoding kEncoding = Encoding::f32;

  template <class F>
  static void multiply_tiles(const Product& product, std::size_t count, std::size_t panels, std::size_t in_plane,
                             std::size_t out_plane, OutputPrefetch<F>& outputs) {
    const auto multiply = product.far_weights ? multiply_matrices<F, true> : multiply_matrices<F, false>;
    multiply(product, count, panels, in_plane, out_plane, outputs);
  }

 private:
  template <class F, bool kFarWeights>
  static void multiply_matrices(Product product, std::size_t count, std::size_t panels, std::size_t in_plane,
                                std::size_t out_plane, OutputPrefetch<F>& outputs) {
    constexpr std::size_t kMatrices = F::kShape.matrices();
    const TileTable<ProductTile<kFarWeights>>& table = kProducts<kFarWeights>.of[panels - 1];
    const std::size_t most = most_rows(kTileRows[panels - 1], product.in_stride);
    const std::size_t parts = Cut(count, most).parts, calls = kMatrices * parts;
    const std::size_t steps = (outputs.steps() + calls - 1) / calls;
    const FetchWeights fetch(product, panels, parts);
    const float* const next_block = product.weights + panels * product.panel_stride;
    for (std::size_t m = 0; m < kMatrices; ++m) {
      const float* const next = m + 1 < kMatrices ? product.weights + product.k * kPanelFloats : next_block;
      const float* const in = product.in;
      float* const out = product.out;
      std::size_t call = 0;
      for (Cut cut(count, most); cut.rows > 0; ++call) {
        const std::size_t taken = cut.take();
        const float* const after = product.in + static_cast<std::ptrdiff_t>(taken) * product.in_stride;
        if constexpr (kFarWeights) product.ahead = fetch.ahead(call, after, next);
        table.of[taken - 1](product);
        product.in = after;
        product.out += static_cast<std::ptrdiff_t>(taken) * product.out_stride;
        for (std::size_t i = 0; i < steps; ++i) outputs.step();
      }
      product.in = in + in_plane;
      product.out = out + out_plane;
      product.weights += product.k * kPanelFloats;
    }
  }
};

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
    Units::multiply_tiles({inputs,
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

/// Tiles of the next block, of those left: blocks of nearly equal size, in whole register tiles.
inline std::size_t next_block(std::size_t left, std::size_t most) {
  constexpr std::size_t kStep = 6;
  const std::size_t blocks = (left + most - 1) / most;
  const std::size_t even = ((left + blocks - 1) / blocks + kStep - 1) / kStep * kStep;
  const std::size_t taken = even < most ? even : most;
  return taken < left ? taken : left;
}

template <class F, class Units = VectorUnits>
inline void convolve(const Args& a) noexcept {
  const Layout layout =
      layout_of(Units::kEncoding, F::kShape, a.filter.channels(a.channels_in), a.channels_out, a.far_weights);
  std::size_t left = a.tile_rows * ((a.width_out + F::kTile - 1) / F::kTile);
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
