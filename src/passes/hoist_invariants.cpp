// SPDX-License-Identifier: Apache-2.0
// What a loop computes anew though it is the same in every iteration. Only where a product is among it: the values then
// live as long as the loop.
#include <algorithm>

#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool is_product(const Operator& op) { return std::holds_alternative<MatMul>(op) || std::holds_alternative<Conv>(op); }

/// What may go, of floats: no more can be wrong with it than its operands' shapes.
bool may_go(const Operator& op) {
  return is_product(op) || std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) ||
         std::holds_alternative<Transpose>(op) || std::holds_alternative<Softmax>(op) ||
         std::holds_alternative<Reshape>(op) || std::holds_alternative<Unsqueeze>(op) ||
         std::holds_alternative<Squeeze>(op);
}

std::size_t first_capture(const Operator& op) {
  if (const auto* loop = std::get_if<Loop>(&op)) return static_cast<std::size_t>(loop->states) + 2;
  const auto* scan = std::get_if<Scan>(&op);
  return scan == nullptr ? 0 : static_cast<std::size_t>(scan->states + scan->scans);
}

/// By node of the body: its inputs are captures, constants or what such nodes make.
std::vector<bool> invariant_nodes(const Graph& body, std::size_t first) {
  std::vector<bool> invariant(body.values.size(), false), result;
  for (std::size_t i = first; i < body.inputs.size(); ++i) invariant[at(body.inputs[i])] = true;
  for (const Node& node : body.nodes) {
    if (node.outputs.empty() || node.outputs.front() == kAbsent) {
      result.push_back(false);
      continue;
    }
    const DType type = body.value(node.outputs.front()).type.dtype;  // whole numbers are not divided by zero
    const bool is_float = type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
    const bool is_invariant =
        is_float && may_go(node.op) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
          return id == kAbsent || body.value(id).constant || invariant[at(id)];
        });
    result.push_back(is_invariant);
    for (const ValueId id : node.outputs)
      if (id != kAbsent) invariant[at(id)] = is_invariant;
  }
  return result;
}

/// Values of the graph that stand for those of a body.
class Outside {
 public:
  Outside(Editor& editor, const Graph& body, std::size_t first, const Node& loop)
      : editor_(editor), body_(body), ids_(body.values.size(), kAbsent) {
    for (std::size_t i = first; i < body.inputs.size(); ++i) ids_[at(body.inputs[i])] = loop.inputs[i];
  }

  ValueId of(ValueId id) {
    if (id == kAbsent) return kAbsent;
    const Value& value = body_.value(id);
    if (ids_[at(id)] != kAbsent) return ids_[at(id)];
    return ids_[at(id)] = value.constant ? editor_.add_constant(value.name, value.constant)
                                         : editor_.add_value(value.name, value.type);
  }

  void add(const Node& node) {
    Node copy{node.op, {}, {}, node.name, node.origin};
    for (const ValueId id : node.inputs) copy.inputs.push_back(of(id));
    for (const ValueId id : node.outputs) copy.outputs.push_back(of(id));
    editor_.add_node(std::move(copy));
  }

 private:
  Editor& editor_;
  const Graph& body_;
  std::vector<ValueId> ids_;  ///< by value of the body
};

void hoist(Editor& editor, int index) {
  const Node loop = editor.node(index);
  const std::size_t first = first_capture(loop.op);
  if (first == 0) return;
  const Body body = bodies_of(loop.op).front();
  const std::vector<bool> goes = invariant_nodes(*body, first);
  bool has_product = false;
  for (std::size_t i = 0; i < goes.size(); ++i) has_product = has_product || (goes[i] && is_product(body->nodes[i].op));
  if (!has_product) return;
  Graph left = *body;
  left.nodes.clear();
  Outside outside(editor, *body, first, loop);
  std::vector<bool> is_read(body->values.size(), false);
  for (const ValueId id : body->outputs) is_read[at(id)] = true;
  for (std::size_t i = 0; i < goes.size(); ++i) {
    const Node& node = body->nodes[i];
    if (goes[i]) {
      outside.add(node);
      continue;
    }
    left.nodes.push_back(node);
    for (const ValueId id : node.inputs)
      if (id != kAbsent) is_read[at(id)] = true;
  }
  std::vector<ValueId> inputs = loop.inputs;
  for (std::size_t i = 0; i < goes.size(); ++i)
    for (const ValueId id : body->nodes[i].outputs) {
      if (!goes[i] || id == kAbsent || !is_read[at(id)]) continue;
      left.inputs.push_back(id);
      inputs.push_back(outside.of(id));
    }
  Operator op = loop.op;
  *bodies_in(op).front() = std::make_shared<const Graph>(std::move(left));
  editor.set_op(index, std::move(op));
  editor.set_inputs(index, std::move(inputs));
}

}  // namespace

bool hoist_invariants(Graph& graph) {
  Editor editor(graph);
  for (int index = 0; index < editor.node_count(); ++index)
    if (editor.is_one_of<Loop, Scan>(index) && editor.alive(index)) hoist(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
