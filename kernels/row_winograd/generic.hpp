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

/// Goes from tile to tile of a call: along a row, the tiles that a dilation interleaves one after the other.
template <class F>
class Walk {
 public:
  explicit Walk(const Args& args) : width_(args.width_out), dilation_(args.filter.dilation) {}
  std::size_t row() const { return row_; }
  /// The tile's first pixel.
  std::size_t x() const { return begin_ + phase_; }
  void next() {
    if (++phase_ < dilation_ && x() < width_) return;
    phase_ = 0;
    begin_ += F::kTile * dilation_;
    if (begin_ < width_) return;
    begin_ = 0;
    ++row_;
  }

 private:
  std::size_t width_;
  std::size_t dilation_;
  std::size_t row_ = 0;
  std::size_t begin_ = 0;
  std::size_t phase_ = 0;
};

/// Pixels of a tile, `stride` floats apart: the first `read`, the others count as zero.
struct Pixels {
  const float* first;
  std::ptrdiff_t stride;
  std::size_t read;
};

/// Writes B^T pixels, point by point `plane` floats apart.
template <class F, bool kAll>
void transform_pixels(const Pixels& pixels, std::size_t channels, float* to, std::size_t plane) {
  constexpr std::size_t kPoints = F::kInputTile;
  const Strides apart(pixels.stride), planes(static_cast<std::ptrdiff_t>(plane));
  const float* from = pixels.first;
  const auto transform = [&](std::size_t lanes) __attribute__((always_inline)) {
    Vec in[kPoints], out[kPoints];
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kPoints; ++i)
      in[i] = kAll || i < F::kTile || i < pixels.read ? load_lanes(apart.after(from, i), lanes) : zero();
    winograd::transform_whole<F>(in, out, Pairs<F>());
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kPoints; ++i) {
      if (lanes >= Vec::kLanes)
        store(planes.after(to, i), out[i]);
      else
        store_first(planes.after(to, i), out[i], lanes);
    }
  };
  std::size_t left = channels;
  for (; left >= Vec::kLanes; left -= Vec::kLanes, from += Vec::kLanes, to += Vec::kLanes) transform(Vec::kLanes);
  if (left > 0) transform(left);
}

/// Copies the pixels of a tile from `first` on, a dilation apart, with zeros for those outside the row; null: all.
template <class F>
inline Pixels copy_pixels(const Args& a, const float* row, std::ptrdiff_t first, std::size_t read, float* to) {
  const std::size_t floats = winograd::round_to_lines(a.channels_in);
  const auto dilation = static_cast<std::ptrdiff_t>(a.filter.dilation), width = static_cast<std::ptrdiff_t>(a.width_in);
  for (std::size_t i = 0; i < read; ++i, first += dilation) {
    float* const pixel = to + i * floats;
    if (row == nullptr || first < 0 || first >= width)
      clear_floats(pixel, a.channels_in);
    else
      copy_floats(row + first * a.in_pixel_stride, a.channels_in, pixel);
  }
  return {to, static_cast<std::ptrdiff_t>(floats), read};
}

template <class F>
inline void transform_tile(const Args& a, const Walk<F>& at, const Layout& layout, float* to) {
  constexpr Tile kTile = kTileOf<F>;
  const std::size_t parts = a.filter.parts(kTile), missing = kTile.taps - a.filter.last_taps(kTile);
  const auto dilation = static_cast<std::ptrdiff_t>(a.filter.dilation);
  const auto last = static_cast<std::ptrdiff_t>(kTile.inputs() - 1) * dilation;
  for (std::size_t y = 0; y < a.filter.height; ++y) {
    const float* row = a.in_rows[at.row() * a.filter.height + y];
    auto first = static_cast<std::ptrdiff_t>(at.x()) - static_cast<std::ptrdiff_t>(a.pad_left);
    for (std::size_t part = 0; part < parts; ++part, to += a.channels_in) {
      const std::size_t read = kTile.inputs() - (part + 1 < parts ? 0 : missing);
      const bool inside = row != nullptr && first >= 0 && first + last < static_cast<std::ptrdiff_t>(a.width_in);
      const Pixels pixels = inside ? Pixels{row + first * a.in_pixel_stride, dilation * a.in_pixel_stride, read}
                                   : copy_pixels<F>(a, row, first, read, a.workspace);
      (read == kTile.inputs() ? transform_pixels<F, true> : transform_pixels<F, false>)(pixels, a.channels_in, to,
                                                                                        layout.inputs.plane);
      first += static_cast<std::ptrdiff_t>(kTile.taps) * dilation;
    }
  }
}

