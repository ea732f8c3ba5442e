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

/// A row of all planes of all images.
struct VolumeRow {
  std::int64_t rows, planes;  ///< of an image's plane, and planes of it
  std::int64_t image, plane, row;

  VolumeRow(const Shape& out, std::int64_t index)
      : rows(out[2]), planes(out[1]), image(index / (rows * planes)), plane(index / rows % planes), row(index % rows) {}
  void next() {
    if (++row < rows) return;
    row = 0;
    if (++plane < planes) return;
    plane = 0, ++image;
  }
};

/// The rows of the input [images, planes, rows, columns, channels] that a row of the output sees, tap by tap; null
/// outside.
inline void volume_tap_rows(const VolumeWindow& axes, const Shape& in, const float* x, const VolumeRow& at,
                            const float** rows) {
  const WindowAxis &planes = axes[0], &lines = axes[1];
  const std::int64_t row_elements = in[3] * in[4], plane_elements = in[2] * row_elements;
  const float* image = x + at.image * in[1] * plane_elements;
  std::int64_t from_z = at.plane * planes.stride - planes.pad_begin;
  for (std::int64_t kz = 0; kz < planes.kernel; ++kz, from_z += planes.dilation) {
    const bool exists = from_z >= 0 && from_z < in[1];
    std::int64_t from_y = at.row * lines.stride - lines.pad_begin;
    for (std::int64_t ky = 0; ky < lines.kernel; ++ky, from_y += lines.dilation) {
      const bool inside = exists && from_y >= 0 && from_y < in[2];
      *rows++ = inside ? image + from_z * plane_elements + from_y * row_elements : nullptr;
    }
  }
}

}  // namespace colonnade
