// SPDX-License-Identifier: Apache-2.0
// Convolutions on matrix units: pixels are gathered and cut into pieces, a block at a time, weights come in pieces. Or
// rounded to bf16, as on vector units.
#define COLONNADE_UNITS 1
#include "kernels/base/tier.hpp"
#include "kernels/base/unary.hpp"
#include "kernels/base/vector_math.hpp"
#include "kernels/gemm/blocks.hpp"
#include "kernels/gemm/pairs.hpp"
#include "kernels/gemm/pieces.hpp"
#include "kernels/gemm/pixel_source.hpp"

namespace colonnade::kernels::gemm {
namespace {

/// Rows [first, first + rows) of a block's pixels, channels of one panel: where they lie.
struct Outputs {
  std::size_t pixel;
  std::size_t rows;
  std::size_t channel;
  std::size_t lanes;
};

inline Outputs outputs_of(const Group& g, const PixelBlock& block, std::size_t tile, std::size_t panel) {
  const std::size_t first = tile * block.tile_rows, left = block.count - first;
  const std::size_t channel = panel * kPanel, lanes = g.a.channels_out - channel;
  return {block.first + first, left < block.tile_rows ? left : block.tile_rows, g.index * g.a.channels_out + channel,
          lanes < kPanel ? lanes : kPanel};
}

inline void load_outputs(const Group& g, const Outputs& outputs, float* sums) {
  PixelWalk at(g.a, outputs.pixel);
  for (std::size_t r = 0; r < outputs.rows; ++r, at.next()) {
    const float* out =
        g.a.out_rows[at.row] + static_cast<std::ptrdiff_t>(at.x) * g.a.out_pixel_stride + outputs.channel;
    store(sums + r * kTileSide, load_first(out, outputs.lanes));
  }
}

/// Sums of tiles [tile, tile + tiles) and panels [panel, panel + panels).
struct Part {
  std::size_t tile;
  std::size_t tiles;
  std::size_t panel;
  std::size_t panels;
};

template <class Function>
inline void write_rows(const Group& g, const Function& function, const Outputs& outputs, const float* sums) {
  const ConvArgs& a = g.a;
  const bool residual = a.residual_rows != nullptr;
  const Mask lanes = first_lanes(outputs.lanes);
  const float* slope = a.epilogue.activation.slope == nullptr ? nullptr : a.epilogue.activation.slope + outputs.channel;
  PixelWalk at(a, outputs.pixel);
  for (std::size_t left = outputs.rows; left > 0;) {
    const std::size_t count = smaller(left, a.width_out - at.x);
    const auto x = static_cast<std::ptrdiff_t>(at.x);
    float* out = a.out_rows[at.row] + x * a.out_pixel_stride + outputs.channel;
    if (residual) {
      const float* add = a.residual_rows[at.row] + x * a.residual_pixel_stride + outputs.channel;
      for (std::size_t r = 0; r < count; ++r, sums += kTileSide) {
        const Vec more = {_mm512_maskz_loadu_ps(lanes, add)};
        Vec y = load(sums);
        if (!a.epilogue.residual_after) y = y + more;
        y = call_first(function, y, slope, outputs.lanes);
        if (a.epilogue.residual_after) y = y + more;
        _mm512_mask_storeu_ps(out, lanes, y.v);
        out += a.out_pixel_stride;
        add += a.residual_pixel_stride;
      }
    } else {
      for (std::size_t r = 0; r < count; ++r, sums += kTileSide, out += a.out_pixel_stride)
        _mm512_mask_storeu_ps(out, lanes, call_first(function, load(sums), slope, outputs.lanes).v);
    }
    left -= count;
    at.x = 0;
    ++at.row;
  }
}

/// Writes the outputs of a part from its sums.
inline void write_part(const Group& g, const PixelBlock& block, const Part& part, float* const sums[]) {
  with_unary(g.a.epilogue.activation, [&](const auto& function) {
    for (std::size_t t = 0; t < part.tiles; ++t)
      for (std::size_t p = 0; p < part.panels; ++p)
        write_rows(g, function, outputs_of(g, block, part.tile + t, part.panel + p), sums[t * part.panels + p]);
  });
}

/// The pieces of a panel of weights, from the first step of a range on.
inline const float* panel_of(const Group& g, std::size_t panel, const StepRange& range) {
  return g.weights + panel * g.a.panel_stride + range.begin * kStepFloats;
}

/// Brings panels of weights that are multiplied next into the second-level cache: each from several places on, which
/// memory answers sooner than one, and evenly, since what waits for memory keeps tiles from loading.
class WeightFetch {
 public:
  /// `floats` of each of `panels` panels, by `calls` calls of work().
  WeightFetch(const float* from, std::size_t panel_stride, std::size_t panels, std::size_t floats, std::size_t calls)
      : next_(from),
        panel_stride_(panel_stride),
        panels_(panels),
        lines_(share_of(floats, kStreams * kTileSide)),
        stream_floats_(lines_ * kTileSide),
        share_(share_of(lines_, calls)),
        period_(lines_ == 0 || lines_ > calls ? 1 : calls / lines_) {}

