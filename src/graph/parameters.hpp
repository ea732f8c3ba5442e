// SPDX-License-Identifier: Apache-2.0
// Constant parameters of operators in the form that evaluation needs: shared by shape rules, access maps, reference
// and kernels.
#pragma once

#include <optional>

#include "graph/graph.hpp"

namespace colonnade {

/// Indices first, first + step, ... (count of them) that an ONNX slice takes of an axis of `dim` elements; the given
/// step is not 0. Fewer than two indices have step 1.
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

/// Throws Error{invalid_model} when a constant index of a Gather, GatherElements or ScatterElements lies outside its
/// axis. Not for bodies: a branch that is never taken may hold one.
void check_constant_indices(const Graph& graph);

/// An activation of recurrent networks under its ONNX name, whose letters may be of any case.
struct RecurrentActivation {
  std::string_view name;
  bool takes_alpha, takes_beta;
  double alpha, beta;  ///< when the node gives none
};
/// Null when there is none of that name.
const RecurrentActivation* find_recurrent_activation(std::string_view name);

}  // namespace colonnade
