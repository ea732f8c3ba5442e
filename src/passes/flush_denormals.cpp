// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool is_contraction(const Node& node) {
  return std::holds_alternative<Conv>(node.op) || std::holds_alternative<ConvTranspose>(node.op) ||
         std::holds_alternative<MatMul>(node.op);
}

bool is_denormal(float x) { return x != 0 && std::fabs(x) < std::numeric_limits<float>::min(); }

}  // namespace

bool flush_denormals(Graph& graph) {
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (!is_contraction(node)) continue;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent || !graph.value(id).constant || graph.value(id).type.dtype != DType::f32) continue;
      const auto values = graph.value(id).constant->values<float>();
      if (std::none_of(values.begin(), values.end(), is_denormal)) continue;
      auto flushed = std::make_shared<Tensor>(*graph.value(id).constant);
      for (float& x : flushed->values<float>())
        if (is_denormal(x)) x = 0;
      graph.value(id).constant = std::move(flushed);
      changed = true;
    }
  }
  return changed;
}

}  // namespace colonnade::rewrite
