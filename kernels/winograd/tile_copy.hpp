// SPDX-License-Identifier: Apache-2.0
// The tiles of a call, one after another, and copies of those that are not the image's own pixels.
#pragma once

#include "kernels/winograd/transform.hpp"

namespace colonnade::kernels::winograd {
namespace {

/// Goes from tile to tile of a call, row by row.
template <class F>
class Walk {
 public:
  explicit Walk(const Args& args) : args_(&args) {}
  std::size_t row() const { return row_; }
  std::size_t in_row() const { return in_row_; }
  std::size_t x() const { return x_; }
  void next() {
    const std::size_t dilation = args_->dilation;
    if (dilation == 1) [[likely]]
      x_ += F::kTile;
    else if (++x_ % dilation == 0)
      x_ += (F::kTile - 1) * dilation;
    if (x_ < args_->width_out) return;
    x_ = 0;
    row_ += F::kTile;
    in_row_ += dilation == 1 ? F::kTile : F::kInputTile;
  }

 private:
  const Args* args_;
  std::size_t row_ = 0;
  std::size_t in_row_ = 0;
  std::size_t x_ = 0;
};

/// Copies tiles whose pixels are not the image's: they lie partly outside, or several of the image make one.
template <class F>
class TileCopy {
 public:
  TileCopy(const Args& args, std::size_t channels)
      : args_(args),
        parts_(args.filter.parts()),
        stride_(args.filter.stride * args.dilation),
        step_(args.filter.step()),
        pixel_floats_(round_to_lines(channels)) {
    // Of the last pixels, parts may be some that no tap reads.
    for (std::size_t i = 0; i < F::kInputTile; ++i) {
      std::size_t& count = read_[i] = parts_;
      while (i >= F::kTile && count > 0 &&
             args.filter.stride * (i + 1 - F::kTile) + step_ * (count - 1) >= args.filter.kernel)
        --count;
    }
    if (parts_ > 1 && channels <= kMostLoaded && args.in_pixel_stride == static_cast<std::ptrdiff_t>(args.channels_in))
      add_runs(channels);
  }

  /// To `copy`, parts of a pixel side by side and zeros where there is no input; makes `tile` point to it.
  void run(const Walk<F>& at, float* copy, InputTile<F>& tile) {
    const std::size_t x = args_.filter.stride * at.x();
    tile.pixel_stride = static_cast<std::ptrdiff_t>(pixel_floats_);
    for (std::size_t i = 0; i < F::kInputTile; ++i) {
      tile.rows[i] = copy;
      const float* const* rows = args_.in_rows + (at.in_row() + i) * parts_;
      if (count_ > 0) {
        load_pixels(rows, read_[i], x, copy);
      } else {
        for (std::size_t p = 0; p < parts_; ++p)
          copy_pixels(p < read_[i] ? rows[p] : nullptr, x, copy + p * parts_ * args_.channels_in);
      }
      copy += F::kInputTile * pixel_floats_;
    }
  }

 private:
  static constexpr std::size_t kMostLoaded = 64;  ///< channels of pixels that are put together vector by vector

  /// Channels of a vector that lie together in a row of the image, `offset` floats after the tile's first; of the last
  /// pixels perhaps fewer.
  struct Run {
    std::ptrdiff_t offset;
    std::size_t row;
    bool last;  ///< of its vector
    Lanes lanes[F::kInputTile];
  };

  void add_runs(std::size_t channels) {
    const std::size_t part_floats = args_.channels_in, floats = step_ == 1 ? parts_ * part_floats : part_floats;
    for (std::size_t vector = 0; vector < channels; vector += Vec::kLanes) {
      for (std::size_t begin = 0; begin < channels; begin += floats) {
        const std::size_t first = begin > vector ? begin - vector : 0;
        const std::size_t end = begin + floats < vector + Vec::kLanes ? begin + floats : vector + Vec::kLanes;
        if (end <= vector + first) continue;
        const std::size_t part = begin / part_floats % parts_, row = begin / part_floats / parts_;
        Run& run = runs_[count_++];
        run.offset =
            static_cast<std::ptrdiff_t>(part * step_ * part_floats + vector) - static_cast<std::ptrdiff_t>(begin);
        run.row = row;
        run.last = false;
        for (std::size_t j = 0; j < F::kInputTile; ++j) {
          const std::size_t read = (row * parts_ + read_[j]) * part_floats, until = end < read ? end : read;
          run.lanes[j] = lanes_between(first, until > vector + first ? until - vector : first);
        }
      }
      runs_[count_ - 1].last = true;
    }
  }

