// SPDX-License-Identifier: Apache-2.0
// What the graph around a body knows, told to the body: which branch is taken, which captures are constant.
#include <algorithm>

#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// Marks an input that goes.
constexpr ValueId kSettled = kAbsent - 1;

/// The branch that the node always takes; null when that is not known.
Body taken_branch(const Editor& editor, const Node& node) {
  const auto* op = std::get_if<If>(&node.op);
  if (op == nullptr || !editor.is_constant(node.inputs[0])) return nullptr;
  const auto condition = editor.value(node.inputs[0]).constant->tensor();
  if (condition->dtype() != DType::boolean || condition->size() != 1) return nullptr;
  return condition->values<bool>().front() ? op->then_branch : op->else_branch;
}

/// Adds the body's nodes; answers its outputs as values of the graph. `captures`: what its inputs are.
std::vector<ValueId> add_nodes_of(Editor& editor, const Graph& body, std::span<const ValueId> captures) {
  std::vector<ValueId> mapped(body.values.size(), kAbsent);
  const auto at = [&](ValueId id) -> ValueId& { return mapped[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < body.inputs.size(); ++i) at(body.inputs[i]) = captures[i];
  const auto in_graph = [&](ValueId id) {
    if (id == kAbsent) return kAbsent;
    const Value& value = body.value(id);
    if (at(id) == kAbsent && value.constant) at(id) = editor.add_constant(value.name, value.constant);
    if (at(id) == kAbsent) at(id) = editor.add_value(value.name, value.type);
    return at(id);
  };
  for (const Node& node : body.nodes) {
    Node copy{node.op, {}, {}, node.name, node.origin};
    for (const ValueId id : node.inputs) copy.inputs.push_back(in_graph(id));
    for (const ValueId id : node.outputs) copy.outputs.push_back(in_graph(id));
    editor.add_node(std::move(copy));
  }
  std::vector<ValueId> outputs;
  for (const ValueId id : body.outputs) outputs.push_back(in_graph(id));
  return outputs;
}

/// Shapes that were inferred for both branches; inference makes them anew for the one that is left.
void infer_again(Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kAbsent) graph.value(id).type.shape.reset();
    }
  }
  infer_types(graph);
}

/// How many inputs a node with bodies has before its captures.
std::size_t own_inputs(const Operator& op) {
  if (std::holds_alternative<If>(op)) return 1;
  if (const auto* loop = std::get_if<Loop>(&op)) return static_cast<std::size_t>(loop->states) + 2;
  const auto& scan = std::get<Scan>(op);
  return static_cast<std::size_t>(scan.states + scan.scans);
}

std::vector<bool> read_values(const Graph& body) {
  std::vector<bool> read(body.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != kAbsent) read[static_cast<std::size_t>(id)] = true;
    }
  };
  mark(body.outputs);
  for (const Node& node : body.nodes) mark(node.inputs);
  return read;
}

/// A capture that the bodies need not be given: it is constant, or none of them reads it.
struct Settled {
  std::size_t from_end = 0;  ///< among the inputs of the node, and of each body
  std::shared_ptr<const Constant> constant;
};

std::vector<Settled> settled_captures(const Editor& editor, const Node& node) {
  std::vector<Settled> settled;
  const std::vector<Body> bodies = bodies_of(node.op);
  std::vector<std::vector<bool>> read;
  for (const Body& body : bodies) read.push_back(read_values(*body));
  for (std::size_t from_end = 0; from_end < node.inputs.size() - own_inputs(node.op); ++from_end) {
    const auto& constant = editor.value(*(node.inputs.rbegin() + static_cast<std::ptrdiff_t>(from_end))).constant;
    bool is_read = false;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const ValueId input = *(bodies[i]->inputs.rbegin() + static_cast<std::ptrdiff_t>(from_end));
      is_read = is_read || read[i][static_cast<std::size_t>(input)];
    }
    if (constant || !is_read) settled.push_back({from_end, constant});
  }
  return settled;
}

std::vector<ValueId> without(const std::vector<ValueId>& inputs, const std::vector<Settled>& settled) {
  std::vector<ValueId> kept = inputs;
  for (const Settled& each : settled) *(kept.rbegin() + static_cast<std::ptrdiff_t>(each.from_end)) = kSettled;
  kept.erase(std::remove(kept.begin(), kept.end(), kSettled), kept.end());
  return kept;
}

Body settled_body(const Graph& body, const std::vector<Settled>& settled) {
  Graph graph = body;
  graph.inputs = without(body.inputs, settled);
  for (const Settled& each : settled) {
    if (!each.constant) continue;
    Value& value = graph.value(*(body.inputs.rbegin() + static_cast<std::ptrdiff_t>(each.from_end)));
    value.constant = each.constant;
    value.type = {each.constant->dtype(), each.constant->shape()};
  }
  return std::make_shared<const Graph>(std::move(graph));
}

