// SPDX-License-Identifier: Apache-2.0
// Windows over volumes: one over planes and rows is one over as many rows, found by pointers.
#pragma once

#include <vector>

#include "families/shared.hpp"
#include "graph/windows.hpp"

namespace colonnade {

/// Over planes, rows and columns.
using VolumeWindow = std::vector<WindowAxis>;

/// [images, planes, rows, columns, channels]: images are volumes of one plane, lines are images of one row.
inline Shape volume_of(Shape shape) {
  shape.insert(shape.begin() + 1, 5 - shape.size(), 1);
  return shape;
}
inline VolumeWindow volume_window(VolumeWindow axes) {
  axes.insert(axes.begin(), 3 - axes.size(), WindowAxis{});
  return axes;
}

/// Rows of all planes of all images.
inline Shared volume_rows(const Shape& out) { return {out[0] * out[1] * out[2], 256}; }

/// The rows of the input [images, planes, rows, columns, channels] that a row of the output sees, of so many among all
/// images, tap by tap; null outside.
inline void volume_tap_rows(const VolumeWindow& axes, const Shape& in, const Shape& out, const float* x,
                            std::int64_t row, const float** rows) {
  const WindowAxis &planes = axes[0], &lines = axes[1];
  const std::int64_t image = row / (out[1] * out[2]), z = row / out[2] % out[1], y = row % out[2];
  for (std::int64_t kz = 0; kz < planes.kernel; ++kz)
    for (std::int64_t ky = 0; ky < lines.kernel; ++ky) {
      const std::int64_t from_z = z * planes.stride - planes.pad_begin + kz * planes.dilation;
      const std::int64_t from_y = y * lines.stride - lines.pad_begin + ky * lines.dilation;
      const bool inside = from_z >= 0 && from_z < in[1] && from_y >= 0 && from_y < in[2];
      *rows++ = inside ? x + ((image * in[1] + from_z) * in[2] + from_y) * in[3] * in[4] : nullptr;
    }
}

}  // namespace colonnade
