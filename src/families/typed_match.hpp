// SPDX-License-Identifier: Apache-2.0
// Which operators run as typed rows on whole tensors: any type, any broadcasting, any order of axes.
#pragma once

#include "families/family.hpp"
#include "kernels/typed/typed.hpp"
#include "reference/indexing.hpp"

namespace colonnade {

std::optional<kernels::typed::Type> typed_type(DType dtype);
std::optional<kernels::typed::Unary> typed_unary(UnaryKind kind);
std::optional<kernels::typed::Binary> typed_binary(BinaryKind kind);

/// The family `typed` can run `node`. All shapes must be known.
bool has_typed_kernel(const Graph& graph, const Node& node);

/// The lines of an ArgReduce, in blocks of those that lie side by side.
inline constexpr std::int64_t kLinesOfBlock = 64;
struct ArgLines {
  reference::AxisView view;
  std::int64_t blocks = 1;  ///< of an outer index
};
ArgLines arg_lines(const Subject& subject, const ArgReduce& op);

/// Functions, divisions and short lines by their elements, all else by the bytes that move.
Effort typed_effort(const Chosen& node, const Rates& rates);

/// Parts of a node that threads share.
std::int64_t typed_units(const Chosen& node);

}  // namespace colonnade
