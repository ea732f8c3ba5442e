// SPDX-License-Identifier: Apache-2.0
#include "passes/token_facts.hpp"

#include <algorithm>

#include "graph/contraction.hpp"
#include "graph/parameters.hpp"
#include "reference/elements.hpp"
#include "reference/reference.hpp"

namespace colonnade::rewrite {
namespace {

/// Sizes, or constant integers as such.
std::optional<Ints> ints_of(const Graph& graph, const Node& node, const std::vector<Fact>& inputs, std::size_t input) {
  if (node.input(input) == kAbsent) return std::nullopt;
  if (inputs[input].on == Dependence::sizes) return inputs[input].sizes;
  return constant_ints(graph, node, input);
}

std::optional<Ints> sizes_of_shape(const Graph& graph, const Node& node, const ShapeOf& op, const Fact& from) {
  const auto& shape = graph.value(node.inputs[0]).type.shape;
  if (!shape || (from.on != Dependence::tokens && from.on != Dependence::live)) return std::nullopt;
  if (from.on == Dependence::live && (from.axis != 1 || shape->size() != 2)) return std::nullopt;
  Ints all(shape->begin(), shape->end());
  for (std::size_t axis = 0; axis < all.size(); ++axis) {
    if (all[axis] >= 0 && axis > 1) continue;
    if (axis > 1) return std::nullopt;
    all[axis] = axis == 0 ? kBatchSize : kTokenSize;
  }
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto clamped = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t first = clamped(op.start), last = std::max(first, clamped(op.end.value_or(rank)));
  return Ints(all.begin() + first, all.begin() + last);
}

std::optional<Ints> picked(const Ints& from, const Ints& indices) {
  Ints result;
  const auto size = static_cast<std::int64_t>(from.size());
  for (const std::int64_t index : indices) {
    const std::int64_t at = index < 0 ? index + size : index;
    if (at < 0 || at >= size) return std::nullopt;
    result.push_back(from[static_cast<std::size_t>(at)]);
  }
  return result;
}

std::optional<Ints> sliced(const Graph& graph, const Node& node, const Ints& from) {
  const auto starts = constant_ints(graph, node, 1), ends = constant_ints(graph, node, 2);
  const auto steps = constant_ints(graph, node, 4);
  if (!starts || !ends || starts->size() != 1 || (steps && *steps != Ints{1})) return std::nullopt;
  const SliceRange range = slice_range(static_cast<std::int64_t>(from.size()), (*starts)[0], (*ends)[0], 1);
  Ints indices;
  for (std::int64_t i = 0; i < range.count; ++i) indices.push_back(range.first + i);
  return picked(from, indices);
}

/// A node of one element, by the reference.
double evaluated(const Graph& graph, const Node& node, const std::vector<Fact>& inputs, bool live) {
  Node alone{node.op, {}, {0}, node.name, node.origin};
  std::vector<Tensor> tensors;
  tensors.reserve(node.inputs.size());
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    alone.inputs.push_back(node.inputs[i] == kAbsent ? kAbsent : static_cast<ValueId>(i));
    if (node.inputs[i] == kAbsent) {
      operands.push_back(nullptr);
      continue;
    }
    const Value& value = graph.value(node.inputs[i]);
    const double element = inputs[i].on == Dependence::live
                               ? (live ? inputs[i].live : inputs[i].dead)
                               : reference::load_all<double>(*value.constant->tensor()).at(0);
    tensors.push_back(reference::tensor_of(value.type.dtype, Shape{}, std::vector<double>{element}));
    operands.push_back(&tensors.back());
  }
  return reference::load_all<double>(reference::evaluate(alone, operands).at(0)).at(0);
}

bool is_elementwise(const Operator& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) || std::holds_alternative<Cast>(op) ||
         std::holds_alternative<Select>(op);
}

/// The same fact about a value of these sizes, of which one is that of the tokens.
std::optional<Fact> with_axis(const Graph& graph, const Node& node, Fact fact, const std::optional<Ints>& sizes) {
  const auto& shape = graph.value(node.outputs[0]).type.shape;
  if (!sizes || !shape || sizes->size() != shape->size() || sizes->size() < 2) return std::nullopt;
  if (sizes->front() != kBatchSize || std::count(sizes->begin(), sizes->end(), kTokenSize) != 1) return std::nullopt;
  fact.axis = static_cast<std::size_t>(std::find(sizes->begin(), sizes->end(), kTokenSize) - sizes->begin());
  return fact;
}

/// Axes before or between its own do not matter: an element is read for many.
std::optional<Fact> expanded(const Graph& graph, const Node& node, Fact fact, const std::optional<Ints>& sizes) {
  const auto &from = graph.value(node.inputs[0]).type.shape, &to = graph.value(node.outputs[0]).type.shape;
  if (!sizes || !from || !to || from->size() != to->size() || sizes->size() != to->size()) return std::nullopt;
  if (sizes->front() != kBatchSize) return std::nullopt;
  return (*sizes)[fact.axis] == kTokenSize || (*sizes)[fact.axis] == 1 ? std::optional(fact) : std::nullopt;
}

/// Sizes of [batch, 1.., tokens, 1..] after axes of size 1 are put in.
std::optional<Ints> unsqueezed(const Graph& graph, const Node& node, const Fact& fact) {
  const auto axes = constant_ints(graph, node, 1);
  const auto &from = graph.value(node.inputs[0]).type.shape, &to = graph.value(node.outputs[0]).type.shape;
  if (!axes || !from || !to) return std::nullopt;
  Ints sizes(to->size(), 0);
  for (const std::int64_t axis : *axes)
    sizes.at(static_cast<std::size_t>(normalize_axis(axis, std::ssize(sizes), node))) = 1;
  std::size_t source = 0;
  for (std::int64_t& size : sizes) {
    if (size == 1) continue;
    size = source == 0 ? kBatchSize : source == fact.axis ? kTokenSize : 1;
    ++source;
  }
  return sizes;
}

}  // namespace