  [[gnu::always_inline]] void work() {
    if (++calls_ < period_) return;
    calls_ = 0;
    const std::size_t count = smaller(share_, lines_);
    for (std::size_t i = 0; i < count; ++i, next_ += kTileSide) {
      fetch_streams(next_);
      if (panels_ > 1) fetch_streams(next_ + panel_stride_);
    }
    lines_ -= count;
  }

 private:
  static constexpr std::size_t kStreams = 4;

  [[gnu::always_inline]] void fetch_streams(const float* from) const {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kStreams; ++i, from += stream_floats_) __builtin_prefetch(from, 0, 2);
  }

  const float* next_;
  std::size_t panel_stride_;
  std::size_t panels_;
  std::size_t lines_;  ///< left, of a panel's stream
  std::size_t stream_floats_;
  std::size_t share_;   ///< lines that a call fetches, if it is the last of a period
  std::size_t period_;  ///< calls
  std::size_t calls_ = 0;
};

/// What is done while a part is multiplied, a share after each product of pieces.
struct Meanwhile {
  Splitter<PixelSource>& pixels;
  std::size_t pixel_share;
  WeightFetch& weights;
};

/// Sums of a few tiles, from `from` (rows `stride` bytes apart) to `to`.
struct Product {
  const float* from[kMostGroup];
  std::ptrdiff_t stride;
  float* to[kMostGroup];
  const float* pixels;
  const float* panels;
  std::size_t tile;
  std::size_t panel_stride;
  std::size_t steps;
};

template <int Rows, int Panels>
void run_product(const Product& p, const Meanwhile& meanwhile) noexcept {
  using Sums = PieceSums<Rows, Panels>;
  Sums::load_sums(p.from, p.stride);
  Sums::multiply(
      p.pixels, p.tile, p.panels, p.panel_stride, p.steps, [&]() __attribute__((always_inline)) {
        meanwhile.pixels.work(meanwhile.pixel_share);
        meanwhile.weights.work();
      });
  Sums::store_sums(p.to);
}

using ProductFn = void (*)(const Product&, const Meanwhile&) noexcept;
inline constexpr ProductFn kProducts[kMostGroup][kMostPanelGroup] = {{run_product<1, 1>, run_product<1, 2>},
                                                                     {run_product<2, 1>, run_product<2, 2>},
                                                                     {run_product<3, 1>, nullptr},
                                                                     {run_product<4, 1>, nullptr}};

/// What is multiplied from one set of pieces of pixels: a block of them, panels [first, last), a range of steps.
struct Pass {
  PixelBlock block;
  std::size_t first;
  std::size_t last;
  StepRange range;
};

/// Goes through the passes of a group: blocks of pixels, panels whose sums are kept, ranges of steps.
class PassWalk {
 public:
  PassWalk(const Group& g, std::size_t pixels, std::size_t tile_rows)
      : g_(&g), pixels_(pixels), tile_rows_(tile_rows), panels_(share_of(g.a.channels_out, kPanel)) {}

