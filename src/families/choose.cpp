// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "families/table.hpp"

namespace colonnade {
namespace {

/// Why no family that works on elements runs the node, whatever their type; empty when one may.
std::string shape_refusal(const Candidate& candidate) {
  const auto& [graph, node] = static_cast<const Subject&>(candidate);
  if (!candidate.has_input(0)) return "no kernel for this operator";
  for (const ValueId id : node.inputs)
    if (id != kAbsent && !graph.value(id).type.is_static()) return "shape is unknown";
  const auto empty = [&, &values = graph](ValueId id) {
    return id != kAbsent && element_count(values.value(id).type.static_shape()) == 0;
  };
  if (std::any_of(node.outputs.begin(), node.outputs.end(), empty)) return "empty tensor";
  if (node.outputs[0] == kAbsent && !std::holds_alternative<Recurrent>(node.op)) return "the first output is left out";
  return {};
}

/// Whether the family claims the types of a node with a first input.
bool claims(const Family& family, const Candidate& candidate) {
  const auto& [graph, node] = static_cast<const Subject&>(candidate);
  return family.types.contains(candidate.input(0).type.dtype) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), [&, &values = graph](ValueId id) {
           return id == kAbsent || family.types.contains(values.value(id).type.dtype);
         });
}

/// Nothing goes in, yet something comes out: sums of nothing, padding. Loops over rows of input never get there.
bool makes_of_nothing(const Graph& graph, const Node& node) {
  const auto empty = [&](ValueId id) {
    const Shape& shape = graph.value(id).type.static_shape();
    return std::find(shape.begin(), shape.end(), 0) != shape.end();
  };
  if (node.input(0) == kAbsent || !graph.value(node.input(0)).type.is_tensor() || !empty(node.input(0))) return false;
  return !std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) { return id == kAbsent || empty(id); });
}

/// Plans count rows one by one, kernels columns.
bool is_vast(const Graph& graph, const Node& node) {
  constexpr std::int64_t kMostRows = std::int64_t{1} << 22, kMostColumns = std::int64_t{1} << 26;
  const auto vast = [&](ValueId id) {
    if (id == kAbsent || graph.value(id).constant || !graph.value(id).type.is_static()) return false;
    const RowShape shape = row_shape(graph.value(id).type.static_shape());
    return shape.rows > kMostRows || shape.width > kMostColumns;
  };
  return std::any_of(node.inputs.begin(), node.inputs.end(), vast) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), vast);
}

Choice island(std::string reason) {
  Choice choice{&families::island};
  choice.reason = std::move(reason);
  return choice;
}

}  // namespace

std::vector<Choice> alternatives(const Graph& graph, const Node& node, Math math, kernels::Features features,
                                 const Blocking& blocking) {
  if (makes_of_nothing(graph, node)) return {island("its input is empty")};
  if (is_vast(graph, node)) return {island("more rows or columns than a plan can count")};
  const Candidate candidate{{graph, node}, math, features, blocking};
  const std::string refusal = shape_refusal(candidate);
  std::string reason = refusal;
  std::vector<Choice> found;
  for (const Family* family : families::kTable) {
    if (family->scope == Scope::island) continue;
    const bool on_elements = family->scope != Scope::view;
    if (on_elements && !refusal.empty()) continue;
    if (on_elements && !claims(*family, candidate)) {
      if (reason.empty()) reason = "type has no kernel";
      continue;
    }
    Match match = family->match(candidate);
    if (!match.reason.empty()) reason = std::move(match.reason);
    for (Offer& offer : match.offers)
      found.push_back({family, std::move(offer.form), offer.encoding, offer.granularity, offer.flop, {}});
  }
  if (found.empty()) found.push_back(island(reason.empty() ? "no kernel for this operator" : std::move(reason)));
  return found;
}

Choice choose_family(const Graph& graph, const Node& node, Math math, kernels::Features features,
                     const Blocking& blocking) {
  std::vector<Choice> all = alternatives(graph, node, math, features, blocking);
  return std::move(*std::ranges::min_element(all, {}, &Choice::flop));
}

std::vector<Choice> choose_families(const Graph& graph, Math math, kernels::Features features,
                                    const Blocking& blocking) {
  std::vector<Choice> choices;
  for (const Node& node : graph.nodes) choices.push_back(choose_family(graph, node, math, features, blocking));
  return choices;
}

}  // namespace colonnade
