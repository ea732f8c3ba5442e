// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::rewrite {
namespace {

const Opaque* is(const Editor& editor, int index, const Definition& definition) {
  if (index < 0) return nullptr;
  const auto* op = std::get_if<Opaque>(&editor.node(index).op);
  return op != nullptr && op->definition == &definition ? op : nullptr;
}

/// The node that made the value, where it is this operator.
const Node* made_by(const Editor& editor, ValueId id, const Definition& definition) {
  const int producer = editor.producer(id);
  return is(editor, producer, definition) ? &editor.node(producer) : nullptr;
}

/// An optional value that is known to be there, or a tensor, which is there.
bool read_optional(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const bool gets = is(editor, index, reference::kOptionalGetElement) != nullptr;
  if (!gets && !is(editor, index, reference::kOptionalHasElement)) return false;
  if (node.input(0) == kAbsent) return false;
  ValueId element = node.inputs[0];
  if (const Node* made = made_by(editor, element, reference::kOptional)) element = made->input(0);
  if (element == kAbsent || !editor.value(element).type.is_tensor()) return false;
  const ValueId output = node.outputs[0];
  if (gets) {
    editor.replace(output, element);
  } else {
    Tensor present(DType::boolean, {});
    present.values<bool>()[0] = true;
    editor.replace(output, editor.add_constant(node.name + "_present", std::move(present)));
  }
  return true;
}

/// Which of `count` elements the node reads; nothing where that is not known, or wrong.
std::optional<std::int64_t> position(const Editor& editor, const Node& node, std::int64_t count) {
  const auto at = constant_ints(editor.graph(), node, 1);
  if (!at || at->size() != 1) return std::nullopt;
  const std::int64_t index = at->front() < 0 ? at->front() + count : at->front();
  return index >= 0 && index < count ? std::optional(index) : std::nullopt;
}

bool read_element(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (!is(editor, index, reference::kSequenceAt)) return false;
  const Node* made = made_by(editor, node.inputs[0], reference::kSequenceConstruct);
  if (made == nullptr) return false;
  const auto at = position(editor, node, std::ssize(made->inputs));
  if (!at) return false;
  editor.replace(node.outputs[0], made->inputs[static_cast<std::size_t>(*at)]);
  return true;
}

struct Piece {
  std::int64_t begin = 0, end = 0;
};

/// The piece of a split of `size` that `reader` takes; nothing where it is not known.
std::optional<Piece> piece_of(const Editor& editor, const Node& split, const Node& reader, std::int64_t size) {
  const auto sizes = constant_ints(editor.graph(), split, 1);
  if (size < 0 || (split.input(1) != kAbsent && !sizes)) return std::nullopt;
  if (!sizes || editor.value(split.inputs[1]).type.shape == Shape{}) {
    const std::int64_t each = sizes ? sizes->front() : 1;
    const auto at = each > 0 ? position(editor, reader, ceil_div(size, each)) : std::nullopt;
    if (!at) return std::nullopt;
    const std::int64_t begin = *at * each;
    return Piece{begin, begin + std::min(each, size - begin)};
  }
  const auto at = position(editor, reader, std::ssize(*sizes));
  if (!at) return std::nullopt;
  Piece piece;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < std::ssize(*sizes); ++i) {
    const std::int64_t each = (*sizes)[static_cast<std::size_t>(i)];
    if (each < 0 || each > size - end) return std::nullopt;
    if (i == *at) piece = {end, end + each};
    end += each;
  }
  return end == size ? std::optional(piece) : std::nullopt;
}

/// A piece of a split is a Slice.
bool read_piece(Editor& editor, int index) {
  if (!is(editor, index, reference::kSequenceAt)) return false;
  const Node node = editor.node(index);
  const Node* made = made_by(editor, node.inputs[0], reference::kSplitToSequence);
  if (made == nullptr || !has_rank(editor, made->inputs[0])) return false;
  const Node split = *made;
  const auto& op = std::get<Opaque>(split.op);
  const Shape& shape = *editor.value(split.inputs[0]).type.shape;
  const std::int64_t axis = normalize_axis(op.int_or("axis", 0), std::ssize(shape), split);
  const auto read = piece_of(editor, split, node, shape[static_cast<std::size_t>(axis)]);
  if (!read) return false;
  const ValueId start = editor.add_ints(node.name + "_start", {read->begin});
  const ValueId end = editor.add_ints(node.name + "_end", {read->end});
  const ValueId axes = editor.add_ints(node.name + "_axis", {axis});
  ValueId piece = editor.add(Slice{}, {split.inputs[0], start, end, axes}, node);
  if (split.input(1) == kAbsent && op.int_or("keepdims", 1) == 0) piece = editor.add(Squeeze{}, {piece, axes}, node);
  editor.replace(node.outputs[0], piece);
  return true;
}

/// Tensors that are put into a sequence to be joined.
bool join_elements(Editor& editor, int index) {
  const Opaque* op = is(editor, index, reference::kConcatFromSequence);
  if (op == nullptr) return false;
  const Node node = editor.node(index);
  const Node* made = made_by(editor, node.inputs[0], reference::kSequenceConstruct);
  if (made == nullptr) return false;
  std::vector<ValueId> elements = made->inputs;
  for (const ValueId element : elements)
    if (!has_rank(editor, element) || rank_of(editor, element) != rank_of(editor, elements[0])) return false;
  const bool stacks = op->int_or("new_axis", 0) != 0;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, elements[0])) + (stacks ? 1 : 0);
  const std::int64_t axis = normalize_axis(op->int_of("axis"), rank, node);
  if (stacks)
    for (ValueId& element : elements)
      element = editor.add(Unsqueeze{}, {element, editor.add_ints(node.name + "_axis", {axis})}, node);
  editor.replace(node.outputs[0], editor.add(Concat{axis}, elements, node));
  return true;
}

bool count_elements(Editor& editor, int index) {
  const Node& node = editor.node(index);
  if (!is(editor, index, reference::kSequenceLength)) return false;
  const Node* made = made_by(editor, node.inputs[0], reference::kSequenceConstruct);
  if (made == nullptr) return false;
  Tensor count(DType::i64, {});
  count.values<std::int64_t>()[0] = std::ssize(made->inputs);
  editor.replace(node.outputs[0], editor.add_constant(node.name + "_count", std::move(count)));
  return true;
}

constexpr bool (*kRules[])(Editor&, int) = {read_optional, read_element, read_piece, join_elements, count_elements};

}  // namespace

bool read_sequences(Graph& graph) {
  Editor editor(graph);
  for (int index = 0; index < editor.node_count(); ++index)
    for (const auto rule : kRules)
      if (!editor.alive(index) || rule(editor, index)) break;
  return editor.finish();
}

}  // namespace colonnade::rewrite