  bool done() const { return pixel_ >= pixels_; }
  Pass pass() const {
    const std::size_t most = g_->blocks.tiles * tile_rows_;
    return {{pixel_, smaller(most, pixels_ - pixel_), tile_rows_},
            panel_,
            smaller(panels_, panel_ + g_->blocks.panels),
            {step_, smaller(g_->blocks.steps, g_->blocks.all_steps - step_)}};
  }
  void next() {
    if ((step_ += g_->blocks.steps) < g_->blocks.all_steps) return;
    step_ = 0;
    if ((panel_ += g_->blocks.panels) < panels_) return;
    panel_ = 0;
    pixel_ += g_->blocks.tiles * tile_rows_;
  }

 private:
  const Group* g_;
  std::size_t pixels_;
  std::size_t tile_rows_;
  std::size_t panels_;
  std::size_t pixel_ = 0;
  std::size_t panel_ = 0;
  std::size_t step_ = 0;
};

inline void multiply_part(const Group& g, const Pass& pass, const Part& part, const Meanwhile& meanwhile) {
  alignas(64) float bias[kMostPanelGroup][kPanel];
  const bool starts = pass.range.begin == 0, ends = pass.range.begin + pass.range.count == g.blocks.all_steps;
  const bool kept = g.blocks.steps < g.blocks.all_steps, from_bias = starts && !g.a.accumulate;
  Product product{};
  product.stride = from_bias ? 0 : kTileSide * sizeof(float);
  for (std::size_t p = 0; p < part.panels && from_bias; ++p) {
    const Outputs outputs = outputs_of(g, pass.block, part.tile, part.panel + p);
    store(bias[p], g.a.bias == nullptr ? zero() : load_first(g.a.bias + outputs.channel, outputs.lanes));
  }
  for (std::size_t t = 0; t < part.tiles; ++t)
    for (std::size_t p = 0; p < part.panels; ++p) {
      const std::size_t i = t * part.panels + p;
      const std::size_t place = (part.tile + t) * g.blocks.panels + part.panel - pass.first + p;
      float* sums = g.sums + (kept ? place : i) * kTileFloats;
      if (starts && g.a.accumulate) load_outputs(g, outputs_of(g, pass.block, part.tile + t, part.panel + p), sums);
      product.from[i] = from_bias ? bias[p] : sums;
      product.to[i] = sums;
    }
  product.tile = g.blocks.steps * kStepFloats;
  product.pixels = g.pixels[0] + part.tile * product.tile;
  product.panels = panel_of(g, part.panel, pass.range);
  product.panel_stride = g.a.panel_stride;
  product.steps = pass.range.count;
  kProducts[part.tiles - 1][part.panels - 1](product, meanwhile);
  if (ends) write_part(g, pass.block, part, product.to);
}

/// Runs a pass. Meanwhile cuts into pieces the pixels of the pass itself, where they are `fresh`, a part ahead, then
/// those of the next pass, where there is time for them. Returns whether the latter are ready.
inline bool run_pass(Group& g, const Pass& pass, bool fresh, const PassWalk& next) {
  const std::size_t tiles = pass.block.tiles(), terms = kTerms * pass.range.count;
  const auto most_tiles = [](std::size_t panels) { return panels == 1 ? kMostGroup : kMostGroup / kMostPanelGroup; };
  const std::size_t groups = share_of(pass.last - pass.first, kMostPanelGroup), idle = groups - (fresh ? 1 : 0);
  const bool ahead = !next.done() && idle > 0;
  const Pass after = next.done() ? pass : next.pass();
  Splitter<PixelSource> later(
      PixelSource(g, after.block, after.range, 0, ahead ? after.block.tiles() : 0, g.pixels[1]));
  const std::size_t later_share =
      ahead ? share_of(after.block.count * after.range.count, terms * idle * share_of(tiles, most_tiles(2))) : 0;
  const auto pixels_of = [&](std::size_t tile, std::size_t last) {
    return Splitter<PixelSource>(PixelSource(g, pass.block, pass.range, tile, last, g.pixels[0]));
  };
  if (fresh) pixels_of(0, smaller(tiles, most_tiles(smaller(kMostPanelGroup, pass.last - pass.first)))).finish();
  for (std::size_t panel = pass.first; panel < pass.last;) {
    const std::size_t panels = smaller(kMostPanelGroup, pass.last - panel), most = most_tiles(panels);
    const bool last = panel + panels == pass.last;
    const std::size_t next_panel = last ? after.first : panel + panels, end = last ? after.last : pass.last;
    const StepRange& next_range = last ? after.range : pass.range;
    WeightFetch fetch(panel_of(g, next_panel, next_range), g.a.panel_stride, smaller(kMostPanelGroup, end - next_panel),
                      last && next.done() ? 0 : next_range.count * kStepFloats, terms * share_of(tiles, most));
    for (std::size_t tile = 0; tile < tiles; tile += most) {
      const Part part{tile, smaller(most, tiles - tile), panel, panels};
      if (fresh && panel == pass.first) {
        const std::size_t from = tile + part.tiles, to = smaller(from + most, tiles);
        Splitter<PixelSource> pixels = pixels_of(from, to);
        multiply_part(g, pass, part, {pixels, share_of((to - from) * pass.block.tile_rows, kTerms), fetch});
        pixels.finish();
      } else {
        multiply_part(g, pass, part, {later, later_share, fetch});
      }
    }
    panel += panels;
  }
  if (!ahead) return false;
  later.finish();
  float* const done = g.pixels[0];
  g.pixels[0] = g.pixels[1];
  g.pixels[1] = done;
  return true;
}

inline void conv_group(Group& g, std::size_t pixels, std::size_t tile_rows) {
  PassWalk walk(g, pixels, tile_rows);
  for (bool ready = false; !walk.done();) {
    const Pass pass = walk.pass();
    walk.next();
    ready = run_pass(g, pass, !ready, walk);
  }
}

}  // namespace

