// SPDX-License-Identifier: Apache-2.0
// Zeros that are put around an image for a convolution or a pool are padding of its own: nothing is copied.
#include <algorithm>

#include "graph/parameters.hpp"
#include "graph/windows.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// A Pad of zeros and the Transpose behind it, if there is one (else -1); the pads by axis of what both give.
struct Padding {
  int pad = -1, transpose = -1;
  Ints begins, ends;
};

bool pads_zeros(const Editor& editor, const Node& node) {
  if (std::get<Pad>(node.op).mode != PadMode::constant) return false;
  return node.input(2) == kAbsent || scalar_of(editor, node.inputs[2]) == 0.0;
}

std::optional<Padding> padding_of(const Editor& editor, ValueId id) {
  Padding found;
  found.pad = editor.producer(id);
  if (editor.produced_by<Transpose>(id) != nullptr) {
    found.transpose = found.pad;
    found.pad = editor.producer(editor.node(found.transpose).inputs[0]);
  }
  if (found.pad < 0 || !editor.is_one_of<Pad>(found.pad)) return std::nullopt;
  const Node& node = editor.node(found.pad);
  if (!pads_zeros(editor, node) || !has_rank(editor, node.inputs[0])) return std::nullopt;
  const std::size_t rank = rank_of(editor, node.inputs[0]);
  const auto pads = axis_pads(editor.graph(), node, static_cast<std::int64_t>(rank));
  if (!pads) return std::nullopt;
  found.begins = pads->begins, found.ends = pads->ends;
  if (found.transpose >= 0) {
    const Ints perm = perm_of(std::get<Transpose>(editor.node(found.transpose).op), rank);
    found.begins = permuted(found.begins, perm), found.ends = permuted(found.ends, perm);
  }
  return found;
}

/// Nothing is padded but spatial axes, and nothing is cropped.
bool is_spatial(const Padding& padding) {
  for (const Ints* pads : {&padding.begins, &padding.ends})
    if (pads->front() != 0 || pads->back() != 0 || std::ranges::any_of(*pads, [](auto pad) { return pad < 0; }))
      return false;
  return true;
}

/// The window's pads and those before it; nothing where a window would lie in padding alone, which kernels do not
/// expect, or where its own depend on sizes.
template <class Window>
std::optional<Ints> joined_pads(const Window& op, const Padding& padding) {
  const std::size_t axes = op.kernel.size();
  if (op.auto_pad == AutoPad::same_upper || op.auto_pad == AutoPad::same_lower) return std::nullopt;
  if (padding.begins.size() != axes + 2 || !is_spatial(padding)) return std::nullopt;
  const std::vector<WindowAxis> windows = window_axes(op, Ints(axes, 0));
  Ints pads;
  for (const bool begins : {true, false})
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t own = begins ? windows[i].pad_begin : windows[i].pad_end;
      const std::int64_t added = (begins ? padding.begins : padding.ends)[i + 1];
      if (added >= std::min(windows[i].extent(), kMaxWindow) - own) return std::nullopt;
      pads.push_back(own + added);
    }
  return pads;
}

bool is_never_negative(const Editor& editor, ValueId id) {
  const auto* unary = editor.produced_by<Unary>(id);
  if (unary == nullptr) return false;
  return unary->kind == UnaryKind::relu || unary->kind == UnaryKind::sigmoid || unary->kind == UnaryKind::exp ||
         (unary->kind == UnaryKind::clip && unary->a >= 0);
}

/// A maximum takes a zero for the nothing around an image only where no number is less, and where each window has a
/// number: holes may let one step over a small image.
bool pools_alike(const Editor& editor, const Node& node, const Pool& op, const Padding& padding) {
  if (op.ceil_mode || node.outputs.size() != 1) return false;
  if (op.kind == PoolKind::max)
    return all_are(op.dilations, 1) && is_never_negative(editor, editor.node(padding.pad).inputs[0]);
  return op.kind == PoolKind::lp || op.count_include_pad || all_are(op.pads, 0);
}

/// The operator with the pads as its own.
std::optional<Operator> with_pads(const Editor& editor, const Node& node, const Padding& padding) {
  if (const auto* conv = std::get_if<Conv>(&node.op)) {
    Conv op = *conv;
    if (!has_rank(editor, node.inputs[1])) return std::nullopt;
    const Shape& weight = *editor.value(node.inputs[1]).type.shape;
    if (op.kernel.empty()) op.kernel.assign(weight.begin() + 2, weight.end());
    const auto pads = joined_pads(op, padding);
    if (!pads) return std::nullopt;
    op.pads = *pads;
    op.auto_pad = AutoPad::explicit_pads;
    return op;
  }
  Pool op = std::get<Pool>(node.op);
  const auto pads = joined_pads(op, padding);
  if (!pads || !pools_alike(editor, node, op, padding)) return std::nullopt;
  op.pads = *pads;
  op.auto_pad = AutoPad::explicit_pads;
  op.count_include_pad = op.kind == PoolKind::average;
  return op;
}

void fold_pad(Editor& editor, int index) {
  if (!editor.is_one_of<Conv, Pool>(index)) return;
  const auto padding = padding_of(editor, editor.node(index).inputs[0]);
  if (!padding) return;
  auto op = with_pads(editor, editor.node(index), *padding);
  if (!op) return;
  std::vector<ValueId> inputs = editor.node(index).inputs;
  inputs[0] = editor.node(padding->pad).inputs[0];
  if (padding->transpose >= 0) {
    const Node turned = editor.node(padding->transpose);
    inputs[0] = editor.add(turned.op, {inputs[0]}, turned);
  }
  editor.set_op(index, std::move(*op));
  editor.set_inputs(index, std::move(inputs));
}

}  // namespace

bool fold_pads(Graph& graph) {
  if (std::ranges::none_of(graph.nodes, [](const Node& node) { return std::holds_alternative<Pad>(node.op); }))
    return false;
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    if (editor.alive(index)) fold_pad(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
