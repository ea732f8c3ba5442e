// SPDX-License-Identifier: Apache-2.0
// A convolution with few output channels leaves most of a vector of them empty. One whose window is `count` - 1 columns
// wider and moves `count` columns at a time computes `count` neighbouring pixels as channels: the same bytes.
#include <algorithm>

#include "passes/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::int64_t kVector = 16;  // output channels that the widest kernels compute together
constexpr double kMinGain = 1.5;

/// How many pixels to compute at once; 1: it does not pay. Columns of zero weights are the price.
std::int64_t best_count(const Conv& conv, std::int64_t channels, std::int64_t width) {
  std::int64_t best = 1;
  double most = kMinGain;
  for (std::int64_t count = 2; count * channels <= kVector; ++count) {
    const double gain = static_cast<double>(count * conv.kernel[1]) / static_cast<double>(conv.kernel[1] + count - 1);
    if (width % count != 0 || gain < most) continue;
    most = gain;
    best = count;
  }
  return best;
}

Tensor widened(const Tensor& weights, std::int64_t count) {
  const Shape& shape = weights.shape();
  const std::int64_t rows = shape[1] * shape[2], columns = shape[3], wide = columns + count - 1;
  Tensor result(DType::f32, {count * shape[0], shape[1], shape[2], wide});
  const auto from = weights.values<float>();
  const auto to = result.values<float>();
  std::ranges::fill(to, 0.0f);
  for (std::int64_t pixel = 0; pixel < count; ++pixel)
    for (std::int64_t row = 0; row < shape[0] * rows; ++row)
      std::copy_n(from.begin() + row * columns, columns, to.begin() + (pixel * shape[0] * rows + row) * wide + pixel);
  return result;
}

Tensor repeated(const Tensor& values, std::int64_t count) {
  Tensor result(DType::f32, {count * values.size()});
  for (std::int64_t i = 0; i < count; ++i)
    std::ranges::copy(values.values<float>(), result.values<float>().begin() + i * values.size());
  return result;
}

bool widen(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<Conv>(&node.op);
  if (op == nullptr || op->groups != 1 || op->epilogue.residual || op->kernel.size() != 2) return false;
  if (op->strides[1] != 1 || op->dilations[1] != 1) return false;
  for (const ValueId id : {node.inputs[0], node.outputs[0]})
    if (!editor.value(id).type.is_static() || editor.value(id).type.dtype != DType::f32) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kAbsent && !editor.is_constant(node.inputs[i])) return false;
  const Shape in = *editor.value(node.inputs[0]).type.shape, out = *editor.value(node.outputs[0]).type.shape;
  const bool winograd = op->kernel == Ints{3, 3} && op->strides[0] == 1 && op->dilations[0] == 1 && out[3] > 1;
  if (winograd) return false;  // saves more
  const std::int64_t count = best_count(*op, out[3], out[2]);
  if (count == 1) return false;
  Conv wide = *op;
  wide.pads = resolve_pads(*op, std::span(in).subspan(1, 2));
  wide.auto_pad = AutoPad::explicit_pads;
  wide.kernel[1] += count - 1;
  wide.strides[1] = count;
  std::vector<ValueId> inputs = node.inputs;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i] == kAbsent) continue;
    const Tensor& tensor = *editor.value(inputs[i]).constant;
    if (i > 1 && tensor.size() != out[3]) return false;
    const std::string name = editor.value(inputs[i]).name;
    inputs[i] = editor.add_constant(name, i == 1 ? widened(tensor, count) : repeated(tensor, count));
  }
  const ValueId pixels = editor.add(wide, std::move(inputs), node);
  editor.replace(node.outputs[0], *add_reshape(editor, pixels, out, node));
  return true;
}

}  // namespace

bool widen_outputs(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) widen(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
