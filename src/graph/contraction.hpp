// SPDX-License-Identifier: Apache-2.0
// Conv, ConvTranspose and MatMul seen as one thing: sums of products with output channels on the last axis.
#pragma once

#include "graph/graph.hpp"

namespace colonnade {

/// Output channels that contractions compute together; fewer take as long.
inline constexpr std::int64_t kPanel = 16;

/// The input of an Attention that says where texts begin and end among the rows of its one batch (i64): rows and keys
/// [bounds[i], bounds[i + 1]) meet each other only, and rows of no text are zero. As many keys as rows. Addends then
/// hold for how far apart a row and a key are: [.., 1, 2 n + 1], of which element n + places[key] - places[row] is
/// added, or the first or last one where that is beyond. Places (i64, one a row) rise within a text.
inline constexpr std::size_t kBoundsInput = kAddendInput + kMostAddends, kPlacesInput = kBoundsInput + 1;
/// The input of an Attention over a growing cache (i64 [2]): how many keys there are, and how many rows of a head its
/// keys and values lie apart. Shapes say the most that both may be. Columns of addends behind the keys are not read. No
/// heads inside keys or values, no bounds.
inline constexpr std::size_t kLiveInput = kPlacesInput + 1;
/// The input of an Attention with one more score of each row, whose share goes nowhere: [.., 1], broadcast to scores.
inline constexpr std::size_t kSinksInput = kLiveInput + 1;

/// Null when the operator is no contraction.
const FusedEpilogue* epilogue_of(const Operator& op);
FusedEpilogue* epilogue_of(Operator& op);

/// Why kernels cannot multiply the node's two values by rows; empty when they can. Shapes are known.
std::string_view no_product_reason(const Graph& graph, const Node& node);

}  // namespace colonnade
