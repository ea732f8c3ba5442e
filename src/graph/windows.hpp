// SPDX-License-Identifier: Apache-2.0
// One spatial axis of a windowed operator: what shape rules, access maps and costs share.
#pragma once

#include "graph/graph.hpp"

namespace colonnade {

/// kernel, stride, dilation and the two pads of one spatial axis, defaults filled in, pads resolved.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  /// Input elements from the first tap to the last.
  std::int64_t extent() const { return (kernel - 1) * dilation + 1; }
};

/// The largest kernel, stride, dilation and pad: keeps all window arithmetic far from overflow.
inline constexpr std::int64_t kMaxWindow = std::int64_t{1} << 22;

/// Throws Error{invalid_model} naming the node unless the attributes have the length that `spatial` (the number of
/// spatial axes) asks for, kernels, strides and dilations are positive and pads are not negative.
void check_window(const Node& node, const Conv& op, std::int64_t spatial);
void check_window(const Node& node, const ConvTranspose& op, std::int64_t spatial);
void check_window(const Node& node, const Pool& op, std::int64_t spatial);

/// The axes on known spatial input sizes.
std::vector<WindowAxis> window_axes(const Conv& op, std::span<const std::int64_t> spatial);
std::vector<WindowAxis> window_axes(const Pool& op, std::span<const std::int64_t> spatial);
std::vector<WindowAxis> window_axes(const ConvTranspose& op, std::span<const std::int64_t> spatial);

/// Output size of a sliding window; 0 or less when the window does not fit.
std::int64_t window_output(const WindowAxis& axis, std::int64_t input, bool ceil_mode);

/// Input rows that output rows need, unclipped.
Interval window_rows(const WindowAxis& axis, Interval rows);
Interval transposed_window_rows(const WindowAxis& axis, Interval rows);

}  // namespace colonnade