std::optional<Ints> sizes_after(const Graph& graph, const Node& node, const std::vector<Fact>& inputs) {
  if (const auto* shape = std::get_if<ShapeOf>(&node.op)) return sizes_of_shape(graph, node, *shape, inputs[0]);
  if (const auto* concat = std::get_if<Concat>(&node.op); concat != nullptr && concat->axis == 0) {
    Ints all;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto part = ints_of(graph, node, inputs, i);
      if (!part) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
  if (inputs.empty() || inputs[0].on != Dependence::sizes) return std::nullopt;
  const Ints& from = inputs[0].sizes;
  if (std::holds_alternative<Cast>(node.op) || std::holds_alternative<Squeeze>(node.op) ||
      std::holds_alternative<Unsqueeze>(node.op) || std::holds_alternative<Reshape>(node.op))
    return from;
  if (std::holds_alternative<Slice>(node.op)) return sliced(graph, node, from);
  if (std::holds_alternative<Gather>(node.op)) {
    const auto indices = constant_ints(graph, node, 1);
    return indices ? picked(from, *indices) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Ints> target_sizes(const Graph& graph, const Node& node, const std::vector<Fact>& inputs) {
  return ints_of(graph, node, inputs, 1);
}

std::optional<Fact> live_after(const Graph& graph, const Node& node, const std::vector<Fact>& inputs) {
  const auto first =
      std::find_if(inputs.begin(), inputs.end(), [](const Fact& fact) { return fact.on == Dependence::live; });
  if (first == inputs.end()) return std::nullopt;
  Fact fact = *first;
  if (std::holds_alternative<Unsqueeze>(node.op)) return with_axis(graph, node, fact, unsqueezed(graph, node, fact));
  if (std::holds_alternative<Reshape>(node.op) && first == inputs.begin())
    return with_axis(graph, node, fact, target_sizes(graph, node, inputs));
  if (std::holds_alternative<Expand>(node.op) && first == inputs.begin())
    return expanded(graph, node, fact, target_sizes(graph, node, inputs));
  if (!is_elementwise(node.op)) return std::nullopt;
  const std::size_t rank =
      graph.value(node.inputs[static_cast<std::size_t>(first - inputs.begin())]).type.shape->size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const Value& value = graph.value(node.inputs[i]);
    const bool alike =
        inputs[i].on == Dependence::live && inputs[i].axis == fact.axis && value.type.shape->size() == rank;
    const bool number = value.constant && value.constant->size() == 1 && value.type.shape->size() <= rank;
    if (!alike && !number) return std::nullopt;
  }
  fact.live = evaluated(graph, node, inputs, true);
  fact.dead = evaluated(graph, node, inputs, false);
  return fact;
}

bool keeps_rows(const Graph& graph, const Node& node, std::size_t lead) {
  const auto shape = [&](ValueId id) -> const Shape& { return *graph.value(id).type.shape; };
  const auto rank = std::ssize(shape(node.inputs[0]));
  const auto inside = [&](std::int64_t axis) {
    return (axis < 0 ? axis + rank : axis) >= static_cast<std::int64_t>(lead);
  };
  if (const auto* softmax = std::get_if<Softmax>(&node.op)) return inside(softmax->axis);
  if (const auto* norm = std::get_if<LayerNorm>(&node.op)) return inside(norm->axis);
  if (const auto* product = std::get_if<MatMul>(&node.op)) {
    const MatMul plain{.transpose_b = product->transpose_b, .epilogue = product->epilogue};
    return *product == plain && graph.value(node.inputs[1]).constant && shape(node.inputs[1]).size() == 2 &&
           rank > static_cast<std::int64_t>(lead);
  }
  return std::holds_alternative<Unary>(node.op) || std::holds_alternative<Binary>(node.op) ||
         std::holds_alternative<Cast>(node.op) || std::holds_alternative<Select>(node.op);
}

bool is_along(const Graph& graph, ValueId id, const Fact& fact, std::size_t rank, Dependence on) {
  if (!graph.value(id).type.shape) return false;
  const Shape& own = *graph.value(id).type.shape;
  const std::size_t lead = lead_of(on);
  if (fact.on == on) return own.size() == rank;
  if (fact.on == Dependence::live)
    return on == Dependence::tokens && own.size() == rank && fact.axis == 1 && graph.value(id).type.dtype == DType::f32;
  if (fact.on == Dependence::place) return on == Dependence::tokens && rank - own.size() + fact.axis == 1;
  if (fact.on != Dependence::fixed || own.size() > rank) return false;
  const std::size_t shift = rank - own.size();
  for (std::size_t axis = 0; axis + shift < lead && axis < own.size(); ++axis)
    if (own[axis] != 1) return false;
  return true;
}

bool bars_padding(const Graph& graph, const Node& node, const std::vector<Fact>& inputs, std::size_t rank) {
  constexpr double kFar = -1e4;
  bool bars = false;
  for (std::size_t i = kAddendInput; i < inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const Fact& fact = inputs[i];
    if (fact.on != Dependence::live || graph.value(node.inputs[i]).type.shape->size() != rank || fact.axis + 1 != rank)
      return false;
    if (fact.live != 0 || fact.dead > kFar) return false;
    bars = true;
  }
  return bars;
}

}  // namespace colonnade::rewrite
