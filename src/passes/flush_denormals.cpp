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

bool is_denormal(float x) { return (x != 0) & (std::fabs(x) < std::numeric_limits<float>::min()); }

/// Elements that are in memory are looked at, others not.
bool may_hold_denormals(const Constant& constant) {
  if (constant.dtype() != DType::f32 || constant.is_normal()) return false;
  if (!constant.is_kept()) return true;
  const auto tensor = constant.tensor();
  const auto values = tensor->values<float>();
  const bool has_any = std::any_of(values.begin(), values.end(), is_denormal);
  if (!has_any) constant.set_normal();
  return has_any;
}

std::shared_ptr<const Constant> flushed(const std::shared_ptr<const Constant>& constant) {
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    constant->read(first, target);
    for (float& x : std::span(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float)))
      x = is_denormal(x) ? 0.0f : x;
  };
  return derived(constant, "flushed", [&] {
    return std::make_shared<const Constant>(DType::f32, constant->shape(), make, true, constant->narrow());
  });
}

}  // namespace

/// Large constants are no change: no pass sees their elements.
bool flush_denormals(Graph& graph) {
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (!is_contraction(node)) continue;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent || !graph.value(id).constant || !may_hold_denormals(*graph.value(id).constant)) continue;
      changed = changed || graph.value(id).constant->is_kept();
      graph.value(id).constant = flushed(graph.value(id).constant);
    }
  }
  return changed;
}

}  // namespace colonnade::rewrite
