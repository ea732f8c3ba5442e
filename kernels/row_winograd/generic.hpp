// SPDX-License-Identifier: Apache-2.0
// Blocks of tiles: input transform, then for each block of output channels the products and output transform.
#pragma once

#include "kernels/row_winograd/blocks.hpp"
#include "kernels/winograd/products.hpp"
#include "kernels/winograd/transform.hpp"

namespace colonnade::kernels::row_winograd {
namespace {

using winograd::load_lanes, winograd::Pairs, winograd::Planes, winograd::Strides;

template <class F>
inline constexpr Tile kTileOf{F::kTile, F::kShape.taps};

/// Goes from tile to tile of a call: along a row, the tiles that a dilation interleaves one after the other; down, from
/// column to column of a row of tiles.
template <class F>
class Walk {
 public:
  explicit Walk(const Args& args)
      : width_(args.width_out),
        phases_(args.down ? 1 : args.filter.dilation),
        step_(args.down ? 1 : F::kTile * args.filter.dilation) {}
  std::size_t row() const { return row_; }
  /// The tile's first pixel.
  std::size_t x() const { return begin_ + phase_; }
  void next() {
    if (++phase_ < phases_ && x() < width_) return;
    phase_ = 0;
    begin_ += step_;
    if (begin_ < width_) return;
    begin_ = 0;
    ++row_;
  }

 private:
  std::size_t width_;
  std::size_t phases_;
  std::size_t step_;
  std::size_t row_ = 0;
  std::size_t begin_ = 0;
  std::size_t phase_ = 0;
};

/// Where the outputs of a tile lie in a table of rows, from channel `channel` on, `stride` floats from pixel to pixel;
/// null where none is written.
template <class F, class Float>
inline void find_pixels(const Args& a, Float* const* rows, std::ptrdiff_t stride, const Walk<F>& at,
                        std::size_t channel, Float* (&pixels)[F::kTile]) {
  const auto x = static_cast<std::ptrdiff_t>(at.x()), c = static_cast<std::ptrdiff_t>(channel);
  if (a.down) {
    for (std::size_t i = 0; i < F::kTile; ++i) {
      Float* const row = rows[at.row() * F::kTile + i];
      pixels[i] = row == nullptr ? nullptr : row + (x * stride + c);
    }
    return;
  }
  const std::size_t left = (a.width_out - at.x() + a.filter.dilation - 1) / a.filter.dilation;
  const std::ptrdiff_t apart = static_cast<std::ptrdiff_t>(a.filter.dilation) * stride;
  Float* pixel = rows[at.row()] + (x * stride + c);
  for (std::size_t i = 0; i < F::kTile; ++i, pixel += apart) pixels[i] = i < left ? pixel : nullptr;
}

/// Writes B^T pixels, point by point `plane` floats apart.
template <class F>
void transform_pixels(const float* const (&pixels)[F::kInputTile], std::size_t channels, float* to, std::size_t plane) {
  constexpr std::size_t kPoints = F::kInputTile;
  const Strides planes(static_cast<std::ptrdiff_t>(plane));
  for (std::size_t c = 0; c < channels; c += Vec::kLanes) {
    const std::size_t lanes = channels - c;
    Vec in[kPoints], out[kPoints];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kPoints; ++i) in[i] = load_lanes(pixels[i] + c, lanes);
    winograd::transform_whole<F>(in, out, Pairs<F>());
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kPoints; ++i) {
      if (lanes >= Vec::kLanes)
        store(planes.after(to + c, i), out[i]);
      else
        store_first(planes.after(to + c, i), out[i], lanes);
    }
  }
}

/// A tile that goes down.
template <class F>
inline void transform_down(const Args& a, const Walk<F>& at, const Layout& layout, float* to) {
  const std::size_t parts = a.filter.parts(kTileOf<F>);
  const std::ptrdiff_t x = static_cast<std::ptrdiff_t>(at.x()) * a.in_pixel_stride;
  const float* const* rows = a.in_rows + at.row() * parts * F::kInputTile;
  for (std::size_t part = 0; part < parts; ++part, rows += F::kInputTile, to += a.channels_in) {
    const float* pixels[F::kInputTile];
    for (std::size_t i = 0; i < F::kInputTile; ++i) pixels[i] = rows[i] == nullptr ? a.workspace : rows[i] + x;
    transform_pixels<F>(pixels, a.channels_in, to, layout.inputs.plane);
  }
}

