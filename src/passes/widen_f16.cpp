// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/half.hpp"
#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

std::shared_ptr<const Constant> widened(const std::shared_ptr<const Constant>& constant) {
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    const std::span values(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float));
    std::vector<std::uint16_t> narrow(values.size());
    constant->read(first, std::as_writable_bytes(std::span(narrow)));
    const auto widen = constant->dtype() == DType::f16 ? f16_to_float : bf16_to_float;
    std::transform(narrow.begin(), narrow.end(), values.begin(), widen);
  };
  return std::make_shared<const Constant>(DType::f32, constant->shape(), make);
}

bool is_boundary_cast(const Editor& editor, const Node& node) {
  const auto* cast = std::get_if<Cast>(&node.op);
  if (cast == nullptr) return false;
  const ValueId input = node.inputs[0], output = node.outputs[0];
  const bool from_input = is_narrow(editor.value(input).type.dtype) && editor.producer(input) < 0 &&
                          !editor.is_constant(input) && cast->to == DType::f32;
  const bool to_output = is_narrow(cast->to) && editor.is_output(output) && editor.readers(output).empty();
  return from_input || to_output;
}

/// Narrow values anywhere but between the graph's inputs or outputs and their casts.
bool has_narrow_inside(const Editor& editor) {
  for (const Node& node : editor.graph().nodes) {
    if (is_boundary_cast(editor, node)) {
      if (!is_narrow(std::get<Cast>(node.op).to) || !is_narrow(editor.value(node.inputs[0]).type.dtype)) continue;
    }
    const auto narrow = [&](ValueId id) { return id != kAbsent && is_narrow(editor.value(id).type.dtype); };
    const auto* unary = std::get_if<Unary>(&node.op);
    if (unary != nullptr && unary->kind == UnaryKind::identity && editor.is_output(node.outputs[0])) continue;
    if (std::any_of(node.inputs.begin(), node.inputs.end(), narrow)) return true;
    if (std::any_of(node.outputs.begin(), node.outputs.end(), narrow)) return true;
  }
  return false;
}

void widen_inputs(Editor& editor) {
  const std::vector<ValueId> inputs = editor.graph().inputs;
  for (const ValueId id : inputs) {
    if (!is_narrow(editor.value(id).type.dtype) || editor.readers(id).empty()) continue;
    const std::vector<int> readers = editor.readers(id);
    const Node like{Cast{}, {}, {}, editor.value(id).name, "Cast"};
    const ValueId wide = editor.add(Cast{DType::f32}, {id}, like);
    for (const int reader : readers) {
      std::vector<ValueId> replaced = editor.node(reader).inputs;
      std::replace(replaced.begin(), replaced.end(), id, wide);
      editor.set_inputs(reader, std::move(replaced));
    }
  }
}

void widen_constants(Editor& editor) {
  const auto count = static_cast<ValueId>(editor.graph().values.size());
  for (ValueId id = 0; id < count; ++id) {
    if (!editor.is_constant(id) || editor.is_output(id) || editor.readers(id).empty()) continue;
    if (is_narrow(editor.value(id).type.dtype)) editor.set_constant(id, widened(editor.value(id).constant));
  }
}

/// Moves the producer of a narrow graph output to a wide value and casts that to the output.
void detach_outputs(Editor& editor) {
  const std::vector<ValueId> outputs = editor.graph().outputs;
  for (const ValueId id : outputs) {
    const int producer = editor.producer(id);
    if (producer < 0 || !is_narrow(editor.value(id).type.dtype)) continue;
    const auto& slots = editor.node(producer).outputs;
    const auto slot = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), id) - slots.begin());
    const DType narrow = editor.value(id).type.dtype;
    const ValueId wide = editor.add_value(editor.value(id).name, {DType::f32, editor.value(id).type.shape});
    const std::vector<int> readers = editor.readers(id);
    editor.set_output(producer, slot, wide);
    for (const int reader : readers) {
      std::vector<ValueId> replaced = editor.node(reader).inputs;
      std::replace(replaced.begin(), replaced.end(), id, wide);
      editor.set_inputs(reader, std::move(replaced));
    }
    editor.add_node({Cast{narrow}, {wide}, {id}, editor.value(id).name, "Cast"});
  }
}

}  // namespace

bool widen_f16(Graph& graph) {
  Editor editor(graph);
  if (!has_narrow_inside(editor)) return false;
  widen_constants(editor);
  widen_inputs(editor);
  detach_outputs(editor);
  for (int index = 0; index < editor.node_count(); ++index) {
    const auto* cast = std::get_if<Cast>(&editor.node(index).op);
    const ValueId output = editor.node(index).outputs[0];
    if (cast != nullptr && is_narrow(cast->to) && !editor.is_output(output)) editor.set_op(index, Cast{DType::f32});
    for (const ValueId id : std::vector<ValueId>(editor.node(index).outputs)) {
      if (id == kAbsent || editor.is_output(id) || !is_narrow(editor.value(id).type.dtype)) continue;
      editor.set_type(id, {DType::f32, editor.value(id).type.shape});
    }
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
