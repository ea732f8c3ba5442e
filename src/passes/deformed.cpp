// SPDX-License-Identifier: Apache-2.0
// Deformable convolutions are samples of the image, one a tap, and a product of them: both have kernels.
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/sliding.hpp"

namespace colonnade::rewrite {
namespace {

using reference::Deformed;

/// The shapes of a DeformConv that can be written so.
struct Shapes {
  Shape x, weight, out;
  std::int64_t positions() const { return out[2] * out[3]; }
};

bool is_float(const Editor& editor, ValueId id) {
  const ValueType& type = editor.value(id).type;
  return type.is_static() && type.dtype == DType::f32 && element_count(*type.shape) > 0;
}

/// Where each tap of each position lies without its offset, and what an offset of a pixel is, in GridSample's numbers:
/// the image reaches from -1 to 1. [taps, positions, 2] and [2], x first.
struct Places {
  Tensor base, pixel;
};
Places places_of(const Deformed& read, const Shapes& shapes) {
  Places places{Tensor(DType::f32, {read.taps(), shapes.positions(), 2}), Tensor(DType::f32, {2})};
  const double height = static_cast<double>(shapes.x[2]), width = static_cast<double>(shapes.x[3]);
  places.pixel.values<float>()[0] = static_cast<float>(2 / width);
  places.pixel.values<float>()[1] = static_cast<float>(2 / height);
  float* to = places.base.values<float>().data();
  for (std::int64_t tap = 0; tap < read.taps(); ++tap)
    for (std::int64_t p = 0; p < shapes.positions(); ++p) {
      const std::int64_t row = read.window.pixel(0, p / shapes.out[3], tap / read.window.kernel[1]);
      const std::int64_t column = read.window.pixel(1, p % shapes.out[3], tap % read.window.kernel[1]);
      *to++ = static_cast<float>((2 * static_cast<double>(column) + 1) / width - 1);
      *to++ = static_cast<float>((2 * static_cast<double>(row) + 1) / height - 1);
    }
  return places;
}

/// [N * offset groups, taps, positions, 2], x first.
ValueId grid_of(Editor& editor, const Node& node, const Deformed& read, const Shapes& shapes) {
  const Shape pairs{shapes.x[0] * read.offset_groups, read.taps(), 2, shapes.positions()};
  const ValueId offsets = *add_reshape(editor, node.inputs[2], pairs, node);
  const ValueId swapped = editor.add(Gather{2}, {offsets, editor.add_ints(node.name + "_x_first", {1, 0})}, node);
  const ValueId turned = editor.add(Transpose{{0, 1, 3, 2}}, {swapped}, node);
  Places places = places_of(read, shapes);
  const ValueId pixel = editor.add_constant(node.name + "_pixel", std::move(places.pixel));
  const ValueId base = editor.add_constant(node.name + "_base", std::move(places.base));
  return editor.add(Binary{BinaryKind::add}, {editor.add(Binary{BinaryKind::mul}, {turned, pixel}, node), base}, node);
}

/// What the taps of all positions see: [N, channels * taps, positions], in groups [N, groups, ...].
ValueId columns_of(Editor& editor, const Node& node, const Deformed& read, const Shapes& shapes) {
  const std::int64_t images = shapes.x[0] * read.offset_groups, channels = shapes.x[1] / read.offset_groups;
  const ValueId image = *add_reshape(editor, node.inputs[0], {images, channels, shapes.x[2], shapes.x[3]}, node);
  const ValueId grid = grid_of(editor, node, read, shapes);
  const ValueId rows = *add_reshape(editor, grid, {images, read.taps() * shapes.out[2], shapes.out[3], 2}, node);
  ValueId seen = editor.add(GridSample{}, {image, rows}, node);
  if (node.input(4) != kAbsent) {
    const Shape shape{images, 1, read.taps() * shapes.out[2], shapes.out[3]};
    seen = editor.add(Binary{BinaryKind::mul}, {seen, *add_reshape(editor, node.inputs[4], shape, node)}, node);
  }
  const std::int64_t terms = shapes.x[1] / read.groups * read.taps();
  Shape shape{shapes.x[0], read.groups, terms, shapes.positions()};
  if (read.groups == 1) shape.erase(shape.begin() + 1);
  return *add_reshape(editor, seen, shape, node);
}

bool expand(Editor& editor, int index) {
  if (!editor.is_one_of<Opaque>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Opaque>(&node.op);
  if (op->definition != &reference::kDeformConv) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kAbsent && !is_float(editor, node.inputs[i])) return false;
  if (!is_float(editor, node.outputs[0])) return false;
  const auto shape_of = [&](ValueId id) { return *editor.value(id).type.shape; };
  const Shapes shapes{shape_of(node.inputs[0]), shape_of(node.inputs[1]), shape_of(node.outputs[0])};
  const Deformed read = reference::deformed(*op, shapes.weight);

  const ValueId columns = columns_of(editor, node, read, shapes);
  const std::int64_t outputs = shapes.weight[0] / read.groups;
  Shape matrix{read.groups, outputs, shapes.weight[1] * read.taps()};
  if (read.groups == 1) matrix.erase(matrix.begin());
  ValueId y = editor.add(MatMul{}, {*add_reshape(editor, node.inputs[1], matrix, node), columns}, node);
  y = *add_reshape(editor, y, {shapes.x[0], shapes.weight[0], shapes.positions()}, node);
  if (node.input(3) != kAbsent) {
    const ValueId bias = *add_reshape(editor, node.inputs[3], {shapes.weight[0], 1}, node);
    y = editor.add(Binary{BinaryKind::add}, {y, bias}, node);
  }
  editor.replace(node.outputs[0], *add_reshape(editor, y, shapes.out, node));
  return true;
}

}  // namespace

bool expand_deformed(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) expand(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
