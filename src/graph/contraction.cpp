// SPDX-License-Identifier: Apache-2.0
#include "graph/contraction.hpp"

#include <algorithm>

namespace colonnade {

const FusedEpilogue* epilogue_of(const Operator& op) {
  if (const auto* conv = std::get_if<Conv>(&op)) return &conv->epilogue;
  if (const auto* conv = std::get_if<ConvTranspose>(&op)) return &conv->epilogue;
  if (const auto* product = std::get_if<MatMul>(&op)) return &product->epilogue;
  return nullptr;
}

FusedEpilogue* epilogue_of(Operator& op) {
  return const_cast<FusedEpilogue*>(epilogue_of(static_cast<const Operator&>(op)));
}

std::string_view no_product_reason(const Graph& graph, const Node& node) {
  const ValueType &a = graph.value(node.inputs[0]).type, &b = graph.value(node.inputs[1]).type;
  if (b.dtype != DType::f32) return "type has no kernel";
  const Shape& shape = a.static_shape();
  if (shape.size() < 2 || b.static_shape().size() < 2) return "one-dimensional operand";
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? "" : "empty tensor";
}

}  // namespace colonnade
