// SPDX-License-Identifier: Apache-2.0
// Convolutions of volumes whose window spans planes or pixels of a plane, not both: convolutions of images, by other
// shapes of the same memory. Networks of video write one of three dimensions as two such.
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::size_t kAxes = 3;  // planes, rows, columns

/// Its window takes one element along the axis, and each once.
bool is_single(const Conv& conv, const Ints& pads, std::size_t axis) {
  return conv.kernel[axis] == 1 && conv.strides[axis] == 1 && pads[axis] == 0 && pads[axis + kAxes] == 0;
}

/// The window along two axes.
Conv of_axes(const Conv& conv, const Ints& pads, std::size_t first, std::size_t second) {
  Conv flat = conv;
  flat.auto_pad = AutoPad::explicit_pads;
  flat.kernel = {conv.kernel[first], conv.kernel[second]};
  flat.strides = {conv.strides[first], conv.strides[second]};
  flat.dilations = {conv.dilations[first], conv.dilations[second]};
  flat.pads = {pads[first], pads[second], pads[first + kAxes], pads[second + kAxes]};
  return flat;
}

/// Planes are images of their own, or the rows of one image whose columns are a plane's pixels.
Shape flattened(const Shape& volume, bool planes_apart) {
  if (planes_apart) return {volume[0] * volume[1], volume[2], volume[3], volume[4]};
  return {volume[0], volume[1], volume[2] * volume[3], volume[4]};
}

bool as_images(Editor& editor, int index) {
  if (!editor.is_one_of<Conv>(index)) return false;
  const Node node = editor.node(index);
  const Conv conv = std::get<Conv>(node.op);
  const ValueType &x = editor.value(node.inputs[0]).type, &y = editor.value(node.outputs[0]).type;
  if (conv.kernel.size() != kAxes || !x.is_static() || !y.is_static() || !editor.is_constant(node.inputs[1]))
    return false;
  const Shape volume = *x.shape, result = *y.shape;
  if (element_count(volume) == 0 || element_count(result) == 0) return false;  // no size of a Reshape is 0
  const Ints pads = resolve_pads(conv, std::span(volume).subspan(1, kAxes));
  const bool pixels_alike = is_single(conv, pads, 1) && is_single(conv, pads, 2);
  const bool planes_apart = !pixels_alike && is_single(conv, pads, 0);
  if (!pixels_alike && !planes_apart) return false;
  const Conv flat = planes_apart ? of_axes(conv, pads, 1, 2) : of_axes(conv, pads, 0, 1);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = *add_reshape(editor, inputs[0], flattened(volume, planes_apart), node);
  const Shape weight = *editor.value(inputs[1]).type.shape;
  inputs[1] = *add_reshape(editor, inputs[1], {weight[0], weight[1], flat.kernel[0], flat.kernel[1]}, node);
  if (conv.epilogue.residual)
    inputs.back() = *add_reshape(editor, inputs.back(), flattened(result, planes_apart), node);
  editor.replace(node.outputs[0], *add_reshape(editor, editor.add(flat, inputs, node), result, node));
  return true;
}

}  // namespace

bool flatten_volumes(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) as_images(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
