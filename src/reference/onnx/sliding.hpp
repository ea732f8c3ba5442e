// SPDX-License-Identifier: Apache-2.0
// The windows of Col2Im, DeformConv and MaxUnpool: shared by their definitions, kernels and passes.
#pragma once

#include <cstdint>

#include "graph/opaque.hpp"

namespace colonnade::reference {

/// A window that slides over the axes of an image; pads: begins, then ends.
struct Sliding {
  Ints kernel, strides, dilations, pads;

  /// Positions along `axis` of an image of `size`; at most 0 where the window does not fit.
  std::int64_t positions(std::size_t axis, std::int64_t size) const;
  /// The pixel that a tap sees from a position, which may lie outside.
  std::int64_t pixel(std::size_t axis, std::int64_t position, std::int64_t tap) const {
    return position * strides[axis] + tap * dilations[axis] - pads[axis];
  }
};
/// Of a Col2Im, a DeformConv. Throws Error{invalid_model} for attributes that are no good.
Sliding sliding(const Opaque& op, Ints kernel);

struct Deformed {
  Sliding window;
  std::int64_t groups = 1, offset_groups = 1;
  std::int64_t taps() const { return window.kernel[0] * window.kernel[1]; }
};
/// Of a DeformConv with weights of this shape. Throws likewise.
Deformed deformed(const Opaque& op, const std::vector<std::int64_t>& weight);

/// The shape that the tensor before a pooling had by the window of its MaxUnpool alone. Throws likewise.
Shape unpooled_shape(const Opaque& op, const Shape& pooled);

}  // namespace colonnade::reference