/// A tile along a row. Pixels outside the row, and those of the last part that no tap reads, are zeros.
template <class F>
inline void transform_along(const Args& a, const Walk<F>& at, const Layout& layout, float* to) {
  constexpr Tile kTile = kTileOf<F>;
  const std::size_t parts = a.filter.parts(kTile), missing = kTile.taps - a.filter.last_taps(kTile);
  const auto dilation = static_cast<std::ptrdiff_t>(a.filter.dilation), width = static_cast<std::ptrdiff_t>(a.width_in);
  for (std::size_t y = 0; y < a.filter.height; ++y) {
    const float* const row = a.in_rows[at.row() * a.filter.height + y];
    auto first = static_cast<std::ptrdiff_t>(at.x()) - static_cast<std::ptrdiff_t>(a.pad_left);
    for (std::size_t part = 0; part < parts; ++part, to += a.channels_in) {
      const std::size_t read = kTile.inputs() - (part + 1 < parts ? 0 : missing);
      const float* pixels[F::kInputTile];
      std::ptrdiff_t x = first;
      for (std::size_t i = 0; i < F::kInputTile; ++i, x += dilation)
        pixels[i] = row == nullptr || i >= read || x < 0 || x >= width ? a.workspace : row + x * a.in_pixel_stride;
      transform_pixels<F>(pixels, a.channels_in, to, layout.inputs.plane);
      first += static_cast<std::ptrdiff_t>(kTile.taps) * dilation;
    }
  }
}

/// Transforms `count` tiles and returns where the next block starts.
template <class F>
inline Walk<F> transform_inputs(const Args& a, Walk<F> at, std::size_t count, const Layout& layout) {
  float* to = a.workspace + layout.inputs_at;
  const auto transform = a.down ? transform_down<F> : transform_along<F>;
  for (std::size_t t = 0; t < count; ++t, at.next(), to += layout.inputs.stride) transform(a, at, layout, to);
  return at;
}

/// The pixels that a tile writes, null where it writes none, and what is added to them.
template <class F>
struct Written {
  float* pixels[F::kTile];
  const float* residual[F::kTile];
};

/// Channels [begin, begin + channels) of the output, and where the products of a block's first tile lie.
struct OutputBlock {
  std::size_t begin;
  std::size_t channels;
  const float* sums;
  Planes planes;
};

/// Writes act(A^T sums + bias + residual) of one tile.
template <class F, class Function>
inline void write_tile(const Args& a, const Written<F>& to, const Function& function, const OutputBlock& block,
                       const float* sums) {
  const Strides planes(static_cast<std::ptrdiff_t>(block.planes.plane));
  const float* bias = a.bias == nullptr ? nullptr : a.bias + block.begin;
  const float* slopes = a.epilogue.activation.slope == nullptr ? nullptr : a.epilogue.activation.slope + block.begin;
  const auto write = [&](std::size_t c, std::size_t lanes) __attribute__((always_inline)) {
    Vec in[F::kInputTile], out[F::kTile];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < F::kInputTile; ++i) in[i] = load(planes.after(sums + c, i));
    F::transform_output(in, out);
    const Vec add = bias == nullptr ? zero() : load_lanes(bias + c, lanes);
    const float* slope = slopes == nullptr ? nullptr : slopes + c;
#pragma GCC unroll 6
    for (std::size_t i = 0; i < F::kTile; ++i) {
      if (to.pixels[i] == nullptr) continue;
      Vec x = out[i] + add, other = zero();
      const bool adds = a.residual_rows != nullptr;
      if (adds) other = load_lanes(to.residual[i] + c, lanes);
      if (adds && !a.epilogue.residual_after) x = x + other;
      x = lanes >= Vec::kLanes ? call(function, x, slope) : call_first(function, x, slope, lanes);
      if (adds && a.epilogue.residual_after) x = x + other;
      if (lanes >= Vec::kLanes)
        store(to.pixels[i] + c, x);
      else
        store_first(to.pixels[i] + c, x, lanes);
    }
  };
  std::size_t c = 0;
  for (; c + Vec::kLanes <= block.channels; c += Vec::kLanes) write(c, Vec::kLanes);
  if (c < block.channels) write(c, block.channels - c);
}

template <class F>
inline Written<F> written(const Args& a, const Walk<F>& at, std::size_t channel) {
  Written<F> to{};
  find_pixels(a, a.out_rows, a.out_pixel_stride, at, channel, to.pixels);
  if (a.residual_rows != nullptr) find_pixels(a, a.residual_rows, a.residual_pixel_stride, at, channel, to.residual);
  return to;
}

