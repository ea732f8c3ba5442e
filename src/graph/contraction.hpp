// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul seen as one thing: sums of products with output channels on the last axis.
#pragma once

#include "graph/graph.hpp"

namespace colonnade {

/// Output channels that contractions compute together; fewer take as long.
inline constexpr std::int64_t kPanel = 16;

/// Null when the operator is no contraction.
const FusedEpilogue* epilogue_of(const Operator& op);
FusedEpilogue* epilogue_of(Operator& op);

/// Why kernels cannot multiply the node's two values by rows; empty when they can. Shapes are known.
std::string_view no_product_reason(const Graph& graph, const Node& node);

}  // namespace colonnade
