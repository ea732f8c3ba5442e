// SPDX-License-Identifier: Apache-2.0
// What the axes before the line of a resize read (resize_lines.cpp).
#pragma once

#include <optional>
#include <vector>

#include "graph/resize_coordinates.hpp"

namespace colonnade::resize_walk {

/// Axes that a resize leaves alone are one with those before or behind them.
struct LinesForm {
  std::vector<ResizeAxis> axes;  ///< before the line, and the line's as the last one
  std::int64_t inner = 1;        ///< elements of a position of the line
};

/// Lines that are blended into one at most.
inline std::int64_t combinations_of(const Resize& op, const LinesForm& form) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < form.axes.size(); ++i)
    if (!form.axes[i].is_identity()) count *= resize_taps(op, form.axes[i], {0, 1}).taps;
  return count;
}

/// Lines of the input that output lines of one position read, and their weights.
struct Lines {
  std::vector<std::int64_t> lines;
  std::vector<float> weights;
  bool repeats = false;  ///< those of the position before
};

/// What the axes before the line read; what weighs nothing is left out.
class OuterAxes {
 public:
  OuterAxes(const Resize& op, const LinesForm& form) {
    std::int64_t stride = 1;
    for (std::size_t i = form.axes.size() - 1; i-- > 0; stride *= form.axes[i].in_size)
      axes_.push_back(axis_of(op, form.axes[i], stride));
    near_size_ = axes_.empty() ? 1 : std::ssize(axes_.front());
    for (const Axis& axis : axes_)
      for (const Lines& position : axis) {
        crops_ |= position.lines.empty();
        picks_ &= position.weights == std::vector<float>{1.0f};
      }
    for (std::int64_t i = 0; i < near_size() && picks_; ++i) picked_.push_back(near(i).lines.front());
  }

  /// Positions of the innermost axis.
  std::int64_t near_size() const { return near_size_; }
  /// What a position of the innermost axis reads, none when it lies outside.
  const Lines& near(std::int64_t position) const { return axes_.empty() ? one_ : axes_.front()[at(position)]; }

  /// Some lines read nothing.
  bool crops() const { return crops_; }
  /// Every line is one of the input.
  bool picks() const { return picks_; }
  /// Which one, for a position of the innermost axis.
  std::int64_t picked(std::int64_t position) const { return picked_[at(position)]; }
  /// What the other axes read at a position of theirs, to be added to what the innermost one does.
  std::size_t far(std::int64_t position, std::int64_t* lines, float* weights) const {
    std::size_t count = 1;
    lines[0] = 0;
    weights[0] = 1;
    for (std::size_t axis = 1; axis < axes_.size(); position /= std::ssize(axes_[axis++]))
      count = combine(axes_[axis][at(position % std::ssize(axes_[axis]))], lines, weights, count);
    return count;
  }

 private:
  using Axis = std::vector<Lines>;

  static std::size_t at(std::int64_t position) { return static_cast<std::size_t>(position); }

  static Axis axis_of(const Resize& op, const ResizeAxis& axis, std::int64_t stride) {
    Axis positions(at(axis.out_size));
    if (axis.is_identity()) {
      for (std::size_t i = 0; i < positions.size(); ++i)
        positions[i] = {{static_cast<std::int64_t>(i) * stride}, {1.0f}, false};
      return positions;
    }
    const ResizeTaps taps = resize_taps(op, axis);
    const auto count = at(taps.taps);
    for (std::size_t i = 0; i < positions.size(); ++i)
      for (std::size_t t = i * count; t < (i + 1) * count; ++t) {
        if (taps.weights[t] == 0 || (!taps.outside.empty() && taps.outside[i])) continue;
        positions[i].lines.push_back(taps.indices[t] * stride);
        positions[i].weights.push_back(static_cast<float>(taps.weights[t]));
      }
    for (std::size_t i = 1; i < positions.size(); ++i)
      positions[i].repeats =
          positions[i].lines == positions[i - 1].lines && positions[i].weights == positions[i - 1].weights;
    return positions;
  }

  /// Each line so far with each one of the position; from the last one on, so that all are read before.
  static std::size_t combine(const Lines& position, std::int64_t* lines, float* weights, std::size_t count) {
    const std::size_t made = position.lines.size();
    for (std::size_t i = count; i-- > 0;) {
      const std::int64_t line = lines[i];
      const float weight = weights[i];
      for (std::size_t t = made; t-- > 0;) {
        lines[i * made + t] = line + position.lines[t];
        weights[i * made + t] = weight * position.weights[t];
      }
    }
    return made * count;
  }

  std::vector<Axis> axes_;  ///< the innermost one first
  Lines one_{{0}, {1.0f}, false};
  std::int64_t near_size_ = 1;
  bool crops_ = false, picks_ = true;
  std::vector<std::int64_t> picked_;
};

/// Walks along output lines: what each reads.
class LineWalk {
 public:
  LineWalk(const OuterAxes& axes, std::int64_t unit, std::int64_t* lines, float* weights)
      : axes_(axes), lines_(lines), weights_(weights) {
    far_ = unit / axes.near_size();
    near_ = unit % axes.near_size();
    count_ = axes.far(far_, lines_, weights_);
  }

  /// Of the line at hand: nothing outside of the region that is read.
  std::size_t count() const { return count_ * axes_.near(near_).lines.size(); }
  /// The line that is read, where each is one of the input.
  std::int64_t picked() const { return lines_[0] + axes_.picked(near_); }
  bool repeats() const { return axes_.near(near_).repeats; }
  template <class Take>
  void each(Take take) const {
    const Lines& near = axes_.near(near_);
    std::size_t made = 0;
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t t = 0; t < near.lines.size(); ++t)
        take(made++, lines_[i] + near.lines[t], weights_[i] * near.weights[t]);
  }
  void next() {
    if (++near_ < axes_.near_size()) return;
    near_ = 0;
    count_ = axes_.far(++far_, lines_, weights_);
  }

 private:
  const OuterAxes& axes_;
  std::int64_t* lines_;
  float* weights_;
  std::size_t count_ = 0;
  std::int64_t far_ = 0, near_ = 0;
};

}  // namespace colonnade::resize_walk