template <class F>
inline void write_outputs(const Args& a, Walk<F> at, std::size_t count, const OutputBlock& block) {
  with_fused_unary(a.epilogue.activation, [&](const auto& function) {
    for (std::size_t t = 0; t < count; ++t, at.next())
      write_tile<F>(a, written(a, at, block.begin), function, block, block.sums + t * block.planes.stride);
  });
}

/// Asks for the output of tiles before it is written, a pixel at a time: many products leave the memory time. Small
/// outputs are near anyhow.
template <class F>
class OutputPrefetch {
 public:
  OutputPrefetch(const Args& args, const Walk<F>& at, std::size_t tiles)
      : args_(&args), at_(at), tiles_(pays(args) ? tiles : 0) {
    if (tiles_ > 0) to_ = written(args, at_, 0);
  }

  std::size_t steps() const { return tiles_ * F::kTile; }

  void step() {
    if (tiles_ == 0) return;
    const float* pixel = to_.pixels[pixel_];
    for (std::size_t c = 0; pixel != nullptr && c < args_->channels_out; c += winograd::kLine)
      __builtin_prefetch(pixel + c, 1, 2);
    if (++pixel_ < F::kTile) return;
    pixel_ = 0;
    at_.next();
    if (--tiles_ > 0) to_ = written(*args_, at_, 0);
  }

 private:
  static bool pays(const Args& args) {
    constexpr std::size_t kNearFloats = 512 * 1024 / sizeof(float);
    return args.rows * args.width_out * args.channels_out > kNearFloats;
  }

  const Args* args_;
  Walk<F> at_;
  std::size_t tiles_;
  Written<F> to_{};
  std::size_t pixel_ = 0;
};

/// Multiplies and writes `count` transformed tiles, a block of output channels at a time. A single
/// block writes its products over the inputs.
template <class F>
inline void finish_tiles(const Args& a, const Walk<F>& at, std::size_t count, const Layout& layout) {
  constexpr std::size_t kPoints = F::kInputTile;
  const std::size_t terms = a.filter.terms(kTileOf<F>, a.channels_in), matrix = terms * kPanelFloats;
  const std::size_t panels = (a.channels_out + kPanelFloats - 1) / kPanelFloats;
  const bool over = panels <= winograd::kProductPanels && a.channels_out <= layout.inputs.stride;
  float* inputs = a.workspace + layout.inputs_at;
  float* sums = over ? inputs : a.workspace + layout.sums_at;
  const Planes planes = over ? layout.inputs : layout.sums;
  OutputPrefetch<F> outputs(a, at, count);
  for (std::size_t panel = 0; panel < panels;) {
    const std::size_t left = panels - panel;
    const std::size_t blocks = (left + winograd::kProductPanels - 1) / winograd::kProductPanels;
    const std::size_t taken = (left + blocks - 1) / blocks;
    const std::size_t begin = panel * kPanelFloats, end = begin + taken * kPanelFloats;
    winograd::VectorUnits::multiply_tiles<kPoints>({inputs,
                                                    static_cast<std::ptrdiff_t>(layout.inputs.stride),
                                                    a.weights + panel * kPoints * matrix,
                                                    kPoints * matrix,
                                                    terms,
                                                    sums,
                                                    static_cast<std::ptrdiff_t>(planes.stride),
                                                    a.far_weights,
                                                    nullptr,
                                                    {}},
                                                   count, taken, layout.inputs.plane, planes.plane, outputs);
    write_outputs<F>(a, at, count, {begin, (end < a.channels_out ? end : a.channels_out) - begin, sums, planes});
    panel += taken;
  }
}

template <class F>
inline void convolve(const Args& a) noexcept {
  const Layout layout = layout_of(kTileOf<F>, a.filter, a.channels_in, a.channels_out);
  std::size_t left = a.rows * (a.down ? a.width_out : winograd::tiles_across(F::kTile, a.filter.dilation, a.width_out));
  clear_floats(a.workspace, a.channels_in);
  for (Walk<F> at(a); left > 0;) {
    const std::size_t count = winograd::next_block(left, layout.tiles);
    const Walk<F> next = transform_inputs<F>(a, at, count, layout);
    finish_tiles<F>(a, at, count, layout);
    at = next;
    left -= count;
  }
}

}  // namespace
}  // namespace colonnade::kernels::row_winograd
