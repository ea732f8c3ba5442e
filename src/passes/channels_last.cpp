// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/flatten_weights.hpp"
#include "passes/layout_ops.hpp"
#include "passes/layout_search.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"
#include "passes/transposes.hpp"

namespace colonnade::rewrite {
namespace {

/// Reductions that drop axes of values of rank 3 and above keep them, and a Reshape drops them.
bool keep_reduced_axes(Editor& editor, int index) {
  if (!editor.is_one_of<Reduce, ArgReduce>(index)) return false;
  const Node node = editor.node(index);
  const auto* reduce = std::get_if<Reduce>(&node.op);
  const auto* arg = std::get_if<ArgReduce>(&node.op);
  const bool drops = (reduce != nullptr && !reduce->keepdims) || (arg != nullptr && !arg->keepdims);
  if (!drops || !has_rank(editor, node.inputs[0]) || rank_of(editor, node.inputs[0]) < 3) return false;
  if (reduce != nullptr && !reduce_axes(editor, node)) return false;
  if (!has_rank(editor, node.outputs[0])) return false;
  const Shape shape = *editor.value(node.outputs[0]).type.shape;
  if (!reshape_target(shape)) return false;
  Operator op = node.op;
  if (auto* kept = std::get_if<Reduce>(&op)) kept->keepdims = true;
  if (auto* kept = std::get_if<ArgReduce>(&op)) kept->keepdims = true;
  const ValueId whole = editor.add(std::move(op), node.inputs, node);
  editor.replace(node.outputs[0], *add_reshape(editor, whole, shape, node));
  return true;
}

/// Carries out a choice of layouts: permuted twins of values, nodes that work on twins, Transposes between twins and
/// values.
class Relayouter {
 public:
  Relayouter(Editor& editor, const Layouts& layouts) : editor_(editor), layouts_(layouts) {
    for (const Node& node : editor.graph().nodes) {
      inputs_.push_back(node.inputs);
      outputs_.push_back(node.outputs);
    }
    const auto count = static_cast<ValueId>(editor.graph().values.size());
    twin_.assign(static_cast<std::size_t>(count), kAbsent);
    for (ValueId id = 0; id < count; ++id) {
      const Ints* perm = layouts.of(id);
      if (perm == nullptr) continue;
      const Value value = editor.value(id);
      twin_[static_cast<std::size_t>(id)] =
          editor.add_value(value.name, {value.type.dtype, permuted(*value.type.shape, *perm)});
    }
  }

  void run() {
    const int count = editor_.node_count();
    std::vector<char> made(twin_.size(), 0);
    for (int index = 0; index < count; ++index) {
      const bool moved = relay_flexible(index) || relay_reshape(index);
      for (const ValueId id : outputs_[static_cast<std::size_t>(index)]) {
        if (id != kAbsent && moved) made[static_cast<std::size_t>(id)] = 1;
      }
    }
    for (ValueId id = 0; id < static_cast<ValueId>(twin_.size()); ++id) {
      if (twin(id) == kAbsent || made[static_cast<std::size_t>(id)]) continue;
      const int producer = editor_.producer(id);
      const std::string name = producer < 0 ? editor_.value(id).name : editor_.node(producer).name;
      editor_.add_node({Transpose{*layouts_.of(id)}, {id}, {twin(id)}, name, "Transpose"});
    }
  }

 private:
  ValueId twin(ValueId id) const {
    return id == kAbsent || static_cast<std::size_t>(id) >= twin_.size() ? kAbsent
                                                                         : twin_[static_cast<std::size_t>(id)];
  }

  /// The value comes from its twin from now on.
  void derive(ValueId id, const Node& like) {
    editor_.replace(id, editor_.add(Transpose{inverse(*layouts_.of(id))}, {twin(id)}, like));
  }

  bool relay_flexible(int index) {
    Node node = editor_.node(index);
    const auto& outputs = outputs_[static_cast<std::size_t>(index)];
    const auto output = std::find_if(outputs.begin(), outputs.end(), [](ValueId id) { return id != kAbsent; });
    if (output == outputs.end() || twin(*output) == kAbsent) return false;
    const auto use = flexible_use(editor_, node);
    if (!use || use->members.empty()) return false;
    const Ints perm = *layouts_.of(*output);
    Node copy = relaid(editor_, node, perm);
    const bool broadcasts = std::holds_alternative<Binary>(node.op) || std::holds_alternative<Select>(node.op);
    // the values before any change have twins; what is no member may come from elsewhere by now
    const auto& before = inputs_[static_cast<std::size_t>(index)];
    for (const std::size_t member : use->members) copy.inputs[member] = twin(before[member]);
    for (const std::size_t input : use->lifted) copy.inputs[input] = lift(node.inputs[input], perm, broadcasts, node);
    for (ValueId& id : copy.outputs) id = twin(id);
    editor_.add_node(copy);
    for (const ValueId id : outputs) {
      if (id != kAbsent) derive(id, node);
    }
    return true;
  }

