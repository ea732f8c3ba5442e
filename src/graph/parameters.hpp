// SPDX-License-Identifier: Apache-2.0
// Constant parameters of operators in the form that evaluation needs: shared by shape rules, access maps, reference
// and kernels.
#pragma once

#include <optional>

#include "graph/graph.hpp"

namespace colonnade {

/// Indices first, first + step, ... (count of them) that an ONNX slice takes of an axis of `dim` elements; step is not
/// 0.
struct SliceRange {
  std::int64_t first = 0, step = 1, count = 0;
  bool operator==(const SliceRange&) const = default;
};
SliceRange slice_range(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step);

/// Index into an axis of `size` elements that index `i` of the padded axis shows, counted from the unpadded begin; -1
/// where a constant stands. Not for wrapped padding.
std::int64_t padded_source(PadMode mode, std::int64_t i, std::int64_t size);

/// Pads of every axis of a Pad node whose input has the given rank; nothing when they are not constant.
/// Throws Error{invalid_model} when they do not fit the rank.
struct AxisPads {
  Ints begins, ends;
};
std::optional<AxisPads> axis_pads(const Graph& graph, const Node& node, std::int64_t rank);

}  // namespace colonnade
