// SPDX-License-Identifier: Apache-2.0
// Where the elements of a resized axis come from: shared by shape rules, access maps, reference and kernels, so that
// all agree to the bit.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.hpp"

namespace colonnade {

/// How one axis is resized. `scale` is the given one, or out_size / in_size where sizes are given.
struct ResizeAxis {
  std::int64_t in_size = 1, out_size = 1;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;  ///< tf_crop_and_resize only, in fractions of the axis
  bool operator==(const ResizeAxis&) const = default;

  /// The axis is copied: every output element is the input element of its index.
  bool is_identity() const { return in_size == out_size && scale == 1 && roi_begin == 0 && roi_end == 1; }
};

/// The axes that a Resize names, normalised; all of them where it names none.
Ints resized_axis_numbers(const Node& node, std::int64_t rank);

/// One entry an axis of the input, whose type must be static, from the node's constant scales or sizes (and roi).
/// Nothing when they are not constant.
/// Throws Error{invalid_model} naming the node when they do not fit the input.
std::optional<std::vector<ResizeAxis>> resize_axes(const Graph& graph, const Node& node);

/// The same from values: `roi` is empty where not given, exactly one of `scales` and `sizes` is not empty.
/// `node` is a Resize; it is named in errors.
std::vector<ResizeAxis> resize_axes(const Node& node, const Shape& input, std::span<const float> roi,
                                    std::span<const float> scales, std::span<const std::int64_t> sizes);

/// Taps of every output index of one axis: output i is the sum over t of weights[i * taps + t] * x[indices[i * taps +
/// t]], or the extrapolation value where outside[i]. Indices are clamped to the axis; weights sum to 1. nearest has one
/// tap, linear two, cubic four; with antialias, axes that shrink have more.
struct ResizeTaps {
  std::int64_t taps = 1;
  std::vector<std::int64_t> indices;
  std::vector<double> weights;
  std::vector<bool> outside;  ///< empty unless tf_crop_and_resize
};
ResizeTaps resize_taps(const Resize& op, const ResizeAxis& axis);

/// Taps of the output indices [rows.begin, rows.end) only.
ResizeTaps resize_taps(const Resize& op, const ResizeAxis& axis, Interval rows);

}  // namespace colonnade