  bool relay_reshape(int index) {
    Node node = editor_.node(index);
    if (!std::holds_alternative<Reshape>(node.op)) return false;
    const ValueId now = node.inputs[0];
    node.inputs = inputs_[static_cast<std::size_t>(index)];
    node.outputs = outputs_[static_cast<std::size_t>(index)];
    const ValueId from = twin(node.inputs[0]), to = twin(node.outputs[0]);
    if ((from == kAbsent && to == kAbsent) || !is_linked(editor_, node, layouts_)) return false;
    const Shape shape = *editor_.value(to == kAbsent ? node.outputs[0] : to).type.shape;
    const Ints target = *reshape_target(shape);
    const bool allow_zero = std::count(target.begin(), target.end(), 0) > 0;
    const std::vector<ValueId> inputs{from == kAbsent ? now : from, editor_.add_ints(node.name + "_shape", target)};
    if (to == kAbsent) {
      editor_.replace(node.outputs[0], editor_.add(Reshape{allow_zero}, inputs, node));
    } else {
      editor_.add_node({Reshape{allow_zero}, inputs, {to}, node.name, node.origin});
      derive(node.outputs[0], node);
    }
    return true;
  }

  /// An operand that broadcasts against permuted values; leading axes of size 1 of constants are left out.
  ValueId lift(ValueId id, const Ints& perm, bool broadcasts, const Node& like) {
    const Shape own = *editor_.value(id).type.shape;
    Shape whole(perm.size() - own.size(), 1);
    whole.insert(whole.end(), own.begin(), own.end());
    if (!editor_.is_constant(id)) {
      const ValueId reshaped = own == whole ? id : *add_reshape(editor_, id, whole, like);
      return editor_.add(Transpose{perm}, {reshaped}, like);
    }
    const Constant& constant = *editor_.value(id).constant;
    if (constant.size() == 1 && broadcasts) return id;
    Tensor moved = transposed(Tensor(*constant.tensor()).reshaped(whole), perm);
    if (broadcasts) {
      Shape shape = moved.shape();
      const auto first = std::find_if(shape.begin(), shape.end() - 1, [](std::int64_t size) { return size != 1; });
      moved = std::move(moved).reshaped(Shape(first, shape.end()));
    }
    return editor_.add_constant(std::string(editor_.value(id).name), std::move(moved));
  }

  Editor& editor_;
  const Layouts& layouts_;
  std::vector<ValueId> twin_;
  std::vector<std::vector<ValueId>> inputs_, outputs_;  // of the nodes before any change
};

bool apply(Graph& graph, bool (*rule)(Editor&, int)) {
  Editor editor(graph);
  for (int index = 0; index < editor.node_count(); ++index) {
    if (editor.alive(index)) rule(editor, index);
  }
  return editor.finish();
}

bool simplify(Editor& editor, int index) {
  while (editor.alive(index) && merge_transposes(editor, index)) continue;
  if (!editor.alive(index)) return true;
  return share_transpose(editor, index) || transpose_to_reshape(editor, index) || shape_before_transpose(editor, index);
}

bool relayout(Graph& graph) {
  const auto is_transpose = [](const Node& node) { return std::holds_alternative<Transpose>(node.op); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_transpose)) return false;
  Editor editor(graph);
  const Layouts layouts = choose_layouts(editor);
  const auto moves = [](const Ints& perm) { return !is_identity(perm); };
  if (std::none_of(layouts.perm.begin(), layouts.perm.end(), moves)) return false;
  Relayouter(editor, layouts).run();
  return editor.finish();
}

}  // namespace

bool channels_last(Graph& graph) {
  bool changed = apply(graph, keep_reduced_axes);
  changed |= apply(graph, simplify);
  if (relayout(graph)) {
    changed = true;
    apply(graph, simplify);
  }
  changed |= apply(graph, flatten_into_weights);
  return changed;
}

}  // namespace colonnade::rewrite
