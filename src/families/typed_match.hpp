// SPDX-License-Identifier: Apache-2.0
// Which operators run as typed rows on whole tensors: any type, any broadcasting, any order of axes.
#pragma once

#include "graph/graph.hpp"
#include "kernels/typed/typed.hpp"

namespace colonnade {

std::optional<kernels::typed::Type> typed_type(DType dtype);
std::optional<kernels::typed::Unary> typed_unary(UnaryKind kind);
std::optional<kernels::typed::Binary> typed_binary(BinaryKind kind);

/// The family `typed` can run `node`. All shapes must be known.
bool has_typed_kernel(const Graph& graph, const Node& node);

}  // namespace colonnade
