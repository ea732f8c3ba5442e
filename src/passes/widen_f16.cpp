// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "passes/bytes.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
bool is_narrow(const ValueType& type) { return type.is_tensor() && is_narrow(type.dtype); }

/// The nodes that keep their types: those that take and give just the types that they were imported with, and those
/// that only move narrow elements from where they come in to where they go out.
class Kept {
 public:
  explicit Kept(const Editor& editor) : editor_(editor), nodes_(static_cast<std::size_t>(editor.node_count())) {
    for (int index = 0; index < editor.node_count(); ++index) {
      const Node& node = editor.node(index);
      const bool is_typed = std::holds_alternative<Opaque>(node.op) || !bodies_of(node.op).empty();
      nodes_[static_cast<std::size_t>(index)] = is_typed || moves_narrow(node);
    }
    std::vector<int> asked(nodes_.size());
    std::iota(asked.begin(), asked.end(), 0);
    while (!asked.empty()) {
      const int index = asked.back();
      asked.pop_back();
      const Node& node = editor.node(index);
      if (!holds(index) || !moves_narrow(node) || is_between(node)) continue;
      nodes_[static_cast<std::size_t>(index)] = false;
      for (const ValueId id : node.inputs)
        if (narrow(id) && editor.producer(id) >= 0) asked.push_back(editor.producer(id));
      for (const ValueId id : node.outputs)
        if (narrow(id)) asked.insert(asked.end(), editor.readers(id).begin(), editor.readers(id).end());
    }
  }

  /// Nodes that were added later are not among them.
  bool holds(int index) const {
    return static_cast<std::size_t>(index) < nodes_.size() && nodes_[static_cast<std::size_t>(index)];
  }
  bool has_reader(ValueId id) const {
    return std::ranges::any_of(editor_.readers(id), [&](int r) { return holds(r); });
  }
  bool has_other_reader(ValueId id) const {
    return !std::ranges::all_of(editor_.readers(id), [&](int r) { return holds(r); });
  }
  /// Comes from outside of what is widened: a graph input, or made by such a node.
  bool comes_in(ValueId id) const {
    const int producer = editor_.producer(id);
    return producer < 0 ? !editor_.is_constant(id) : holds(producer);
  }
  /// Leaves what is widened: a graph output, or read by such a node.
  bool goes_out(ValueId id) const { return editor_.is_output(id) || has_reader(id); }

 private:
  bool narrow(ValueId id) const { return id != kAbsent && is_narrow(editor_.value(id).type); }
  bool moves_narrow(const Node& node) const {
    const bool moves = takes_elements(node) || std::holds_alternative<Concat>(node.op);
    return moves && narrow(node.inputs[0]);
  }
  bool is_between(const Node& node) const {
    return std::ranges::all_of(node.inputs,
                               [&](ValueId id) { return !narrow(id) || editor_.is_constant(id) || comes_in(id); }) &&
           std::ranges::none_of(node.outputs, [&](ValueId id) { return narrow(id) && has_other_reader(id); });
  }

  const Editor& editor_;
  std::vector<char> nodes_;
};

bool is_boundary_cast(const Editor& editor, const Kept& kept, const Node& node) {
  const auto* cast = std::get_if<Cast>(&node.op);
  if (cast == nullptr) return false;
  const ValueId input = node.inputs[0], output = node.outputs[0];
  const auto& readers = editor.readers(output);
  const bool in = is_narrow(editor.value(input).type) && kept.comes_in(input) && cast->to == DType::f32;
  const bool out = is_narrow(cast->to) && kept.goes_out(output) &&
                   std::all_of(readers.begin(), readers.end(), [&](int r) { return kept.holds(r); });
  return in || out;
}

