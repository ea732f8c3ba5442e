// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/half.hpp"
#include "graph/graph.hpp"

namespace colonnade {
namespace {

std::shared_ptr<const Tensor> constant_input(const Graph& graph, const Node& node, std::size_t input) {
  const ValueId id = node.input(input);
  return id == kAbsent || !graph.value(id).constant ? nullptr : graph.value(id).constant->tensor();
}

template <class To, class From>
std::vector<To> converted(const Tensor& tensor) {
  const auto values = tensor.values<From>();
  std::vector<To> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](From value) { return static_cast<To>(value); });
  return result;
}

std::vector<float> converted_half(const Tensor& tensor, float (*convert)(std::uint16_t)) {
  const auto values = tensor.values<std::uint16_t>();
  std::vector<float> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), convert);
  return result;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (const ValueId id : graph.outputs) read[static_cast<std::size_t>(id)] = true;
  std::vector<bool> live(graph.nodes.size(), false);
  for (std::size_t index = graph.nodes.size(); index-- > 0;) {
    const Node& node = graph.nodes[index];
    live[index] = std::any_of(node.outputs.begin(), node.outputs.end(),
                              [&](ValueId id) { return id != kAbsent && read[static_cast<std::size_t>(id)]; });
    if (!live[index]) continue;
    for (const ValueId id : node.inputs) {
      if (id != kAbsent) read[static_cast<std::size_t>(id)] = true;
    }
  }
  return live;
}

template <class Visit>
void for_each_mention(Graph& graph, const Visit& visit) {
  for (auto* list : {&graph.inputs, &graph.outputs}) std::for_each(list->begin(), list->end(), visit);
  for (Node& node : graph.nodes) {
    for (auto* list : {&node.inputs, &node.outputs}) {
      for (ValueId& id : *list) {
        if (id != kAbsent) visit(id);
      }
    }
  }
}

}  // namespace

bool ValueType::is_static() const {
  return shape && std::all_of(shape->begin(), shape->end(), [](std::int64_t dim) { return dim >= 0; });
}

const Shape& ValueType::static_shape() const {
  if (!is_static()) fail(ErrorCode::internal, "the shape of {} is not known", to_text(*this));
  return *shape;
}

bool Graph::has_value(std::string_view its_name) const {
  return std::any_of(values.begin(), values.end(), [&](const Value& value) { return value.name == its_name; });
}

ValueId Graph::add_value(std::string name_hint, ValueType type) {
  const auto taken = [this](const std::string& its_name) { return has_value(its_name); };
  return add_value(std::move(name_hint), std::move(type), taken);
}

ValueId Graph::add_value(std::string name_hint, ValueType type, const std::function<bool(const std::string&)>& taken) {
  const ValueId id = static_cast<ValueId>(values.size());
  if (name_hint.empty()) name_hint = fmt::format("v{}", id);
  std::string fresh = name_hint;
  for (auto suffix = values.size(); taken(fresh); ++suffix) fresh = name_hint + "_" + std::to_string(suffix);
  values.push_back(Value{std::move(fresh), std::move(type), {}, nullptr});
  return id;
}

ValueId Graph::add_constant(std::string name_hint, Tensor tensor) {
  return add_constant(std::move(name_hint), std::make_shared<const Constant>(std::move(tensor)));
}

ValueId Graph::add_constant(std::string name_hint, std::shared_ptr<const Constant> constant) {
  const ValueId id = add_value(std::move(name_hint), ValueType{constant->dtype(), constant->shape()});
  value(id).constant = std::move(constant);
  return id;
}

ValueId Graph::add_ints(std::string name_hint, const Ints& ints) {
  return add_constant(std::move(name_hint), tensor_of(ints));
}

Tensor tensor_of(const Ints& ints) {
  Tensor tensor(DType::i64, {static_cast<std::int64_t>(ints.size())});
  std::copy(ints.begin(), ints.end(), tensor.values<std::int64_t>().begin());
  return tensor;
}

std::optional<Ints> constant_ints(const Graph& graph, const Node& node, std::size_t input) {
  const auto tensor = constant_input(graph, node, input);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::i64) return converted<std::int64_t, std::int64_t>(*tensor);
  if (tensor->dtype() == DType::i32) return converted<std::int64_t, std::int32_t>(*tensor);
  return std::nullopt;
}

std::optional<std::vector<float>> constant_floats(const Graph& graph, const Node& node, std::size_t input) {
  const auto tensor = constant_input(graph, node, input);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::f32) return converted<float, float>(*tensor);
  if (tensor->dtype() == DType::f64) return converted<float, double>(*tensor);
  if (tensor->dtype() == DType::f16) return converted_half(*tensor, f16_to_float);
  if (tensor->dtype() == DType::bf16) return converted_half(*tensor, bf16_to_float);
  return std::nullopt;
}

std::vector<Body*> bodies_in(Operator& op) {
  if (auto* branch = std::get_if<If>(&op)) return {&branch->then_branch, &branch->else_branch};
  if (auto* loop = std::get_if<Loop>(&op)) return {&loop->body};
  if (auto* scan = std::get_if<Scan>(&op)) return {&scan->body};
  return {};
}

std::vector<Body> bodies_of(const Operator& op) {
  if (const auto* branch = std::get_if<If>(&op)) return {branch->then_branch, branch->else_branch};
  if (const auto* loop = std::get_if<Loop>(&op)) return {loop->body};
  if (const auto* scan = std::get_if<Scan>(&op)) return {scan->body};
  return {};
}

std::vector<std::vector<std::int32_t>> consumers_of(const Graph& graph) {
  std::vector<std::vector<std::int32_t>> consumers(graph.values.size());
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    for (const ValueId id : graph.nodes[index].inputs) {
      if (id != kAbsent) consumers[static_cast<std::size_t>(id)].push_back(static_cast<std::int32_t>(index));
    }
  }
  return consumers;
}

void remove_dead(Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  if (std::find(live.begin(), live.end(), false) != live.end()) {
    std::vector<Node> nodes;
    for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
      if (live[index]) nodes.push_back(std::move(graph.nodes[index]));
    }
    graph.nodes = std::move(nodes);
  }

  std::vector<bool> mentioned(graph.values.size(), false);
  for_each_mention(graph, [&](ValueId& id) { mentioned[static_cast<std::size_t>(id)] = true; });
  if (std::find(mentioned.begin(), mentioned.end(), false) == mentioned.end()) return;
  std::vector<ValueId> renumbered(graph.values.size(), kAbsent);
  std::vector<Value> values;
  for (std::size_t index = 0; index < graph.values.size(); ++index) {
    if (!mentioned[index]) continue;
    renumbered[index] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[index]));
  }
  graph.values = std::move(values);
  for_each_mention(graph, [&](ValueId& id) { id = renumbered[static_cast<std::size_t>(id)]; });
}

}  // namespace colonnade
