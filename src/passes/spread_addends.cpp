// SPDX-License-Identifier: Apache-2.0
// A mask with one number for all keys of a row gets one for each: kernels read as many as there are keys.
#include <algorithm>

#include "graph/contraction.hpp"
#include "passes/editor.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// The keys that scores have; 0 where they are not known yet, or lie in bounds.
std::int64_t keys_of(const Editor& editor, const Node& node, const Attention& op) {
  if (node.inputs.size() > kBoundsInput && node.inputs[kBoundsInput] != kAbsent) return 0;
  const ValueType& keys = editor.value(node.inputs[1]).type;
  if (!keys.is_static()) return 0;
  const Shape shape = heads_swapped(keys.static_shape(), op.heads_inside_k);
  return shape.size() < 2 ? 0 : shape[shape.size() - 2];
}

bool is_shared(const Editor& editor, ValueId addend) {
  if (addend == kAbsent || !editor.value(addend).type.is_static()) return false;
  const Shape& shape = editor.value(addend).type.static_shape();
  return !shape.empty() && shape.back() == 1;
}

void spread(Editor& editor, int index) {
  if (!editor.is_one_of<Attention>(index)) return;
  const Node node = editor.node(index);
  const std::int64_t keys = keys_of(editor, node, std::get<Attention>(node.op));
  if (keys < 2) return;
  std::vector<ValueId> inputs = node.inputs;
  for (std::size_t i = kAddendInput; i < std::min(inputs.size(), kAddendInput + kMostAddends); ++i) {
    if (!is_shared(editor, inputs[i])) continue;
    Ints shape(editor.value(inputs[i]).type.static_shape());
    shape.back() = keys;
    inputs[i] = editor.add(Expand{}, {inputs[i], editor.add_ints(node.name + "_shape", shape)}, node);
  }
  if (inputs != node.inputs) editor.set_inputs(index, std::move(inputs));
}

}  // namespace

bool spread_addends(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) spread(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
