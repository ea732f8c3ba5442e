// SPDX-License-Identifier: Apache-2.0
// Winograd's products on matrix units: the transformed inputs of one matrix are cut into pieces while those of the one
// before are multiplied.
#include "kernels/base/tier.hpp"
#include "kernels/gemm/pieces.hpp"
#include "kernels/winograd/blocks.hpp"
#include "kernels/winograd/generic.hpp"

namespace colonnade::kernels::winograd {
namespace {

/// The transformed inputs of a matrix: `rows` rows of `k` floats, `tile_rows` of them a tile register.
class PlaneSource {
 public:
  PlaneSource(const float* from, std::ptrdiff_t stride, std::size_t rows, std::size_t k, std::size_t tile_rows,
              float* to)
      : from_(from), stride_(stride), left_(rows), k_(k), tile_rows_(tile_rows), to_(to) {}

  bool next(SplitRun& run) {
    if (left_ == 0) return false;
    const std::size_t rest = k_ - at_, whole = rest / kTileProducts;
    run.low_lanes = first_lanes(rest < kTileSide ? rest : kTileSide);
    run.high_lanes = whole > 0 ? first_lanes(kTileSide) : first_lanes(rest > kTileSide ? rest - kTileSide : 0);
    run.low = from_ + at_;
    run.high = run.low + kTileSide;
    run.step = kTileProducts;
    run.to = to_ + at_ / kTileProducts * kStepFloats + row_ * kTileSide;
    run.to_step = kStepFloats;
    run.count = whole > 0 ? whole : 1;
    at_ += run.count * kTileProducts;
    if (at_ < k_) return true;
    at_ = 0;
    from_ += stride_;
    --left_;
    if (++row_ < tile_rows_) return true;
    row_ = 0;
    to_ += (k_ + kTileProducts - 1) / kTileProducts * kStepFloats;
    return true;
  }

 private:
  const float* from_;
  std::ptrdiff_t stride_;
  std::size_t left_;
  std::size_t k_;
  std::size_t tile_rows_;
  float* to_;
  std::size_t at_ = 0;
  std::size_t row_ = 0;
};

/// Sums of a few tiles over a few panels.
struct Part {
  const float* pixels;
  const float* weights;
  std::size_t panel_stride;
  std::size_t steps;
  float* out;
  std::ptrdiff_t out_stride;
  std::size_t tile_rows;
  bool fetches;  ///< brings the weights of the next matrix into the second-level cache, which follow
};

template <int Rows, int Panels>
void run_part(const Part& p, Splitter<PlaneSource>& next, std::size_t share) noexcept {
  using Sums = PieceSums<Rows, Panels>;
  float* to[Rows * Panels];
  for (std::size_t i = 0; i < Rows * Panels; ++i)
    to[i] = p.out + static_cast<std::ptrdiff_t>(i / Panels * p.tile_rows) * p.out_stride +
            static_cast<std::ptrdiff_t>(i % Panels * kPanelFloats);
  Sums::clear_sums();
  const float* ahead = p.weights + p.steps * kStepFloats;
  const std::size_t lines = p.fetches ? kStepFloats / kTileSide / kTerms : 0;
  Sums::multiply(
      p.pixels, p.steps * kStepFloats, p.weights, p.panel_stride, p.steps, [&]() __attribute__((always_inline)) {
        next.work(share);
        for (std::size_t i = 0; i < lines; ++i, ahead += kTileSide) {
          __builtin_prefetch(ahead, 0, 2);
          if (Panels > 1) __builtin_prefetch(ahead + p.panel_stride, 0, 2);
        }
      });
  Sums::store_sums(to, p.out_stride * static_cast<std::ptrdiff_t>(sizeof(float)));
}

using PartFn = void (*)(const Part&, Splitter<PlaneSource>&, std::size_t) noexcept;
inline constexpr PartFn kParts[2][2] = {{run_part<1, 1>, run_part<1, 2>}, {run_part<2, 1>, run_part<2, 2>}};

struct MatrixUnits {
  static constexpr Encoding kEncoding = Encoding::bf16x3;

  template <std::size_t kMatrices, class Outputs>
  static void multiply_tiles(const Product& product, std::size_t count, std::size_t panels, std::size_t in_plane,
                             std::size_t out_plane, Outputs& outputs) {
    const std::size_t tiles = (count + kTileSide - 1) / kTileSide, tile_rows = (count + tiles - 1) / tiles;
    const std::size_t steps = (product.k + kTileProducts - 1) / kTileProducts;
    const std::size_t parts = (tiles + 1) / 2 * ((panels + 1) / 2), calls = kTerms * steps * parts;
    const std::size_t share = (count * steps + calls - 1) / calls;
    const std::size_t fetches = (outputs.steps() + kMatrices * parts - 1) / (kMatrices * parts);
    const TileRegisters registers(tile_rows);
    float* pieces = product.pieces;
    float* next_pieces = pieces + tiles * steps * kStepFloats;
    const auto source = [&](std::size_t matrix, float* to) {
      return PlaneSource(product.in + matrix * in_plane, product.in_stride, matrix < kMatrices ? count : 0, product.k,
                         tile_rows, to);
    };
    Splitter<PlaneSource>(source(0, pieces)).finish();
    for (std::size_t m = 0; m < kMatrices; ++m) {
      Splitter<PlaneSource> next(source(m + 1, next_pieces));
      Part part{nullptr, nullptr, product.panel_stride, steps, nullptr, product.out_stride, tile_rows, false};
      for (std::size_t panel = 0; panel < panels; panel += 2) {
        const std::size_t wide = panels - panel > 1 ? 2 : 1;
        part.weights =
            product.weights + m * gemm::panel_floats(Encoding::bf16x3, product.k) + panel * product.panel_stride;
        for (std::size_t tile = 0; tile < tiles; tile += 2) {
          part.fetches = tile == 0;
          part.pixels = pieces + tile * steps * kStepFloats;
          part.out = product.out + m * out_plane + static_cast<std::ptrdiff_t>(tile * tile_rows) * product.out_stride +
                     static_cast<std::ptrdiff_t>(panel * kPanelFloats);
          kParts[tiles - tile > 1 ? 1 : 0][wide - 1](part, next, share);
          for (std::size_t i = 0; i < fetches; ++i) outputs.step();
        }
      }
      next.finish();
      float* const done = pieces;
      pieces = next_pieces;
      next_pieces = done;
    }
  }
};

}  // namespace
}  // namespace colonnade::kernels::winograd

namespace colonnade::kernels {

static constexpr winograd::Kernel kKernels[] = {
#define KERNEL(name, outputs, taps, ...)                \
  {"winograd_f32_" name "_bf16x6_" COLONNADE_TIER_NAME, \
   kThisIsa,                                            \
   {outputs, taps},                                     \
   Encoding::bf16x3,                                    \
   winograd::convolve<winograd::__VA_ARGS__, winograd::MatrixUnits>},
    COLONNADE_TILES(KERNEL)
#undef KERNEL
};

template <>
KernelList<winograd::Kernel> kernels_of<winograd::Kernel, ThisTier>() noexcept {
  return {kKernels, sizeof kKernels / sizeof *kKernels};
}

}  // namespace colonnade::kernels
