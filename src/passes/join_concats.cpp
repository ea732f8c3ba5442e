// SPDX-License-Identifier: Apache-2.0
// Concatenations of parts that lie side by side already: neighbouring slices of one tensor become one part, and the
// first parts of a Concat that another Concat joins too become that one's output (dense blocks).
#include <algorithm>

#include "graph/parameters.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// [begin, end) of `source` along one axis.
struct Part {
  ValueId source = kAbsent;
  std::int64_t begin = 0, end = 0;
};

/// The value as a slice along nothing but `axis`; nothing when it is none.
std::optional<Part> part_of(const Editor& editor, ValueId id, std::int64_t axis) {
  if (editor.produced_by<Slice>(id) == nullptr) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  const ValueId source = node.inputs[0];
  if (!editor.value(source).type.is_static() || !editor.value(id).type.is_static()) return std::nullopt;
  const Shape& shape = *editor.value(source).type.shape;
  const auto starts = constant_ints(editor.graph(), node, 1), ends = constant_ints(editor.graph(), node, 2),
             axes = constant_ints(editor.graph(), node, 3), steps = constant_ints(editor.graph(), node, 4);
  if (!starts || !ends || !axes || starts->size() != 1 || (node.input(4) != kAbsent && !steps)) return std::nullopt;
  if (normalize_axis(axes->front(), static_cast<std::int64_t>(shape.size()), node) != axis) return std::nullopt;
  const SliceRange range =
      slice_range(shape[static_cast<std::size_t>(axis)], starts->front(), ends->front(), steps ? steps->front() : 1);
  if (range.step != 1) return std::nullopt;
  return Part{source, range.first, range.first + range.count};
}

bool join_slices(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<Concat>(&node.op);
  if (op == nullptr || !has_rank(editor, node.outputs[0])) return false;
  const std::int64_t axis = normalize_axis(op->axis, static_cast<std::int64_t>(rank_of(editor, node.outputs[0])), node);
  std::vector<ValueId> inputs;
  std::optional<Part> last;
  for (const ValueId id : node.inputs) {
    auto part = part_of(editor, id, axis);
    if (!part || !last || part->source != last->source || part->begin != last->end) {
      inputs.push_back(id);
      last = part;
      continue;
    }
    last->end = part->end;
    const std::int64_t size = (*editor.value(last->source).type.shape)[static_cast<std::size_t>(axis)];
    inputs.back() = last->begin == 0 && last->end == size
                        ? last->source
                        : editor.add(Slice{},
                                     {last->source, editor.add_ints(node.name + "_start", {last->begin}),
                                      editor.add_ints(node.name + "_end", {last->end}),
                                      editor.add_ints(node.name + "_axis", {axis})},
                                     node);
  }
  if (inputs.size() == node.inputs.size()) return false;
  editor.set_inputs(index, std::move(inputs));
  return true;
}

/// The Concat along the same axis that joins the most of the first parts of this one, but not all.
bool share_prefix(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* op = std::get_if<Concat>(&node.op);
  if (op == nullptr) return false;
  const Node* best = nullptr;
  for (const int reader : editor.readers(node.inputs[0])) {
    const Node& other = editor.node(reader);
    const auto* joins = std::get_if<Concat>(&other.op);
    if (joins == nullptr || *joins != *op || other.inputs.size() < 2 || other.inputs.size() >= node.inputs.size())
      continue;
    if (!std::equal(other.inputs.begin(), other.inputs.end(), node.inputs.begin())) continue;
    if (best == nullptr || other.inputs.size() > best->inputs.size()) best = &other;
  }
  if (best == nullptr) return false;
  std::vector<ValueId> inputs{best->outputs[0]};
  inputs.insert(inputs.end(), node.inputs.begin() + static_cast<std::ptrdiff_t>(best->inputs.size()),
                node.inputs.end());
  editor.set_inputs(index, std::move(inputs));
  return true;
}

}  // namespace

bool join_concats(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = count - 1; index >= 0; --index)  // longer ones first: the parts of shorter ones are still as given
    for (const auto rule : {join_slices, share_prefix})
      if (editor.alive(index)) rule(editor, index);
  return editor.finish();
}

}  // namespace colonnade::rewrite
