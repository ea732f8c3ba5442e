// SPDX-License-Identifier: Apache-2.0
// Scales images whose rows come one after another.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace colonnade::images {

struct Size {
  std::int64_t width = 0, height = 0;
};

/// For one position along a scaled axis: the first source position and the weights from there on, whose sum is one.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

/// Bilinear with half-pixel centres; when shrinking, the triangle widens so that every pixel counts (as Pillow does).
Taps taps_at(std::int64_t position, std::int64_t from, std::int64_t to);

/// RGB rows, scaled.
using TakeRow = std::function<void(std::span<const float> rgb)>;

/// Scales a height: of what comes, only sums of rows that are not complete are kept.
class HeightScaler {
 public:
  HeightScaler(std::int64_t from, std::int64_t to, TakeRow give);
  void take(std::span<const float> row);

 private:
  struct Sum {
    Taps taps;
    std::vector<float> row;
  };

  std::int64_t from_, to_, taken_ = 0, begun_ = 0;
  Taps next_;
  std::deque<Sum> sums_;
  TakeRow give_;
};

/// Scales to a size and gives rows as soon as they are complete. Widths come first, unless that is far more work than
/// there are pixels on either side: a narrow column that is made wide and low loses its height first. Works in time
/// of the pixels on both sides, in memory of a few rows of each and of the result.
class Scaler {
 public:
  Scaler(Size from, Size to, TakeRow give);
  Scaler(const Scaler&) = delete;
  Scaler& operator=(const Scaler&) = delete;
  /// Values of 0 to 255, 3 * from.width of them.
  void take(std::span<const std::uint8_t> rgb);

 private:
  std::span<const float> widened(std::span<const float> row);

  std::vector<Taps> columns_;
  bool height_first_;
  std::vector<float> source_, wide_;
  HeightScaler rows_;
};

}  // namespace colonnade::images
