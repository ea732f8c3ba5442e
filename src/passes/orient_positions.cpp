// SPDX-License-Identifier: Apache-2.0
// All positions of small images become the rows of one image.
#include <algorithm>

#include "graph/contraction.hpp"
#include "graph/windows.hpp"
#include "passes/match.hpp"
#include "passes/orient.hpp"

namespace colonnade::rewrite {
namespace {

using Members = std::optional<std::vector<std::size_t>>;

/// An image of fewer positions is joined with the others even where that cuts a chain of rows; one of fewer than the
/// second number, where it does not.
constexpr std::int64_t kFew = 16, kSmall = 64;

/// Asks whether a node computes what lies at a position of its output of what lies there in some of its inputs, whose
/// positions are the same, and of operands that are the same everywhere.
struct PositionRule {
  const Editor& editor;
  const Node& node;
  const Shape& out;

  std::int64_t last() const { return static_cast<std::int64_t>(out.size()) - 1; }
  bool is_last(std::int64_t axis) const { return axis == -1 || axis == last(); }
  const Shape* shape(std::size_t input) const {
    const ValueId id = node.input(input);
    return id == kAbsent || !editor.value(id).type.is_static() ? nullptr : &*editor.value(id).type.shape;
  }
  bool along(std::size_t input) const {
    const Shape* from = shape(input);
    return from != nullptr && from->size() == out.size() && !editor.is_constant(node.inputs[input]) &&
           std::equal(from->begin(), from->end() - 1, out.begin());
  }
  /// The same at all positions.
  bool everywhere(std::size_t input) const {
    const Shape* from = shape(input);
    if (from == nullptr || from->empty()) return from != nullptr;
    return std::all_of(from->begin(), from->end() - 1, [](std::int64_t size) { return size == 1; });
  }
  bool is_last_only(std::size_t input) const {
    const auto axes = constant_ints(editor.graph(), node, input);
    return axes && axes->size() == 1 && is_last(axes->front());
  }

  Members first(bool condition = true) const {
    return condition && along(0) ? Members(std::in_place, 1, 0u) : std::nullopt;
  }
  Members operands() const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (along(i))
        members.push_back(i);
      else if (!everywhere(i))
        return std::nullopt;
    }
    return members;
  }
  Members contraction(const FusedEpilogue& epilogue) const {
    Members members = first();
    if (!members || !epilogue.residual) return members;
    if (!along(node.inputs.size() - 1)) return std::nullopt;
    members->push_back(node.inputs.size() - 1);
    return members;
  }

  Members operator()(const Unary&) const { return first(); }
  Members operator()(const Cast&) const { return first(); }
  Members operator()(const Binary&) const { return operands(); }
  Members operator()(const Select&) const { return operands(); }
  Members operator()(const Softmax& op) const { return first(is_last(op.axis)); }
  Members operator()(const LayerNorm& op) const { return first(is_last(op.axis)); }
  Members operator()(const BatchNorm& op) const { return first(is_last(op.axis)); }
  Members operator()(const Reduce& op) const { return first(op.keepdims && is_last_only(1)); }
  Members operator()(const Slice&) const { return first(is_last_only(3)); }
  Members operator()(const Concat& op) const {
    if (!is_last(op.axis)) return std::nullopt;
    const Members members = operands();
    return members && members->size() == node.inputs.size() ? members : std::nullopt;
  }
  Members operator()(const MatMul& op) const {
    const Shape* matrix = shape(1);
    if (op.transpose_a || op.heads_inside_a || op.heads_inside_b || op.heads_inside_out) return std::nullopt;
    return matrix != nullptr && matrix->size() == 2 ? contraction(op.epilogue) : std::nullopt;
  }
  Members operator()(const Conv& op) const {
    const Shape *in = shape(0), *weights = shape(1);
    if (in == nullptr || weights == nullptr || in->size() != 4 || op.kernel.size() != 2) return std::nullopt;
    for (const WindowAxis& axis : window_axes(op, std::span(*in).subspan(1, 2)))
      if (axis.kernel != 1 || axis.stride != 1 || axis.pad_begin != 0 || axis.pad_end != 0) return std::nullopt;
    return contraction(op.epilogue);
  }
  template <class Op>
  Members operator()(const Op&) const {
    return std::nullopt;
  }
};

Members position_members(const Editor& editor, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return std::nullopt;
  const ValueType& type = editor.value(node.outputs[0]).type;
  if (!type.is_static() || type.shape->size() < 3 || element_count(*type.shape) == 0) return std::nullopt;
  return std::visit(PositionRule{editor, node, *type.shape}, node.op);
}

bool works_by_rows(const Editor& editor, int index, std::size_t input) {
  return access_rows(editor.graph(), editor.node(index), input, {0, 1}).has_value();
}

/// Whether rows flow in or out of the group: a chain that would be cut.
bool has_neighbours(const Editor& editor, const AxisGroup& group) {
  const auto reads_rows = [&](int reader, ValueId value) {
    const Node& node = editor.node(reader);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] == value && works_by_rows(editor, reader, i)) return true;
    return false;
  };
  for (const int index : group.nodes) {
    const Node& node = editor.node(index);
    for (const int reader : editor.readers(node.outputs[0]))
      if (!group.contains(reader) && reads_rows(reader, node.outputs[0])) return true;
    const Members members = position_members(editor, node);
    for (const std::size_t member : *members) {
      const int producer = editor.producer(node.inputs[member]);
      if (producer < 0 || group.contains(producer)) continue;
      for (std::size_t i = 0; i < editor.node(producer).inputs.size(); ++i)
        if (works_by_rows(editor, producer, i)) return true;
    }
  }
  return false;
}

bool pays_to_join(const Editor& editor, const AxisGroup& group) {
  const auto multiplies = [&](int index) { return epilogue_of(editor.node(index).op) != nullptr; };
  if (std::none_of(group.nodes.begin(), group.nodes.end(), multiplies)) return false;
  const RowShape rows = row_shape(*editor.value(editor.node(group.nodes.front()).outputs[0]).type.shape);
  const std::int64_t positions = rows.rows * rows.width;
  if (rows.images > 1 && positions < kFew) return true;
  const bool small = rows.images > 1 ? positions < kSmall : rows.rows == 1 && rows.width > 1;
  return small && !has_neighbours(editor, group);
}

Shape join(const Shape& shape) {
  Shape joined(shape.size(), 1);
  joined[1] = element_count(std::span(shape).first(shape.size() - 1));
  joined.back() = shape.back();
  return joined;
}

void keep(Editor&, Node&) {}

}  // namespace

const AxisRule kJoined{position_members, pays_to_join, join, nullptr, keep};

}  // namespace colonnade::rewrite
