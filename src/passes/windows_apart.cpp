// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions whose windows do not overlap: every output is a product of one input pixel.
#include <algorithm>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// Windows side by side, as wide as they lie apart, and nothing else fused but an activation.
bool is_apart(const Editor& editor, const Node& node, const ConvTranspose& op) {
  const ValueType &x = editor.value(node.inputs[0]).type, &weight = editor.value(node.inputs[1]).type;
  if (!x.is_static() || x.dtype != DType::f32 || !weight.is_static()) return false;
  const Ints window(weight.shape->begin() + 2, weight.shape->end());
  if (std::ranges::find(*weight.shape, 0) != weight.shape->end()) return false;
  return op.strides == window && all_are(op.dilations, 1) && all_are(op.pads, 0) && all_are(op.output_padding, 0) &&
         op.output_shape.empty() && op.auto_pad == AutoPad::explicit_pads && !op.epilogue.residual &&
         !op.epilogue.prelu_slope;
}

/// One factor a channel and element of the window.
ValueId by_channel(Editor& editor, const Node& node, const Shape& x, const Shape& weight) {
  const std::size_t axes = x.size() - 2;
  Shape pixels{x[0]}, factors;
  for (std::size_t i = 0; i < axes; ++i) {
    pixels.insert(pixels.end(), {x[i + 1], 1});
    factors.insert(factors.end(), {weight[i + 2], 1});
  }
  pixels.push_back(x.back());
  factors.back() = x.back();
  const Shape flat{weight[0], element_count(weight) / weight[0]};
  const ValueId turned = editor.add(Transpose{{1, 0}}, {*add_reshape(editor, node.inputs[1], flat, node)}, node);
  return editor.add(Binary{BinaryKind::mul},
                    {*add_reshape(editor, node.inputs[0], pixels, node), *add_reshape(editor, turned, factors, node)},
                    node);
}

/// A product whose columns are the channels of each element of the window, put in their places.
ValueId by_product(Editor& editor, const Node& node, const Shape& x, const Shape& weight) {
  const auto axes = static_cast<std::int64_t>(x.size()) - 2;
  Ints channels_last{0}, places{0};
  for (std::int64_t i = 0; i < axes; ++i) channels_last.push_back(i + 2);
  channels_last.push_back(1);
  for (std::int64_t i = 0; i < axes; ++i) places.insert(places.end(), {1 + i, 1 + axes + i});
  places.push_back(1 + 2 * axes);
  const ValueId turned = editor.add(Transpose{channels_last}, {node.inputs[1]}, node);
  const ValueId matrix = *add_reshape(editor, turned, {weight[0], element_count(weight) / weight[0]}, node);
  const ValueId product = editor.add(MatMul{}, {node.inputs[0], matrix}, node);
  Shape split(x.begin(), x.end() - 1);
  split.insert(split.end(), weight.begin() + 2, weight.end());
  split.push_back(weight[1]);
  return editor.add(Transpose{places}, {*add_reshape(editor, product, split, node)}, node);
}

bool multiply(Editor& editor, int index) {
  if (!editor.is_one_of<ConvTranspose>(index)) return false;
  const Node node = editor.node(index);
  const auto* found = std::get_if<ConvTranspose>(&node.op);
  if (!is_apart(editor, node, *found)) return false;
  const ConvTranspose op = *found;
  const Shape x = *editor.value(node.inputs[0]).type.shape, weight = *editor.value(node.inputs[1]).type.shape;
  const bool depthwise = op.groups == x.back() && weight[1] == 1;
  if (x.size() == 4 && editor.is_constant(node.inputs[1])) return false;  // rows of images have kernels
  if (!depthwise && op.groups != 1) return false;
  const ValueId apart = depthwise ? by_channel(editor, node, x, weight) : by_product(editor, node, x, weight);
  ValueId result = *add_reshape(editor, apart, *editor.value(node.outputs[0]).type.shape, node);
  if (node.input(2) != kAbsent) result = editor.add(Binary{BinaryKind::add}, {result, node.inputs[2]}, node);
  if (op.epilogue.activation.kind != UnaryKind::identity) result = editor.add(op.epilogue.activation, {result}, node);
  editor.replace(node.outputs[0], result);
  return true;
}

}  // namespace

bool windows_apart(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) multiply(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
