// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions that rows of images have no kernel for (volumes, dilated windows, computed weights): a
// product makes what each input pixel adds, and Col2Im adds it up.
#include <algorithm>

#include "base/lists.hpp"
#include "graph/windows.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::rewrite {
namespace {

/// Sizes of [images, spatial, channels] and of [channels, channels of a group, window].
struct WindowSizes {
  Shape x, weight, out;
  std::int64_t pixels() const { return element_count(std::span(x).subspan(1, x.size() - 2)); }
  std::int64_t taps() const { return element_count(std::span(weight).subspan(2)); }
};

/// Whether no kernel takes it, and windows lie on images as Col2Im counts them.
bool is_left(const Editor& editor, const Node& node, const ConvTranspose& op) {
  const ValueType &x = editor.value(node.inputs[0]).type, &weight = editor.value(node.inputs[1]).type;
  const ValueType& out = editor.value(node.outputs[0]).type;
  if (!x.is_static() || !weight.is_static() || !out.is_static() || x.dtype != DType::f32) return false;
  if (element_count(*x.shape) * element_count(*weight.shape) * element_count(*out.shape) == 0) return false;
  const bool dilated = std::ranges::any_of(op.dilations, [](std::int64_t d) { return d != 1; });
  if (x.shape->size() == 4 && !dilated && editor.is_constant(node.inputs[1])) return false;
  const std::size_t axes = x.shape->size() - 2;
  const std::vector<WindowAxis> windows = window_axes(op, std::span(*x.shape).subspan(1, axes));
  for (std::size_t i = 0; i < axes; ++i) {
    const WindowAxis& axis = windows[i];
    const std::int64_t padded = (*out.shape)[i + 1] + axis.pad_begin + axis.pad_end;
    if (axis.pad_begin < 0 || axis.pad_end < 0 || padded < axis.extent()) return false;
    if ((padded - axis.extent()) / axis.stride + 1 != (*x.shape)[i + 1]) return false;
  }
  return true;
}

/// [images, channels of all windows, pixels]: a matrix of a group times pixels of its channels.
ValueId products(Editor& editor, const Node& node, const WindowSizes& sizes, std::int64_t groups) {
  const std::int64_t images = sizes.x.front(), channels = sizes.x.back(), pixels = sizes.pixels();
  const std::int64_t columns = sizes.weight[1] * sizes.taps();
  MatMul product;
  product.transpose_a = true;
  if (groups == 1) {
    const ValueId x = *add_reshape(editor, node.inputs[0], {images, pixels, channels}, node);
    const ValueId matrix = *add_reshape(editor, node.inputs[1], {channels, columns}, node);
    product.transpose_b = true;
    return editor.add(product, {matrix, x}, node);
  }
  const ValueId x = *add_reshape(editor, node.inputs[0], {images, pixels, groups, channels / groups}, node);
  const ValueId matrices = *add_reshape(editor, node.inputs[1], {groups, channels / groups, columns}, node);
  const ValueId by_group = editor.add(Transpose{{0, 2, 3, 1}}, {x}, node);
  const ValueId columns_of_groups = editor.add(product, {matrices, by_group}, node);
  return *add_reshape(editor, columns_of_groups, {images, groups * columns, pixels}, node);
}

ValueId added_up(Editor& editor, const Node& node, const ConvTranspose& op, const WindowSizes& sizes, ValueId columns) {
  const std::size_t axes = sizes.x.size() - 2;
  Ints strides, dilations, pads(2 * axes);
  for (const WindowAxis& axis : window_axes(op, std::span(sizes.x).subspan(1, axes))) {
    pads[strides.size()] = axis.pad_begin, pads[strides.size() + axes] = axis.pad_end;
    strides.push_back(axis.stride), dilations.push_back(axis.dilation);
  }
  const Ints image(sizes.out.begin() + 1, sizes.out.end() - 1), block(sizes.weight.begin() + 2, sizes.weight.end());
  const auto constant = [&](const Ints& values) { return editor.add_constant(node.name, ints_tensor(values)); };
  constexpr std::int64_t kOpset = 18;
  const Opaque add{&reference::kCol2Im, kOpset, {{"strides", strides}, {"dilations", dilations}, {"pads", pads}}};
  return editor.add(add, {columns, constant(image), constant(block)}, node);
}

/// What was fused into the sums, operator by operator.
ValueId with_epilogue(Editor& editor, const Node& node, const FusedEpilogue& epilogue, ValueId sums) {
  const ValueId residual = node.inputs.back();
  const ValueId slope = node.inputs[node.inputs.size() - (epilogue.residual ? 2 : 1)];
  if (epilogue.residual && !epilogue.residual_after) sums = editor.add(Binary{BinaryKind::add}, {sums, residual}, node);
  if (epilogue.prelu_slope)
    sums = editor.add(Binary{BinaryKind::prelu}, {sums, slope}, node);
  else if (epilogue.activation.kind != UnaryKind::identity)
    sums = editor.add(epilogue.activation, {sums}, node);
  if (epilogue.residual && epilogue.residual_after) sums = editor.add(Binary{BinaryKind::add}, {sums, residual}, node);
  return sums;
}

bool sum_windows(Editor& editor, int index) {
  if (!editor.is_one_of<ConvTranspose>(index)) return false;
  const Node node = editor.node(index);
  const ConvTranspose op = std::get<ConvTranspose>(node.op);
  if (!is_left(editor, node, op)) return false;
  const WindowSizes sizes{*editor.value(node.inputs[0]).type.shape, *editor.value(node.inputs[1]).type.shape,
                          *editor.value(node.outputs[0]).type.shape};
  const ValueId image = added_up(editor, node, op, sizes, products(editor, node, sizes, op.groups));
  Ints channels_last{0};
  for (std::size_t axis = 2; axis < sizes.x.size(); ++axis) channels_last.push_back(static_cast<std::int64_t>(axis));
  channels_last.push_back(1);
  ValueId result = editor.add(Transpose{channels_last}, {image}, node);
  if (node.input(2) != kAbsent) result = editor.add(Binary{BinaryKind::add}, {result, node.inputs[2]}, node);
  editor.replace(node.outputs[0], with_epilogue(editor, node, op.epilogue, result));
  return true;
}

}  // namespace

bool windows_summed(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) sum_windows(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
