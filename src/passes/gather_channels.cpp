// SPDX-License-Identifier: Apache-2.0
// Channels in another order: shuffles and column-row-depth blocks become a Gather of channels, and a Gather or Slice of
// what a contraction computes becomes a contraction with its weights in that order, without those that nobody reads.
#include <fmt/format.h>

#include <algorithm>

#include "graph/parameters.hpp"
#include "passes/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// Channel indices of a [first, second] block of channels read as [second, first].
Ints swapped_block(std::int64_t first, std::int64_t second) {
  Ints indices;
  for (std::int64_t s = 0; s < second; ++s)
    for (std::int64_t f = 0; f < first; ++f) indices.push_back(f * second + s);
  return indices;
}

ValueId add_gather(Editor& editor, ValueId input, std::int64_t axis, const Ints& indices, const Node& like) {
  return editor.add(Gather{axis}, {input, editor.add_ints(like.name + "_channels", indices)}, like);
}

/// Reshape [.., C, ..] to [.., g, C / g, ..], Transpose of the two, Reshape back.
bool shuffle_to_gather(Editor& editor, int index) {
  if (!editor.is_one_of<Reshape>(index)) return false;
  const Node node = editor.node(index);
  if (!has_rank(editor, node.outputs[0])) return false;
  const auto* transpose = editor.produced_by<Transpose>(node.input(0));
  if (transpose == nullptr || !editor.read_once(node.inputs[0])) return false;
  const ValueId blocks = editor.node(editor.producer(node.inputs[0])).inputs[0];
  if (editor.produced_by<Reshape>(blocks) == nullptr || !has_rank(editor, blocks)) return false;
  const ValueId source = editor.node(editor.producer(blocks)).inputs[0];
  if (!same_static_type(editor, source, node.outputs[0]) || !editor.value(blocks).type.is_static()) return false;
  const Ints perm = perm_of(*transpose, rank_of(editor, blocks));
  std::size_t axis = 0;
  while (axis < perm.size() && perm[axis] == static_cast<std::int64_t>(axis)) ++axis;
  if (axis + 1 >= perm.size()) return false;
  Ints swap = identity_perm(perm.size());
  std::swap(swap[axis], swap[axis + 1]);
  const Shape& whole = *editor.value(source).type.shape;
  const Shape& parts = *editor.value(blocks).type.shape;
  if (perm != swap || axis >= whole.size() || whole[axis] != parts[axis] * parts[axis + 1]) return false;
  if (!std::equal(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(axis), whole.begin())) return false;
  const Ints indices = swapped_block(parts[axis], parts[axis + 1]);
  editor.replace(node.outputs[0], add_gather(editor, source, static_cast<std::int64_t>(axis), indices, node));
  return true;
}

