// SPDX-License-Identifier: Apache-2.0
// Steps that move elements, or choose the larger of them, do so with bytes.
#include <algorithm>

#include "passes/bytes.hpp"
#include "passes/match.hpp"

namespace colonnade::rewrite {

bool takes_elements(const Node& node) {
  return std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Reshape>(node.op) ||
         std::holds_alternative<Flatten>(node.op) || std::holds_alternative<Squeeze>(node.op) ||
         std::holds_alternative<Unsqueeze>(node.op) || std::holds_alternative<Slice>(node.op) ||
         std::holds_alternative<Split>(node.op) || std::holds_alternative<Expand>(node.op) ||
         std::holds_alternative<Tile>(node.op) || std::holds_alternative<Gather>(node.op) ||
         std::holds_alternative<DepthToSpace>(node.op) || std::holds_alternative<SpaceToDepth>(node.op);
}

namespace {

/// Takes elements of its first input, and of nothing else, or the largest of some of them.
bool only_moves(const Node& node) {
  if (const auto* pool = std::get_if<Pool>(&node.op)) return pool->kind == PoolKind::max && node.outputs.size() == 1;
  if (const auto* resize = std::get_if<Resize>(&node.op))
    return resize->mode == ResizeMode::nearest && resize->coordinates != CoordinateMode::tf_crop_and_resize;
  return takes_elements(node);
}

/// A step that treats every byte alike: Dequantize or Quantize with one scale, Lookup.
bool is_elementwise(const Editor& editor, const Node& node) {
  if (std::holds_alternative<Lookup>(node.op)) return true;
  const bool scales = std::holds_alternative<Dequantize>(node.op) || std::holds_alternative<Quantize>(node.op);
  return scales && scale_of(editor, node).has_value();
}

/// move(step(x)) = step(move(x)), where x has no more bytes than what the step makes of it. The largest of bytes has
/// the largest number: scales are positive. A table may fall.
bool move_before_step(Editor& editor, int index) {
  if (!only_moves(editor.node(index))) return false;
  const Node node = editor.node(index);
  if (editor.producer(node.inputs[0]) < 0) return false;
  const Node step = editor.node(editor.producer(node.inputs[0]));
  const bool shrinks = std::holds_alternative<Quantize>(step.op);
  if (!is_elementwise(editor, step) || shrinks || editor.is_constant(step.inputs[0])) return false;
  if (std::holds_alternative<Pool>(node.op) && !std::holds_alternative<Dequantize>(step.op)) return false;
  Node moved = node;
  moved.inputs[0] = step.inputs[0];
  for (ValueId& output : moved.outputs) {
    if (output == kAbsent) continue;
    const Value& value = editor.value(output);
    output = editor.add_value(value.name, {editor.value(step.inputs[0]).type.dtype, value.type.shape});
  }
  editor.add_node(moved);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    std::vector<ValueId> inputs = step.inputs;
    inputs[0] = moved.outputs[i];
    editor.replace(node.outputs[i], editor.add(step.op, inputs, step));
  }
  return true;
}

bool moves_behind(const Node& node) {
  return only_moves(node) && !std::holds_alternative<Split>(node.op) && !std::holds_alternative<Pool>(node.op);
}

/// step(move(x)) = move(step(x)) for a Quantize that alone reads what is moved, maybe several times and through
/// functions of one number.
bool move_behind_quantize(Editor& editor, int index) {
  if (!editor.is_one_of<Quantize>(index)) return false;
  const Node node = editor.node(index);
  if (!is_elementwise(editor, node)) return false;
  std::vector<Node> moves, functions;
  ValueId x = node.inputs[0];
  while (editor.producer(x) >= 0 && editor.read_once(x)) {
    const Node& before = editor.node(editor.producer(x));
    const bool is_function = std::holds_alternative<Unary>(before.op);
    if (!is_function && !moves_behind(before)) break;
    (is_function ? functions : moves).push_back(before);
    x = before.inputs[0];
  }
  if (moves.empty()) return false;
  for (auto function = functions.rbegin(); function != functions.rend(); ++function)
    x = editor.add(function->op, {x}, *function);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = x;
  ValueId moved = editor.add(node.op, inputs, node);
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    move->inputs[0] = moved;
    moved = editor.add(move->op, move->inputs, *move);
  }
  editor.replace(node.outputs[0], moved);
  return true;
}

/// Parts that stand for numbers by one scale are joined as bytes.
bool join_bytes(Editor& editor, int index) {
  if (!editor.is_one_of<Concat>(index)) return false;
  const Node node = editor.node(index);
  std::vector<ValueId> bytes;
  std::optional<Quantised> first;
  for (const ValueId id : node.inputs) {
    const auto part = dequantised(editor, id);
    if (!part || (first && (part->scale != first->scale || part->zero != first->zero))) return false;
    if (!first) first = part;
    bytes.push_back(part->bytes);
  }
  if (!first) return false;
  const Node step = editor.node(editor.producer(node.inputs[0]));
  std::vector<ValueId> inputs = step.inputs;
  inputs[0] = editor.add(node.op, bytes, node);
  editor.replace(node.outputs[0], editor.add(step.op, inputs, step));
  return true;
}

/// A concatenation that is quantised joins quantised parts.
bool quantise_parts(Editor& editor, int index) {
  if (!editor.is_one_of<Quantize>(index)) return false;
  const Node node = editor.node(index);
  if (!is_elementwise(editor, node)) return false;
  if (editor.produced_by<Concat>(node.inputs[0]) == nullptr || !editor.read_once(node.inputs[0])) return false;
  const Node join = editor.node(editor.producer(node.inputs[0]));
  const auto known = [&](ValueId id) { return dequantised(editor, id).has_value(); };
  if (!std::all_of(join.inputs.begin(), join.inputs.end(), known)) return false;
  std::vector<ValueId> parts;
  for (const ValueId id : join.inputs) parts.push_back(editor.add(node.op, {id, node.inputs[1], node.input(2)}, node));
  editor.replace(node.outputs[0], editor.add(join.op, parts, join));
  return true;
}

}  // namespace

bool move_bytes(Editor& editor, int index) {
  return move_before_step(editor, index) || move_behind_quantize(editor, index) || join_bytes(editor, index) ||
         quantise_parts(editor, index);
}

}  // namespace colonnade::rewrite