/// Narrow values anywhere but between borders and their casts.
bool has_narrow_inside(const Editor& editor, const Kept& kept) {
  for (int index = 0; index < editor.node_count(); ++index) {
    const Node& node = editor.node(index);
    if (kept.holds(index)) continue;
    if (is_boundary_cast(editor, kept, node)) {
      if (!is_narrow(std::get<Cast>(node.op).to) || !is_narrow(editor.value(node.inputs[0]).type)) continue;
    }
    const auto narrow = [&](ValueId id) { return id != kAbsent && is_narrow(editor.value(id).type); };
    const auto* unary = std::get_if<Unary>(&node.op);
    if (unary != nullptr && unary->kind == UnaryKind::identity && editor.is_output(node.outputs[0])) continue;
    if (std::any_of(node.inputs.begin(), node.inputs.end(), narrow)) return true;
    if (std::any_of(node.outputs.begin(), node.outputs.end(), narrow)) return true;
  }
  return false;
}

/// Readers that are not typed read `wide` in place of `id`.
void redirect(Editor& editor, const Kept& kept, ValueId id, ValueId wide) {
  const std::vector<int> readers = editor.readers(id);
  for (const int reader : readers) {
    if (kept.holds(reader)) continue;
    std::vector<ValueId> replaced = editor.node(reader).inputs;
    std::replace(replaced.begin(), replaced.end(), id, wide);
    editor.set_inputs(reader, std::move(replaced));
  }
}

void widen_incoming(Editor& editor, const Kept& kept) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!is_narrow(editor.value(id).type) || !kept.comes_in(id) || !kept.has_other_reader(id)) continue;
    const ValueId wide = editor.add_value(editor.value(id).name, {DType::f32, editor.value(id).type.shape});
    redirect(editor, kept, id, wide);
    editor.add_node({Cast{DType::f32}, {id}, {wide}, editor.value(id).name, "Cast"});
  }
}

void widen_constants(Editor& editor, const Kept& kept) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!editor.is_constant(id) || !is_narrow(editor.value(id).type) || !kept.has_other_reader(id)) continue;
    auto wide = widened_halves(editor.value(id).constant);
    if (kept.goes_out(id)) {
      redirect(editor, kept, id, editor.add_constant(editor.value(id).name, std::move(wide)));
    } else {
      editor.set_constant(id, std::move(wide));
    }
  }
}

/// Moves the producer of a narrow value that goes out to a wide value and casts that.
void detach_outgoing(Editor& editor, const Kept& kept) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    const int producer = editor.producer(id);
    if (producer < 0 || !is_narrow(editor.value(id).type) || !kept.goes_out(id)) continue;
    if (kept.holds(producer)) continue;
    const auto& slots = editor.node(producer).outputs;
    const auto slot = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), id) - slots.begin());
    const DType narrow = editor.value(id).type.dtype;
    const ValueId wide = editor.add_value(editor.value(id).name, {DType::f32, editor.value(id).type.shape});
    editor.set_output(producer, slot, wide);
    redirect(editor, kept, id, wide);
    editor.add_node({Cast{narrow}, {wide}, {id}, editor.value(id).name, "Cast"});
  }
}

}  // namespace

bool widen_f16(Graph& graph) {
  if (std::none_of(graph.values.begin(), graph.values.end(), [](const Value& value) { return is_narrow(value.type); }))
    return false;
  Editor editor(graph);
  const Kept kept(editor);
  if (!has_narrow_inside(editor, kept)) return false;
  widen_constants(editor, kept);
  widen_incoming(editor, kept);
  detach_outgoing(editor, kept);
  for (int index = 0; index < editor.node_count(); ++index) {
    if (kept.holds(index)) continue;
    const auto* cast = std::get_if<Cast>(&editor.node(index).op);
    const ValueId output = editor.node(index).outputs[0];
    if (cast != nullptr && is_narrow(cast->to) && !kept.goes_out(output)) editor.set_op(index, Cast{DType::f32});
    for (const ValueId id : std::vector<ValueId>(editor.node(index).outputs)) {
      if (id == kAbsent || kept.goes_out(id) || !is_narrow(editor.value(id).type)) continue;
      editor.set_type(id, {DType::f32, editor.value(id).type.shape});
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
