// SPDX-License-Identifier: Apache-2.0
// max(f(a), f(b)) = f(max(a, b)) for a function that never falls: fewer values are left after a pooling. It pays where
// the function takes more than a few instructions.
#include <algorithm>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

bool never_falls(const Unary& unary) {
  const Monotone monotone = function_of(unary.kind).monotone;
  return monotone == Monotone::yes || (monotone == Monotone::by_parameters && unary.a >= 0 && unary.b >= 0);
}

/// Every window has an element of its own, and there are fewer windows than elements.
bool shrinks(const Editor& editor, const Pool& pool, const Node& node) {
  const ValueType &in = editor.value(node.inputs[0]).type, &out = editor.value(node.outputs[0]).type;
  if (!in.is_static() || !out.is_static() || pool.auto_pad != AutoPad::explicit_pads) return false;
  const std::size_t axes = pool.kernel.size();
  if (pool.pads.size() != 2 * axes ||
      std::any_of(pool.dilations.begin(), pool.dilations.end(), [](auto d) { return d != 1; }))
    return false;
  for (std::size_t i = 0; i < pool.pads.size(); ++i)
    if (pool.pads[i] >= pool.kernel[i % axes]) return false;
  return element_count(out.static_shape()) < element_count(in.static_shape());
}

bool pool_before_function(Editor& editor, int index) {
  if (!editor.is_one_of<Pool>(index)) return false;
  const Node node = editor.node(index);
  const auto* pool = std::get_if<Pool>(&node.op);
  if (pool->kind != PoolKind::max || node.outputs.size() != 1) return false;
  const auto* unary = editor.produced_by<Unary>(node.inputs[0]);
  if (unary == nullptr || !is_costly(unary->kind) || !never_falls(*unary)) return false;
  if (!editor.read_once(node.inputs[0]) || !shrinks(editor, *pool, node)) return false;
  const Node function = editor.node(editor.producer(node.inputs[0]));
  const ValueId pooled = editor.add(node.op, {function.inputs[0]}, node);
  editor.replace(node.outputs[0], editor.add(function.op, {pooled}, function));
  return true;
}

}  // namespace

bool pool_first(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) pool_before_function(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
