// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of bytes: kernels of bytes know dense ones.
#include <algorithm>

#include "passes/bytes.hpp"
#include "passes/contraction.hpp"
#include "passes/dense_window.hpp"
#include "passes/match.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::int64_t kMostZeros = 3;  // products with taps that have no weight, for each product that was asked for

bool is_zero(const Editor& editor, ValueId id) {
  if (id == kAbsent) return true;
  if (!editor.is_constant(id)) return false;
  return std::ranges::all_of(reference::load_all<std::int64_t>(*editor.value(id).constant->tensor()),
                             [](auto z) { return z == 0; });
}

/// Constants with a scale for all, or for each index of the axis, and no zero point: the dense weights, or what lies
/// in a vector repeated for each output of a block.
ValueId dense_constants(Editor& editor, ValueId id, std::int64_t axis, const DenseWindow& window) {
  const auto* op = editor.produced_by<Dequantize>(id);
  if (op == nullptr || op->block != 0) return kAbsent;
  const Node node = editor.node(editor.producer(id));
  const bool known = editor.is_constant(node.inputs[0]) && editor.is_constant(node.inputs[1]);
  if (!known || !is_zero(editor, node.input(2))) return kAbsent;
  const auto values = editor.value(node.inputs[0]).constant->tensor();
  const auto scale = editor.value(node.inputs[1]).constant->tensor();
  const auto rank = static_cast<std::int64_t>(values->shape().size());
  if (scale->size() != 1 && normalize_axis(op->axis, rank, node) != axis) return kAbsent;
  Tensor dense = rank == 1 ? repeated(*values, window.block()) : dense_weight(*values, window);
  const ValueId scales =
      scale->size() == 1 ? node.inputs[1] : editor.add_constant("scales", repeated(*scale, window.block()));
  return editor.add(Dequantize{0}, {editor.add_constant(node.name + "_dense", std::move(dense)), scales}, node);
}

ValueId dense_bias(Editor& editor, ValueId id, const DenseWindow& window) {
  if (id == kAbsent || !editor.is_constant(id)) return dense_constants(editor, id, 0, window);
  return editor.add_constant("bias", repeated(*editor.value(id).constant->tensor(), window.block()));
}

}  // namespace

bool make_dense(Editor& editor, int index) {
  if (!editor.is_one_of<ConvTranspose>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<ConvTranspose>(&node.op);
  const auto window = is_plain(op->epilogue) ? dense_window(*op) : std::nullopt;
  if (!window || !dequantised(editor, node.inputs[0])) return false;
  const auto& [y, x] = *window;
  const std::int64_t products = y.kernel * x.kernel;
  if (y.taps * x.taps * window->block() > (1 + kMostZeros) * products) return false;
  const ValueId weights = dense_constants(editor, node.inputs[1], 1, *window);
  if (weights == kAbsent) return false;
  std::vector<ValueId> inputs{node.inputs[0], weights};
  if (node.input(2) != kAbsent) {
    inputs.push_back(dense_bias(editor, node.inputs[2], *window));
    if (inputs.back() == kAbsent) return false;
  }
  const ValueId dense = editor.add(dense_conv(*op, *window), std::move(inputs), node);
  editor.replace(node.outputs[0], editor.add(dense_shuffle(*window), {dense}, node));
  return true;
}

}  // namespace colonnade::rewrite