static void conv_pieces(const ConvArgs& a) noexcept {
  const std::size_t pixels = a.rows * a.width_out;
  if (pixels == 0) return;
  const std::size_t k = a.kernel_h * a.kernel_w * a.channels_in;
  const Blocks blocks = blocks_of(k, a.channels_out);
  const std::size_t tiles = (pixels + kTileSide - 1) / kTileSide, tile_rows = (pixels + tiles - 1) / tiles;
  const TileRegisters registers(tile_rows);
  const Room room = room_of(k, a.channels_out);
  float* pixel_pieces = a.workspace;
  float* sums = pixel_pieces + 2 * room.pixel_steps * kStepFloats;
  float* gathered = sums + room.sums * kTileFloats;
  for (std::size_t i = 0; i < a.groups; ++i) {
    Group group{a,    i,       a.weights + i * packed_floats(Encoding::bf16x3, k, a.channels_out),
                k,    blocks,  {pixel_pieces, pixel_pieces + room.pixel_steps * kStepFloats},
                sums, gathered};
    conv_group(group, pixels, tile_rows);
  }
}

static void conv_rounded(const ConvArgs& a) noexcept {
  const UnitRegisters registers;
  conv_pairs(a);
}

}  // namespace colonnade::kernels::gemm

namespace colonnade::kernels {

static constexpr gemm::Kernel kKernels[] = {
    {"conv_f32_bf16x6_" COLONNADE_TIER_NAME, kThisIsa, Encoding::bf16x3, gemm::conv_pieces},
    {"conv_bf16_" COLONNADE_TILE "_" COLONNADE_TIER_NAME, kThisIsa, Encoding::bf16, gemm::conv_rounded}};

template <>
KernelList<gemm::Kernel> kernels_of<gemm::Kernel, ThisTier>() noexcept {
  return {kKernels, 2};
}

}  // namespace colonnade::kernels