/// The value that another one is, behind nodes that do nothing.
ValueId behind_identities(const Graph& body, ValueId id) {
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    const auto* unary = std::get_if<Unary>(&node->op);
    const bool is_identity = unary != nullptr && unary->kind == UnaryKind::identity;
    if (is_identity && node->outputs.front() == id) id = node->inputs.front();
  }
  return id;
}

/// Where the states of a loop are among its body's inputs and outputs.
struct States {
  std::size_t first_input = 0, first_output = 0, count = 0;
};

States states_of(const Operator& op) {
  if (const auto* loop = std::get_if<Loop>(&op)) return {2, 1, static_cast<std::size_t>(loop->states)};
  if (const auto* scan = std::get_if<Scan>(&op)) return {0, 0, static_cast<std::size_t>(scan->states)};
  return {};
}

/// By state: every iteration passes it on as it is.
std::vector<bool> unchanged_states(const Graph& body, const States& states) {
  std::vector<bool> unchanged;
  for (std::size_t i = 0; i < states.count; ++i)
    unchanged.push_back(behind_identities(body, body.outputs[states.first_output + i]) ==
                        body.inputs[states.first_input + i]);
  return unchanged;
}

/// A list whose elements from `first` on, those that are marked, go to its end, or go.
std::vector<ValueId> parted(const std::vector<ValueId>& list, std::size_t first, const std::vector<bool>& marked,
                            bool go_to_end) {
  std::vector<ValueId> kept, moved;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_marked = i >= first && i - first < marked.size() && marked[i - first];
    (is_marked ? moved : kept).push_back(list[i]);
  }
  if (go_to_end) kept.insert(kept.end(), moved.begin(), moved.end());
  return kept;
}

/// States that never change become captures: weights, as Paddle's exports pass them on, are then constants.
void capture_unchanged(Editor& editor, int index) {
  const States states = states_of(editor.node(index).op);
  if (states.count == 0) return;
  const Node node = editor.node(index);
  const Graph& body = *bodies_of(node.op).front();
  const std::vector<bool> unchanged = unchanged_states(body, states);
  const auto count = std::count(unchanged.begin(), unchanged.end(), true);
  if (count == 0) return;
  Graph changed = body;
  changed.inputs = parted(body.inputs, states.first_input, unchanged, true);
  changed.outputs = parted(body.outputs, states.first_output, unchanged, false);
  Node copy{node.op, parted(node.inputs, states.first_input, unchanged, true), {}, node.name, node.origin};
  *bodies_in(copy.op).front() = std::make_shared<const Graph>(std::move(changed));
  if (auto* loop = std::get_if<Loop>(&copy.op)) loop->states -= count;
  if (auto* scan = std::get_if<Scan>(&copy.op)) scan->states -= count;
  for (const ValueId id : parted(node.outputs, 0, unchanged, false))
    copy.outputs.push_back(id == kAbsent ? kAbsent : editor.add_value(editor.value(id).name, editor.value(id).type));
  const std::vector<ValueId> outputs = copy.outputs;
  editor.add_node(std::move(copy));
  std::size_t next = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const bool is_initial = i < states.count && unchanged[i];
    const ValueId with = is_initial ? node.inputs[states.first_input + i] : outputs[next++];
    if (node.outputs[i] != kAbsent) editor.replace(node.outputs[i], with);
  }
}

void settle(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const std::vector<Settled> settled = settled_captures(editor, node);
  if (settled.empty()) return;
  Operator op = node.op;
  for (Body* body : bodies_in(op)) *body = settled_body(**body, settled);
  std::vector<ValueId> inputs = without(node.inputs, settled);
  editor.set_op(index, std::move(op));
  editor.set_inputs(index, std::move(inputs));
}

}  // namespace

bool inline_branches(Graph& graph) {
  Editor editor(graph);
  bool found = false;
  for (int index = 0; index < editor.node_count(); ++index) {
    if (!editor.alive(index)) continue;
    const Body branch = taken_branch(editor, editor.node(index));
    if (!branch) continue;
    found = true;
    const Node node = editor.node(index);
    const std::vector<ValueId> outputs = add_nodes_of(editor, *branch, std::span(node.inputs).subspan(1));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kAbsent) editor.replace(node.outputs[i], outputs[i]);
    }
  }
  if (!editor.finish() || !found) return false;
  infer_again(graph);
  return true;
}

bool settle_captures(Graph& graph) {
  Editor editor(graph);
  for (int index = 0; index < editor.node_count(); ++index) {
    if (editor.alive(index)) capture_unchanged(editor, index);
    if (editor.alive(index) && !bodies_of(editor.node(index).op).empty()) settle(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
