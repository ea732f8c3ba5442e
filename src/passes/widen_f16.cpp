// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/bytes.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
bool is_narrow(const ValueType& type) { return type.is_tensor() && is_narrow(type.dtype); }

/// The node takes and gives just the types that it was imported with.
bool is_typed(const Node& node) { return std::holds_alternative<Opaque>(node.op) || !bodies_of(node.op).empty(); }

bool has_typed_reader(const Editor& editor, ValueId id) {
  const auto& readers = editor.readers(id);
  return std::any_of(readers.begin(), readers.end(), [&](int reader) { return is_typed(editor.node(reader)); });
}

/// Comes from outside of what is widened: a graph input, or made by a typed node.
bool comes_in(const Editor& editor, ValueId id) {
  const int producer = editor.producer(id);
  return producer < 0 ? !editor.is_constant(id) : is_typed(editor.node(producer));
}

/// Leaves what is widened: a graph output, or read by a typed node.
bool goes_out(const Editor& editor, ValueId id) { return editor.is_output(id) || has_typed_reader(editor, id); }

bool is_boundary_cast(const Editor& editor, const Node& node) {
  const auto* cast = std::get_if<Cast>(&node.op);
  if (cast == nullptr) return false;
  const ValueId input = node.inputs[0], output = node.outputs[0];
  const auto& readers = editor.readers(output);
  const bool in = is_narrow(editor.value(input).type) && comes_in(editor, input) && cast->to == DType::f32;
  const bool out = is_narrow(cast->to) && goes_out(editor, output) &&
                   std::all_of(readers.begin(), readers.end(), [&](int r) { return is_typed(editor.node(r)); });
  return in || out;
}

/// Narrow values anywhere but between borders and their casts.
bool has_narrow_inside(const Editor& editor) {
  for (const Node& node : editor.graph().nodes) {
    if (is_typed(node)) continue;
    if (is_boundary_cast(editor, node)) {
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
void redirect(Editor& editor, ValueId id, ValueId wide) {
  const std::vector<int> readers = editor.readers(id);
  for (const int reader : readers) {
    if (is_typed(editor.node(reader))) continue;
    std::vector<ValueId> replaced = editor.node(reader).inputs;
    std::replace(replaced.begin(), replaced.end(), id, wide);
    editor.set_inputs(reader, std::move(replaced));
  }
}

bool has_other_reader(const Editor& editor, ValueId id) {
  const auto& readers = editor.readers(id);
  return std::any_of(readers.begin(), readers.end(), [&](int reader) { return !is_typed(editor.node(reader)); });
}

void widen_incoming(Editor& editor) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!is_narrow(editor.value(id).type) || !comes_in(editor, id) || !has_other_reader(editor, id)) continue;
    const ValueId wide = editor.add_value(editor.value(id).name, {DType::f32, editor.value(id).type.shape});
    redirect(editor, id, wide);
    editor.add_node({Cast{DType::f32}, {id}, {wide}, editor.value(id).name, "Cast"});
  }
}

void widen_constants(Editor& editor) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!editor.is_constant(id) || !is_narrow(editor.value(id).type) || !has_other_reader(editor, id)) continue;
    auto wide = widened_halves(editor.value(id).constant);
    if (goes_out(editor, id)) {
      redirect(editor, id, editor.add_constant(editor.value(id).name, std::move(wide)));
    } else {
      editor.set_constant(id, std::move(wide));
    }
  }
}

/// Moves the producer of a narrow value that goes out to a wide value and casts that.
void detach_outgoing(Editor& editor) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    const int producer = editor.producer(id);
    if (producer < 0 || !is_narrow(editor.value(id).type) || !goes_out(editor, id)) continue;
    if (is_typed(editor.node(producer))) continue;
    const auto& slots = editor.node(producer).outputs;
    const auto slot = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), id) - slots.begin());
    const DType narrow = editor.value(id).type.dtype;
    const ValueId wide = editor.add_value(editor.value(id).name, {DType::f32, editor.value(id).type.shape});
    editor.set_output(producer, slot, wide);
    redirect(editor, id, wide);
    editor.add_node({Cast{narrow}, {wide}, {id}, editor.value(id).name, "Cast"});
  }
}

}  // namespace

bool widen_f16(Graph& graph) {
  Editor editor(graph);
  if (!has_narrow_inside(editor)) return false;
  widen_constants(editor);
  widen_incoming(editor);
  detach_outgoing(editor);
  for (int index = 0; index < editor.node_count(); ++index) {
    if (is_typed(editor.node(index))) continue;
    const auto* cast = std::get_if<Cast>(&editor.node(index).op);
    const ValueId output = editor.node(index).outputs[0];
    if (cast != nullptr && is_narrow(cast->to) && !goes_out(editor, output)) editor.set_op(index, Cast{DType::f32});
    for (const ValueId id : std::vector<ValueId>(editor.node(index).outputs)) {
      if (id == kAbsent || goes_out(editor, id) || !is_narrow(editor.value(id).type)) continue;
      editor.set_type(id, {DType::f32, editor.value(id).type.shape});
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
