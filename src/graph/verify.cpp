// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "graph/graph.hpp"

namespace colonnade {
namespace {

template <class... Args>
[[noreturn]] void broken(const Graph& graph, fmt::format_string<Args...> format, Args&&... args) {
  fail(ErrorCode::internal, "graph '{}' is broken: {}", graph.name, fmt::format(format, std::forward<Args>(args)...));
}

void check_id(const Graph& graph, ValueId id, std::string_view user) {
  if (id < 0 || static_cast<std::size_t>(id) >= graph.values.size()) {
    broken(graph, "{} mentions value {} of {}", user, id, graph.values.size());
  }
}

void check_values(const Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Value& value : graph.values) {
    if (value.name.empty()) broken(graph, "a value has no name");
    if (!names.insert(value.name).second) broken(graph, "two values are named '{}'", value.name);
    if (!value.constant) continue;
    const ValueType actual{value.constant->dtype(), value.constant->shape()};
    if (value.type != actual) {
      broken(graph, "constant '{}' is typed {}, its tensor is {}", value.name, to_text(value.type), to_text(actual));
    }
  }
}

/// Marks the value as having a producer: nodes, graph inputs and constants are one each.
void define(const Graph& graph, ValueId id, std::vector<bool>& defined, std::string_view producer) {
  if (defined[static_cast<std::size_t>(id)]) {
    broken(graph, "value '{}' of {} has another producer", graph.value(id).name, producer);
  }
  defined[static_cast<std::size_t>(id)] = true;
}

std::vector<bool> defined_before_nodes(const Graph& graph) {
  std::vector<bool> defined(graph.values.size());
  for (std::size_t index = 0; index < graph.values.size(); ++index)
    defined[index] = graph.values[index].constant != nullptr;
  for (const ValueId id : graph.inputs) {
    check_id(graph, id, "the input list");
    define(graph, id, defined, "the input list");
  }
  return defined;
}

bool contradict(const ValueType& recorded, const ValueType& inferred) {
  if (recorded.dtype != inferred.dtype && inferred.dtype != DType::undefined) return true;
  if (!recorded.shape || !inferred.shape) return false;
  return !std::equal(recorded.shape->begin(), recorded.shape->end(), inferred.shape->begin(), inferred.shape->end(),
                     [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; });
}

void check_types(const Graph& graph, const Node& node) {
  std::vector<ValueType> types;
  try {
    types = infer_types(graph, node);
  } catch (const Error& error) {
    broken(graph, "{}", error.what());
  }
  for (std::size_t output = 0; output < node.outputs.size(); ++output) {
    if (node.outputs[output] == kAbsent) continue;
    const Value& value = graph.value(node.outputs[output]);
    if (contradict(value.type, types[output])) {
      broken(graph, "value '{}' of node '{}' is typed {}, inference gives {}", value.name, node.name,
             to_text(value.type), to_text(types[output]));
    }
  }
}

void check_node(const Graph& graph, const Node& node, std::vector<bool>& defined) {
  if (node.name.empty()) broken(graph, "a {} node has no name", name_of(node.op));
  const std::string user = "node '" + node.name + "'";
  for (const ValueId id : node.inputs) {
    if (id == kAbsent) continue;
    check_id(graph, id, user);
    if (!defined[static_cast<std::size_t>(id)])
      broken(graph, "{} reads '{}' before it is made", user, graph.value(id).name);
  }
  if (node.outputs.empty()) broken(graph, "{} has no outputs", user);
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    check_id(graph, id, user);
    define(graph, id, defined, user);
  }
  check_types(graph, node);
  for (const Body& body : bodies_of(node.op)) verify(*body);
}

}  // namespace

void verify(const Graph& graph) {
  check_values(graph);
  std::vector<bool> defined = defined_before_nodes(graph);
  for (const Node& node : graph.nodes) check_node(graph, node, defined);
  for (const ValueId id : graph.outputs) {
    check_id(graph, id, "the output list");
    if (!defined[static_cast<std::size_t>(id)]) broken(graph, "output '{}' is made by no node", graph.value(id).name);
  }
}

}  // namespace colonnade
