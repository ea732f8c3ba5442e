// SPDX-License-Identifier: Apache-2.0
// A transposed convolution with few output channels as one dense convolution: one panel of a kernel then serves all
// phases.
#include <fmt/format.h>

#include <algorithm>

#include "graph/contraction.hpp"
#include "passes/dense_window.hpp"
#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

std::int64_t panels(std::int64_t channels) { return (channels + kPanel - 1) / kPanel; }

bool rewrite_node(Editor& editor, int index) {
  if (!editor.is_one_of<ConvTranspose>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<ConvTranspose>(&node.op);
  const auto window = dense_window(*op);
  if (!window) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i] != kAbsent && !editor.is_constant(node.inputs[i])) return false;
  const Value& weight = editor.value(node.inputs[1]);
  if (weight.type.dtype != DType::f32) return false;
  const auto& [y, x] = *window;
  const std::int64_t outputs = weight.constant->shape()[1];
  if (panels(outputs * window->block()) * y.taps * x.taps >= panels(outputs) * y.kernel * x.kernel) return false;

  const auto how = fmt::format("dense {}, {}, {}", fmt::join(op->kernel, " "), fmt::join(op->strides, " "),
                               fmt::join(op->pads, " "));
  auto dense_weights = derived(weight.constant, how, [&] {
    return std::make_shared<const Constant>(dense_weight(*weight.constant->tensor(), *window));
  });
  std::vector<ValueId> inputs{node.inputs[0], editor.add_constant(node.name + "_dense", std::move(dense_weights))};
  for (std::size_t i = 2; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent) {
      inputs.push_back(kAbsent);
      continue;
    }
    const std::shared_ptr<const Tensor> values = editor.value(node.inputs[i]).constant->tensor();
    inputs.push_back(editor.add_constant(node.name + "_repeated", repeated(*values, window->block())));
  }
  const ValueId dense = editor.add(dense_conv(*op, *window), std::move(inputs), node);
  editor.replace(node.outputs[0], editor.add(dense_shuffle(*window), {dense}, node));
  return true;
}

}  // namespace

bool subpixel(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index)) rewrite_node(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
