// SPDX-License-Identifier: Apache-2.0
// An input of open length with new rows behind it is appended to, so that no layout is chosen for what lies in the
// caller's memory, and so that a class of lengths may share a plan.
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::rewrite {
namespace {

bool grows(const Editor& editor, const Node& node, const Concat& op) {
  const ValueId past = node.inputs[0];
  if (node.inputs.size() != 2 || !editor.is_output(node.outputs[0]) || editor.producer(past) >= 0 ||
      editor.is_constant(past) || editor.value(past).type.dtype != DType::f32 || !has_rank(editor, past) ||
      !has_rank(editor, node.inputs[1]))
    return false;
  const Shape& shape = *editor.value(past).type.shape;
  const std::int64_t rank = std::ssize(shape);
  return rank >= 3 && normalize_axis(op.axis, rank, node) == rank - 2 && shape[shape.size() - 2] < 0;
}

}  // namespace

bool append_caches(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index) || !editor.is_one_of<Concat>(index)) continue;
    const Node node = editor.node(index);
    if (!grows(editor, node, std::get<Concat>(node.op))) continue;
    const auto rows = [&](ValueId id) { return editor.add(ShapeOf{.start = -2, .end = -1}, {id}, node); };
    const ValueId past = rows(node.inputs[0]);
    const ValueId all = editor.add(Binary{BinaryKind::add}, {past, rows(node.inputs[1])}, node);
    editor.replace(node.outputs[0], editor.add(make_opaque(reference::kAppend, 1, {}),
                                               {node.inputs[0], node.inputs[1], past, all}, node));
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