/// Transforms `count` tiles and returns where the next block starts.
template <class F>
inline Walk<F> transform_inputs(const Args& a, Walk<F> at, std::size_t count, const Layout& layout) {
  float* to = a.workspace + layout.inputs_at;
  for (std::size_t t = 0; t < count; ++t, at.next(), to += layout.inputs.stride) transform_tile<F>(a, at, layout, to);
  return at;
}

/// The pixels that a tile writes, `count` of them `stride` floats apart, and what is added.
struct Written {
  float* first;
  std::ptrdiff_t stride;
  const float* residual;
  std::ptrdiff_t residual_stride;
  std::size_t count;
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
inline void write_tile(const Args& a, const Written& to, const Function& function, const OutputBlock& block,
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
    float* pixel = to.first + c;
    const float* residual = to.residual == nullptr ? nullptr : to.residual + c;
#pragma GCC unroll 6
    for (std::size_t i = 0; i < F::kTile; ++i) {
      if (i == to.count) return;
      Vec x = out[i] + add, other = zero();
      if (residual != nullptr) {
        other = load_lanes(residual, lanes);
        residual += to.residual_stride;
        if (!a.epilogue.residual_after) x = x + other;
      }
      x = lanes >= Vec::kLanes ? call(function, x, slope) : call_first(function, x, slope, lanes);
      if (residual != nullptr && a.epilogue.residual_after) x = x + other;
      if (lanes >= Vec::kLanes)
        store(pixel, x);
      else
        store_first(pixel, x, lanes);
      pixel += to.stride;
    }
  };
  std::size_t c = 0;
  for (; c + Vec::kLanes <= block.channels; c += Vec::kLanes) write(c, Vec::kLanes);
  if (c < block.channels) write(c, block.channels - c);
}

template <class F>
inline Written written(const Args& a, const Walk<F>& at, std::size_t channel) {
  const auto x = static_cast<std::ptrdiff_t>(at.x()), c = static_cast<std::ptrdiff_t>(channel);
  const auto dilation = static_cast<std::ptrdiff_t>(a.filter.dilation);
  const std::size_t left = (a.width_out - at.x() + a.filter.dilation - 1) / a.filter.dilation;
  return {a.out_rows[at.row()] + (x * a.out_pixel_stride + c), dilation * a.out_pixel_stride,
          a.residual_rows == nullptr ? nullptr : a.residual_rows[at.row()] + (x * a.residual_pixel_stride + c),
          dilation * a.residual_pixel_stride, left < F::kTile ? left : F::kTile};
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
      : args_(&args), at_(at), tiles_(pays(args) ? tiles : 0) {}

  std::size_t steps() const { return tiles_ * F::kTile; }

  void step() {
    if (tiles_ == 0) return;
    const std::size_t x = at_.x() + pixel_ * args_->filter.dilation;
    const float* row = args_->out_rows[at_.row()];
    if (x < args_->width_out)
      for (std::size_t c = 0; c < args_->channels_out; c += winograd::kLine)
        __builtin_prefetch(row + static_cast<std::ptrdiff_t>(x) * args_->out_pixel_stride + c, 1, 2);
    if (++pixel_ < F::kTile) return;
    pixel_ = 0;
    --tiles_;
    at_.next();
  }

 private:
  static bool pays(const Args& args) {
    constexpr std::size_t kNearFloats = 512 * 1024 / sizeof(float);
    return args.rows * args.width_out * args.channels_out > kNearFloats;
  }

  const Args* args_;
  Walk<F> at_;
  std::size_t tiles_;
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
  std::size_t left = a.rows * tiles_of_row(kTileOf<F>, a.filter.dilation, a.width_out);
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
