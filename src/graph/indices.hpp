// SPDX-License-Identifier: Apache-2.0
// What belongs to the nodes or the values of a graph, found by them: a node cannot be taken for a value.
#pragma once

#include <cstdint>
#include <vector>

#include "base/indexed.hpp"
#include "graph/graph.hpp"

namespace colonnade {

/// Place of a node in Graph::nodes.
enum class NodeIndex : std::int32_t {};
inline constexpr NodeIndex kNoNode{-1};

template <typename T>
using ByNode = Indexed<NodeIndex, T>;
template <typename T>
using ByValue = Indexed<ValueId, T>;

inline const Node& node_of(const Graph& graph, NodeIndex index) { return graph.nodes[static_cast<std::size_t>(index)]; }
inline Indices<NodeIndex> nodes_of(const Graph& graph) { return Indices<NodeIndex>(graph.nodes.size()); }
inline Indices<ValueId> values_of(const Graph& graph) { return Indices<ValueId>(graph.values.size()); }

/// The first output of a node, by which kernels know it.
inline ValueId output_of(const Graph& graph, NodeIndex index) { return node_of(graph, index).outputs[0]; }

}  // namespace colonnade
