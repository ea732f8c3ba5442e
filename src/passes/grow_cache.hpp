// SPDX-License-Identifier: Apache-2.0
// A network whose inputs grow from call to call, as the caches of keys and values of a decoder do, as one for a class
// of lengths: how long they are is a number that it is given. What every value depends on is followed from the inputs
// to the outputs; where that cannot be done the network stays as it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace colonnade {

/// An axis of an input or an output: of size n + behind.
struct GrowingAxis {
  std::size_t axis = 0;
  std::int64_t behind = 0;
  bool operator==(const GrowingAxis&) const = default;
};

/// Lengths n from `first` to `last`, at least three; shapes of the inputs at `last`, and what of them grows.
struct GrowingShapes {
  std::int64_t first = 1, last = 1;
  std::vector<Shape> shapes;
  std::vector<std::optional<GrowingAxis>> axes;
};

struct GrowingNetwork {
  /// Null: not for all these lengths. The inputs of the network with shapes at `last`, then n (i64 [1]).
  std::shared_ptr<const Graph> graph;
  /// By input: its elements lie as the caller has them. Other inputs that grow have zeros behind what there is.
  std::vector<bool> in_place;
  /// By output: it grows, and its elements lie as those of the true shape do.
  std::vector<std::optional<GrowingAxis>> outputs;
  std::string reason;  ///< why not
};

GrowingNetwork grow_cache(const Graph& graph, const GrowingShapes& shapes);

/// The sizes of a growing shape at length n.
Shape shape_at(Shape shape, const std::optional<GrowingAxis>& axis, std::int64_t n);

}  // namespace colonnade
