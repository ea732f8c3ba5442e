// SPDX-License-Identifier: Apache-2.0
// What programs will hold, summed over their plan.
#include "colonnade/memory.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "api/impl.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

/// Packed forms, one a constant, family and size; and constants of nodes that read them as they are.
std::size_t weights_of(const Graph& graph, const Plan& plan) {
  std::set<std::tuple<const Constant*, const Family*, std::int64_t>> packed;
  std::set<const Constant*> plain;
  for (const NodeIndex i : nodes_of(graph)) {
    const Node& node = node_of(graph, i);
    const Family& family = *plan.choices[i].family;
    const std::int64_t bytes = family.weights_bytes({{graph, node}, plan.choices[i]});
    const Constant* largest = nullptr;
    for (const ValueId input : node.inputs) {
      const Constant* constant = input == kAbsent ? nullptr : graph.value(input).constant.get();
      if (constant == nullptr) continue;
      if (bytes == 0) plain.insert(constant);
      if (largest == nullptr || constant->byte_size() > largest->byte_size()) largest = constant;
    }
    if (bytes > 0) packed.emplace(largest, &family, bytes);
  }
  std::size_t sum = 0;
  for (const auto& entry : packed) sum += static_cast<std::size_t>(std::get<std::int64_t>(entry));
  for (const Constant* constant : plain) sum += constant->byte_size();
  return sum;
}

std::size_t plan_bytes(const Graph& graph, const Plan& plan) {
  std::size_t bytes = graph.values.size() * (sizeof(Value) + sizeof(Storage)) +
                      graph.nodes.size() * (2 * sizeof(Node) + kBytesAroundANode);
  for (const SegmentPlan& segment : plan.segments)
    for (const auto& list : segment.steps) bytes += list.size() * 2 * sizeof(Step);  // the program has them too
  return bytes + static_cast<std::size_t>(plan.threads) * graph.values.size() * sizeof(View);
}

std::size_t output_bytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const ValueId id : graph.outputs)
    if (graph.value(id).type.is_static()) bytes += static_cast<std::size_t>(bytes_of(graph.value(id)));
  return bytes;
}

/// Some node, in bodies too, gives another answer every time.
bool draws(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    const auto* opaque = std::get_if<Opaque>(&node.op);
    const std::vector<Body> bodies = bodies_of(node.op);
    return (opaque != nullptr && opaque->definition->random) ||
           std::any_of(bodies.begin(), bodies.end(), [](const Body& body) { return draws(*body); });
  });
}

}  // namespace

MemoryNeed Model::Impl::need_of(const PlanKey& key) const {
  std::optional<Compiled::Planned> kept;
  if (compiled) {
    const std::lock_guard lock(compiled_mutex_);
    kept = compiled->find(key.shapes, key.layouts, key.threads);
  }
  const bool is_kept = kept.has_value();
  Planned made = is_kept ? Planned{key, std::move(kept->bound), std::move(kept->plan)} : planned(key);
  MemoryNeed need;
  need.nodes = numa.copies();
  need.weights = need.nodes * weights_of(made.bound.graph, made.plan);
  need.plan = plan_bytes(made.bound.graph, made.plan);
  need.arena = static_cast<std::size_t>(made.plan.arena_bytes);
  need.outputs = output_bytes(made.bound.graph);
  need.is_known = !made.bound.rest;
  need.is_steady =
      need.is_known && std::all_of(made.plan.choices.begin(), made.plan.choices.end(),
                                   [](const Choice& choice) { return choice.family != &families::island; });
  need.is_repeatable = !draws(*key.source);
  if (is_kept) return need;
  const std::lock_guard lock(mutex_);
  planned_ = std::move(made);
  return need;
}

MemoryNeed memory_need(const Model& model, const ShapeMap& overrides, int threads) {
  const Model::Impl& known = *colonnade::known(model);
  return known.need_of(
      {known.optimized, model.resolve_shapes(overrides), {}, known.node_here(), known.threads_of_run(threads)});
}

}  // namespace colonnade
