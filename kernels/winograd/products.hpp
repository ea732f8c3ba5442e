// SPDX-License-Identifier: Apache-2.0
// The products between the transforms: tiles by weights, point by point, with gemm's micro-kernel.
#pragma once

#include <utility>

#include "kernels/gemm/microkernel.hpp"
#include "kernels/winograd/winograd.hpp"

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

  template <std::size_t kMatrices, class Outputs>
  static void multiply_tiles(const Product& product, std::size_t count, std::size_t panels, std::size_t in_plane,
                             std::size_t out_plane, Outputs& outputs) {
    const auto multiply = product.far_weights ? multiply_matrices<kMatrices, true, Outputs>
                                              : multiply_matrices<kMatrices, false, Outputs>;
    multiply(product, count, panels, in_plane, out_plane, outputs);
  }

 private:
  template <std::size_t kMatrices, bool kFarWeights, class Outputs>
  static void multiply_matrices(Product product, std::size_t count, std::size_t panels, std::size_t in_plane,
                                std::size_t out_plane, Outputs& outputs) {
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

/// Tiles of the next block, of those left: blocks of nearly equal size, in whole register tiles.
inline std::size_t next_block(std::size_t left, std::size_t most) {
  constexpr std::size_t kStep = 6;
  const std::size_t blocks = (left + most - 1) / most;
  const std::size_t even = ((left + blocks - 1) / blocks + kStep - 1) / kStep * kStep;
  const std::size_t taken = even < most ? even : most;
  return taken < left ? taken : left;
}

}  // namespace
}  // namespace colonnade::kernels::winograd