  /// A row of pixels from column `x` of the padded image on, whose parts are `read` rows.
  void load_pixels(const float* const* rows, std::size_t read, std::size_t x, float* to) {
    constexpr std::size_t kSide = F::kInputTile;
    const float* from[kMostLoaded];
    for (std::size_t p = 0; p < read; ++p) from[p] = rows[p] == nullptr ? nullptr : padded_row(rows[p], x, p);
    const Strides image(static_cast<std::ptrdiff_t>(stride_ * args_.channels_in));
    const Strides pixels(static_cast<std::ptrdiff_t>(pixel_floats_));
    for (std::size_t i = 0; i < count_;) {
      Vec pixel[kSide];
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSide; ++j) pixel[j] = zero();
      bool last = false;
      for (; !last; ++i) {
        const Run& run = runs_[i];
        last = run.last;
        if (run.row >= read || from[run.row] == nullptr) continue;
        const float* p = from[run.row] + run.offset;
#pragma GCC unroll 8
        for (std::size_t j = 0; j < kSide; ++j) pixel[j] = merge_lanes(pixel[j], image.after(p, j), run.lanes[j]);
      }
#pragma GCC unroll 8
      for (std::size_t j = 0; j < kSide; ++j) store(pixels.after(to, j), pixel[j]);
      to += Vec::kLanes;
    }
  }

  /// The row from column `x` of the padded image on, with zeros for what a tile reads outside.
  const float* padded_row(const float* row, std::size_t x, std::size_t part) {
    const std::size_t channels = args_.channels_in, pad = args_.pad_left;
    const std::size_t width = stride_ * (F::kInputTile - 1) + step_ * (parts_ - 1) + 1;
    if (x >= pad && x + width <= args_.width_in + pad) return row + (x - pad) * channels;
    const std::size_t left = x >= pad ? 0 : pad - x < width ? pad - x : width;
    const std::size_t skipped = x + left - pad, rest = skipped < args_.width_in ? args_.width_in - skipped : 0;
    const std::size_t inside = rest < width - left ? rest : width - left;
    float* const to = padded_ + part * width * channels;
    clear_floats(to, left * channels);
    copy_floats(row + skipped * channels, inside * channels, to + left * channels);
    clear_floats(to + (left + inside) * channels, (width - left - inside) * channels);
    return to;
  }

  /// A part of a row of pixels from column `x` of the padded image on; null: zeros.
  void copy_pixels(const float* row, std::size_t x, float* to) const {
    for (std::size_t part = 0; part < parts_; ++part, x += step_, to += args_.channels_in) copy_part(row, x, part, to);
  }

  void copy_part(const float* row, std::size_t x, std::size_t part, float* to) const {
    const std::size_t channels = args_.channels_in, limit = args_.pad_left + args_.width_in;
    std::size_t begin = 0, end = row == nullptr ? 0 : F::kInputTile;
    while (begin < end && x + stride_ * begin < args_.pad_left) ++begin;
    while (end > begin && (x + stride_ * (end - 1) >= limit || part >= read_[end - 1])) --end;
    const auto first = static_cast<std::ptrdiff_t>(x + stride_ * begin) - static_cast<std::ptrdiff_t>(args_.pad_left);
    const auto next = static_cast<std::ptrdiff_t>(stride_) * args_.in_pixel_stride;
    const float* from = begin < end ? row + first * args_.in_pixel_stride : nullptr;
    for (std::size_t j = 0; j < begin; ++j, to += pixel_floats_) clear_floats(to, channels);
    for (std::size_t j = begin; j < end; ++j, to += pixel_floats_, from += next) copy_floats(from, channels, to);
    for (std::size_t j = end; j < F::kInputTile; ++j, to += pixel_floats_) clear_floats(to, channels);
  }

  const Args& args_;
  std::size_t parts_;
  std::size_t stride_;  ///< from a tile's pixel to the next
  std::size_t step_;
  std::size_t pixel_floats_;
  std::size_t read_[F::kInputTile];  ///< parts of a row or column of pixels that taps read
  std::size_t count_ = 0;            ///< of runs: none where parts are copied one by one
  Run runs_[kMostLoaded + kMostLoaded / Vec::kLanes];
  alignas(64) float padded_[8 * kMostLoaded];  ///< parts rows of what a tile reads: at most eight times its channels
};

}  // namespace
}  // namespace colonnade::kernels::winograd