/// Column-row-depth order is depth-column-row order of other channels.
bool crd_to_gather(Editor& editor, int index) {
  if (!editor.is_one_of<DepthToSpace>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<DepthToSpace>(&node.op);
  if (!op->crd || !has_rank(editor, node.inputs[0])) return false;
  const DepthToSpace moved{op->block, false, op->axis};
  const auto axis = static_cast<std::size_t>(normalize_axis(op->axis, 4, node));
  const std::int64_t channels = (*editor.value(node.inputs[0]).type.shape)[axis], area = op->block * op->block;
  if (channels < 0) return false;
  if (channels == area) {
    editor.set_op(index, moved);
    return true;
  }
  const ValueId gathered =
      add_gather(editor, node.inputs[0], static_cast<std::int64_t>(axis), swapped_block(channels / area, area), node);
  editor.replace(node.outputs[0], editor.add(moved, {gathered}, node));
  return true;
}

Tensor taken(const Tensor& tensor, std::size_t axis, const Ints& indices) {
  Shape shape = tensor.shape();
  const auto outer = static_cast<std::size_t>(element_count(std::span(shape).first(axis)));
  const auto size = static_cast<std::size_t>(shape[axis]);
  const auto inner = static_cast<std::size_t>(element_count(std::span(shape).subspan(axis + 1)));
  shape[axis] = static_cast<std::int64_t>(indices.size());
  Tensor result(tensor.dtype(), shape);
  const std::size_t bytes = inner * size_of(tensor.dtype());
  const auto* from = static_cast<const std::byte*>(tensor.data());
  auto* to = static_cast<std::byte*>(result.data());
  for (std::size_t o = 0; o < outer; ++o)
    for (const std::int64_t i : indices)
      to = std::copy_n(from + (o * size + static_cast<std::size_t>(i)) * bytes, bytes, to);
  return result;
}

std::shared_ptr<const Constant> selected(const std::shared_ptr<const Constant>& constant, std::size_t axis,
                                         const Ints& indices) {
  return derived(constant, fmt::format("axis {}: {}", axis, fmt::join(indices, " ")),
                 [&] { return std::make_shared<const Constant>(taken(*constant->tensor(), axis, indices)); });
}

/// Axis of the weights that counts output channels; nothing where these come in groups, or go into more than the node's
/// own parameters.
std::optional<std::size_t> output_axis(const Operator& op, std::size_t weight_rank) {
  const auto first = [](const auto& conv, std::size_t axis) {
    return conv.groups == 1 ? std::optional(axis) : std::nullopt;
  };
  if (const auto* conv = std::get_if<ByteConv>(&op)) return first(conv->window, 0);
  if (std::holds_alternative<ByteMatMul>(op)) return 1;
  const FusedEpilogue* epilogue = epilogue_of(op);
  if (epilogue == nullptr || epilogue->residual) return std::nullopt;
  if (const auto* conv = std::get_if<Conv>(&op)) return first(*conv, 0);
  if (const auto* conv = std::get_if<ConvTranspose>(&op)) return first(*conv, 1);
  if (weight_rank != 2) return std::nullopt;
  return std::get<MatMul>(op).transpose_b ? 0 : 1;
}

bool is_for_bytes(const Operator& op) {
  return std::holds_alternative<ByteConv>(op) || std::holds_alternative<ByteMatMul>(op);
}

/// A parameter of a contraction of bytes that is not one a channel: the zero point, and maybe the factor.
bool is_for_all_channels(const Editor& editor, int contraction, std::size_t input) {
  constexpr std::size_t kZeroPoint = 2, kFactor = 4;
  if (!is_for_bytes(editor.node(contraction).op)) return false;
  const ValueId id = editor.node(contraction).inputs[input];
  return input == kZeroPoint || (input == kFactor && element_count(*editor.value(id).type.shape) == 1);
}

/// The elements that a Gather or Slice takes of the last axis of its input, if it takes nothing of another one.
std::optional<Ints> taken_channels(const Editor& editor, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kAbsent || !has_rank(editor, node.inputs[0])) return std::nullopt;
  const Shape& shape = *editor.value(node.inputs[0]).type.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (shape.empty() || shape.back() < 0) return std::nullopt;
  if (const auto* gather = std::get_if<Gather>(&node.op)) {
    auto indices = constant_ints(editor.graph(), node, 1);
    if (!indices || editor.value(node.inputs[1]).type.shape->size() != 1) return std::nullopt;
    if (normalize_axis(gather->axis, rank, node) != rank - 1) return std::nullopt;
    for (std::int64_t& i : *indices) i = i < 0 ? i + shape.back() : i;
    return indices;
  }
  if (!std::holds_alternative<Slice>(node.op)) return std::nullopt;
  const auto starts = constant_ints(editor.graph(), node, 1), ends = constant_ints(editor.graph(), node, 2),
             axes = constant_ints(editor.graph(), node, 3), steps = constant_ints(editor.graph(), node, 4);
  if (!starts || !ends || !axes || starts->size() != 1 || (node.input(4) != kAbsent && !steps)) return std::nullopt;
  if (normalize_axis(axes->front(), rank, node) != rank - 1) return std::nullopt;
  const SliceRange range = slice_range(shape.back(), starts->front(), ends->front(), steps ? steps->front() : 1);
  Ints indices;
  for (std::int64_t i = 0; i < range.count; ++i) indices.push_back(range.first + i * range.step);
  return indices;
}

/// The inputs of a contraction whose weights and parameters make those channels, in their order.
std::optional<std::vector<ValueId>> inputs_for(Editor& editor, int contraction, std::int64_t channels,
                                               const Ints& indices) {
  std::vector<ValueId> inputs = editor.node(contraction).inputs;
  const bool floats = !is_for_bytes(editor.node(contraction).op);
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] != kAbsent &&
        (!editor.is_constant(inputs[i]) || (floats && editor.value(inputs[i]).type.dtype != DType::f32)))
      return std::nullopt;
  const auto axis = output_axis(editor.node(contraction).op, rank_of(editor, inputs[1]));
  if (!axis) return std::nullopt;
  const auto along = [&](std::size_t input) { return input == 1 ? *axis : 0; };
  const auto is_kept = [&](std::size_t i) {
    return inputs[i] == kAbsent || is_for_all_channels(editor, contraction, i);
  };
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (is_kept(i)) continue;
    const Shape& shape = *editor.value(inputs[i]).type.shape;
    if (along(i) >= shape.size() || shape[along(i)] != channels) return std::nullopt;
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    if (is_kept(i)) continue;
    const std::string name = editor.value(inputs[i]).name;
    inputs[i] = editor.add_constant(name, selected(editor.value(inputs[i]).constant, along(i), indices));
  }
  return inputs;
}

bool fold_into_weights(Editor& editor, int index) {
  if (!editor.is_one_of<Gather, Slice>(index)) return false;
  const Node node = editor.node(index);
  const int contraction = editor.producer(node.inputs[0]);
  if (contraction < 0 || !editor.read_once(node.inputs[0])) return false;
  const Operator& op = editor.node(contraction).op;
  if (!is_for_bytes(op) && epilogue_of(op) == nullptr) return false;
  const auto indices = taken_channels(editor, node);
  if (!indices || indices->empty()) return false;
  auto inputs = inputs_for(editor, contraction, editor.value(node.inputs[0]).type.shape->back(), *indices);
  if (!inputs) return false;
  editor.set_inputs(contraction, std::move(*inputs));
  editor.set_type(node.inputs[0], editor.value(node.outputs[0]).type);
  editor.replace(node.outputs[0], node.inputs[0]);
  return true;
}

}  // namespace

bool gather_channels(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index)
    for (const auto rule : {shuffle_to_gather, crd_to_gather, fold_into_weights})
      if (!editor.alive(index) || rule(editor, index)) break;
  return editor.finish();
}

}  // namespace colonnade::rewrite
