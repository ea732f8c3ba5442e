// SPDX-License-Identifier: Apache-2.0
#include "graph/windows.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

std::int64_t or_else(const Ints& values, std::size_t index, std::int64_t standard) {
  return index < values.size() ? values[index] : standard;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && a < 0) ? 1 : 0); }
std::int64_t ceil_div_signed(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

void check_list(const Node& node, std::string_view what, const Ints& values, std::int64_t count, std::int64_t least) {
  if (!values.empty() && static_cast<std::int64_t>(values.size()) != count) {
    fail(ErrorCode::invalid_model, "node '{}' ({}): expects {} {}, has {}", node.name, name_of(node.op), count, what,
         values.size());
  }
  for (const std::int64_t value : values) {
    if (value < least || value > kMaxWindow) {
      fail(ErrorCode::invalid_model, "node '{}' ({}): {} hold {}, must be in {}..{}", node.name, name_of(node.op), what,
           value, least, kMaxWindow);
    }
  }
}

template <class Window>
void check_common(const Node& node, const Window& op, std::int64_t spatial) {
  check_list(node, "kernel sizes", op.kernel, spatial, 1);
  check_list(node, "strides", op.strides, spatial, 1);
  check_list(node, "dilations", op.dilations, spatial, 1);
  check_list(node, "pads", op.pads, 2 * spatial, 0);
}

template <class Window>
WindowAxis plain_axis(const Window& op, std::size_t index, std::size_t count) {
  WindowAxis axis;
  axis.kernel = or_else(op.kernel, index, 1);
  axis.stride = or_else(op.strides, index, 1);
  axis.dilation = or_else(op.dilations, index, 1);
  if (op.auto_pad == AutoPad::explicit_pads) {
    axis.pad_begin = or_else(op.pads, index, 0);
    axis.pad_end = or_else(op.pads, count + index, 0);
  }
  return axis;
}

/// Splits the padding; the odd one goes to the end for `same_upper`.
void split_padding(WindowAxis& axis, std::int64_t total, bool odd_at_end) {
  const std::int64_t padding = std::max<std::int64_t>(0, total);
  axis.pad_begin = odd_at_end ? padding / 2 : padding - padding / 2;
  axis.pad_end = padding - axis.pad_begin;
}

bool same_padding(AutoPad pad) { return pad == AutoPad::same_upper || pad == AutoPad::same_lower; }

template <class Window>
std::vector<WindowAxis> sliding_axes(const Window& op, std::span<const std::int64_t> spatial) {
  std::vector<WindowAxis> axes;
  for (std::size_t index = 0; index < spatial.size(); ++index) {
    WindowAxis axis = plain_axis(op, index, spatial.size());
    if (same_padding(op.auto_pad)) {
      const std::int64_t output = ceil_div(spatial[index], axis.stride);
      const std::int64_t total = (output - 1) * axis.stride + axis.extent() - spatial[index];
      split_padding(axis, total, op.auto_pad == AutoPad::same_upper);
    }
    axes.push_back(axis);
  }
  return axes;
}

Ints pads_of(const std::vector<WindowAxis>& axes) {
  Ints pads;
  for (const WindowAxis& axis : axes) pads.push_back(axis.pad_begin);
  for (const WindowAxis& axis : axes) pads.push_back(axis.pad_end);
  return pads;
}

}  // namespace

void check_window(const Node& node, const Conv& op, std::int64_t spatial) { check_common(node, op, spatial); }
void check_window(const Node& node, const Pool& op, std::int64_t spatial) {
  check_common(node, op, spatial);
  if (op.kernel.empty()) {
    fail(ErrorCode::invalid_model, "node '{}' ({}): has no kernel size", node.name, name_of(node.op));
  }
}
void check_window(const Node& node, const ConvTranspose& op, std::int64_t spatial) {
  check_common(node, op, spatial);
  check_list(node, "output paddings", op.output_padding, spatial, 0);
  check_list(node, "output sizes", op.output_shape, spatial, 1);
}

std::vector<WindowAxis> window_axes(const Conv& op, std::span<const std::int64_t> spatial) {
  return sliding_axes(op, spatial);
}
std::vector<WindowAxis> window_axes(const Pool& op, std::span<const std::int64_t> spatial) {
  return sliding_axes(op, spatial);
}

std::vector<WindowAxis> window_axes(const ConvTranspose& op, std::span<const std::int64_t> spatial) {
  std::vector<WindowAxis> axes;
  for (std::size_t index = 0; index < spatial.size(); ++index) {
    WindowAxis axis = plain_axis(op, index, spatial.size());
    const std::int64_t full = axis.stride * (spatial[index] - 1) + or_else(op.output_padding, index, 0) + axis.extent();
    if (!op.output_shape.empty()) {
      split_padding(axis, full - op.output_shape[index], op.auto_pad == AutoPad::same_upper);
    } else if (same_padding(op.auto_pad)) {
      split_padding(axis, full - spatial[index] * axis.stride, op.auto_pad == AutoPad::same_upper);
    }
    axes.push_back(axis);
  }
  return axes;
}

std::int64_t window_output(const WindowAxis& axis, std::int64_t input, bool ceil_mode) {
  const std::int64_t room = checked_add(input, axis.pad_begin + axis.pad_end) - axis.extent();
  // Rounded up, a window may be larger than the padded axis by less than a stride; of nothing there is none.
  if (room < 0) return ceil_mode && -room < axis.stride && input > 0 ? 1 : 0;
  if (!ceil_mode) return room / axis.stride + 1;
  const std::int64_t output = ceil_div(room, axis.stride) + 1;
  const bool last_starts_in_padding = (output - 1) * axis.stride >= input + axis.pad_begin;
  return last_starts_in_padding ? output - 1 : output;
}

Interval window_rows(const WindowAxis& axis, Interval rows) {
  return {rows.begin * axis.stride - axis.pad_begin, (rows.end - 1) * axis.stride - axis.pad_begin + axis.extent()};
}

Interval transposed_window_rows(const WindowAxis& axis, Interval rows) {
  const std::int64_t first = rows.begin + axis.pad_begin - (axis.extent() - 1);
  const std::int64_t last = rows.end - 1 + axis.pad_begin;
  return {ceil_div_signed(first, axis.stride), floor_div(last, axis.stride) + 1};
}

Ints resolve_pads(const Conv& conv, std::span<const std::int64_t> spatial) {
  return pads_of(window_axes(conv, spatial));
}
Ints resolve_pads(const Pool& pool, std::span<const std::int64_t> spatial) {
  return pads_of(window_axes(pool, spatial));
}
Ints resolve_pads(const ConvTranspose& conv, std::span<const std::int64_t> spatial) {
  return pads_of(window_axes(conv, spatial));
}

}  // namespace colonnade
