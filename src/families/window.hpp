// SPDX-License-Identifier: Apache-2.0
// What convolutions share: their window, and the input rows that its taps read.
#pragma once

#include "families/family.hpp"
#include "families/rows.hpp"
#include "graph/windows.hpp"

namespace colonnade {

/// Windows of a convolution over image rows and columns.
struct Window {
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, pad_top = 0,
               pad_left = 0;
  bool operator==(const Window&) const = default;
};

inline Window window_of(const Subject& node, const Conv& conv) {
  const Ints pads = resolve_pads(conv, std::span(node.input_shape(0)).subspan(1, 2));
  return {conv.kernel[0],    conv.kernel[1],    conv.strides[0], conv.strides[1],
          conv.dilations[0], conv.dilations[1], pads[0],         pads[1]};
}

/// Columns that a window reads.
inline ColumnWindow window_columns(const Window& window) {
  ColumnWindow columns{true};
  columns.kernel = window.kernel_w, columns.stride = window.stride_w, columns.dilation = window.dilation_w;
  columns.pad = window.pad_left;
  return columns;
}
/// Those of a convolution.
inline ColumnWindow conv_columns(const Subject& node, const Window& window) {
  ColumnWindow columns = window_columns(window);
  columns.residual = std::get<Conv>(node.node.op).epilogue.residual;
  return columns;
}

/// Rows of the input that output rows [begin, end) read, tap by tap; null where they lie in the padding.
template <class T>
void tap_rows(const Rows<T>& in, const Window& window, std::int64_t skip, std::int64_t begin, std::int64_t end,
              std::int64_t height, const T** rows) {
  for (std::int64_t r = begin; r < end; ++r)
    for (std::int64_t ky = 0; ky < window.kernel_h; ++ky) {
      const std::int64_t y = r * window.stride_h - window.pad_top + ky * window.dilation_h;
      *rows++ = y < 0 || y >= height ? nullptr : in(y) + skip * in.pixel_stride();
    }
}

}  // namespace colonnade
