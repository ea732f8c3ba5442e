// SPDX-License-Identifier: Apache-2.0
#include "passes/layout_ops.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"
#include "passes/match.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::size_t kMinRank = 3;

/// Input `input` is a constant list of `count` integers.
bool has_ints(const Editor& editor, const Node& node, std::size_t input, std::size_t count) {
  const auto ints = constant_ints(editor.graph(), node, input);
  return ints && ints->size() == count;
}

/// Sorts all inputs of a broadcasting operator into members and lifted ones.
std::optional<FlexibleUse> broadcast_use(const Editor& editor, const Node& node, std::size_t rank) {
  FlexibleUse use{{}, {}, rank};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!has_rank(editor, id)) return std::nullopt;
    const std::size_t own = rank_of(editor, id);
    if (!editor.is_constant(id) && own == rank) {
      use.members.push_back(i);
    } else if (own > 0) {
      if (!reshape_target(*editor.value(id).type.shape)) return std::nullopt;
      use.lifted.push_back(i);
    }
  }
  return use;
}

struct UseRule {
  const Editor& editor;
  const Node& node;
  std::size_t rank;

  using Result = std::optional<FlexibleUse>;

  Result first() const {
    const ValueId id = node.inputs[0];
    if (!has_rank(editor, id) || rank_of(editor, id) != rank || editor.is_constant(id)) return std::nullopt;
    return FlexibleUse{{0}, {}, rank};
  }
  Result first_if(bool condition) const { return condition ? first() : std::nullopt; }

  Result operator()(const Unary&) const { return first(); }
  Result operator()(const Cast&) const { return first_if(!is_width_cast(editor, node)); }
  Result operator()(const Quantize&) const { return first(); }
  Result operator()(const Dequantize& op) const { return first_if(op.block == 0); }
  Result operator()(const Lookup&) const { return first(); }
  Result operator()(const Binary&) const { return broadcast_use(editor, node, rank); }
  Result operator()(const ByteBinary&) const { return broadcast_use(editor, node, rank); }
  Result operator()(const Select&) const { return broadcast_use(editor, node, rank); }
  Result operator()(const Concat&) const { return broadcast_use(editor, node, rank); }
  Result operator()(const Softmax&) const { return first(); }
  Result operator()(const Hardmax&) const { return first(); }
  Result operator()(const ArgReduce& op) const { return first_if(op.keepdims); }
  Result operator()(const Reduce& op) const { return first_if(op.keepdims && reduce_axes(editor, node).has_value()); }
  Result operator()(const BatchNorm&) const { return first(); }
  Result operator()(const InstanceNorm&) const { return first(); }
  Result operator()(const Lrn&) const { return first(); }
  Result operator()(const DepthToSpace&) const { return first_if(rank == 4); }
  Result operator()(const SpaceToDepth&) const { return first_if(rank == 4); }
  Result operator()(const Split&) const { return first(); }
  Result operator()(const TopK&) const { return first(); }
  Result operator()(const Tile&) const { return first_if(has_ints(editor, node, 1, rank)); }
  Result operator()(const Slice&) const {
    const bool axes = node.input(3) == kAbsent ? has_ints(editor, node, 1, rank) : editor.is_constant(node.input(3));
    return first_if(axes);
  }
  Result operator()(const Pad&) const {
    const bool axes =
        node.input(3) == kAbsent ? has_ints(editor, node, 1, 2 * rank) : editor.is_constant(node.input(3));
    return first_if(axes && editor.is_constant(node.input(1)));
  }
  Result operator()(const Resize& op) const {
    const bool known = has_floats_or_none(1, 2 * rank) && has_floats_or_none(2, rank) &&
                       (node.input(3) == kAbsent || has_ints(editor, node, 3, 0) || has_ints(editor, node, 3, rank));
    return first_if((known || !op.axes.empty()) && op.aspect == AspectPolicy::stretch);
  }
  Result operator()(const Gather&) const {
    return first_if(has_rank(editor, node.input(1)) && rank_of(editor, node.inputs[1]) == 1);
  }
  Result operator()(const Expand&) const { return first_if(has_ints(editor, node, 1, rank)); }
  template <class Op>
  Result operator()(const Op&) const {
    return std::nullopt;
  }

  bool has_floats_or_none(std::size_t input, std::size_t count) const {
    if (node.input(input) == kAbsent) return true;
    const auto values = constant_floats(editor.graph(), node, input);
    return values && (values->empty() || values->size() == count);
  }
};

/// The channel axis of a space-depth operator after the permutation, when the rest still reads batch, rows, columns.
std::optional<std::int64_t> channel_axis_after(std::int64_t axis, const Ints& perm) {
  const std::int64_t channel = axis < 0 ? axis + 4 : axis;
  const std::int64_t moved = moved_axis(channel, perm);
  if (moved != 1 && moved != 3) return std::nullopt;
  Ints rest = perm;
  rest.erase(rest.begin() + moved);
  return std::is_sorted(rest.begin(), rest.end()) ? std::optional(moved) : std::nullopt;
}

std::int64_t remapped(std::int64_t axis, const Node& node, const Ints& perm) {
  return moved_axis(normalize_axis(axis, static_cast<std::int64_t>(perm.size()), node), perm);
}

struct Relayout {
  Editor& editor;
  Node& node;
  const Ints& perm;

  std::size_t rank() const { return perm.size(); }

  void set_ints(std::size_t input, const Ints& values, const char* what) const {
    node.inputs.resize(std::max(node.inputs.size(), input + 1), kAbsent);
    node.inputs[input] = editor.add_ints(node.name + what, values);
  }
  void remap_axes_input(std::size_t input) const {
    auto axes = *constant_ints(editor.graph(), node, input);
    for (std::int64_t& axis : axes) axis = remapped(axis, node, perm);
    set_ints(input, axes, "_axes");
  }
  /// The axis of scales and zero points, where there is more than one.
  void remap_parameters(std::int64_t& axis) const {
    const auto one = [&](ValueId id) {
      const auto& shape = id == kAbsent ? std::optional(Shape{}) : editor.value(id).type.shape;
      return shape && product_of(*shape) == 1;
    };
    if (!one(node.inputs[1]) || !one(node.input(2))) axis = remapped(axis, node, perm);
  }
  /// A per-axis list: element i belongs to axis i.
  void permute_ints(std::size_t input, const char* what) const {
    const Ints values = *constant_ints(editor.graph(), node, input);
    if (!values.empty()) set_ints(input, permuted(values, perm), what);
  }
  void permute_floats(std::size_t input) const {
    const auto values = constant_floats(editor.graph(), node, input);
    Tensor tensor(DType::f32, {static_cast<std::int64_t>(values->size())});
    const std::size_t parts = values->size() / rank();
    for (std::size_t i = 0; i < parts * rank(); ++i) {
      const std::size_t source = i / rank() * rank() + static_cast<std::size_t>(perm[i % rank()]);
      tensor.values<float>()[i] = (*values)[source];
    }
    node.inputs[input] = editor.add_constant(node.name + "_permuted", std::move(tensor));
  }

  void operator()(Unary&) const {}
  void operator()(Cast&) const {}
  void operator()(Lookup&) const {}
  void operator()(Binary&) const {}
  void operator()(ByteBinary&) const {}
  void operator()(Select&) const {}
  void operator()(Quantize& op) const { remap_parameters(op.axis); }
  void operator()(Dequantize& op) const { remap_parameters(op.axis); }
  void operator()(ArgReduce& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(Concat& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(Softmax& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(Hardmax& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(BatchNorm& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(InstanceNorm& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(Lrn& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(Split& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(TopK& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(Gather& op) const { op.axis = remapped(op.axis, node, perm); }
  void operator()(DepthToSpace& op) const { op.axis = *channel_axis_after(op.axis, perm); }
  void operator()(SpaceToDepth& op) const { op.axis = *channel_axis_after(op.axis, perm); }
  void operator()(Tile&) const { permute_ints(1, "_repeats"); }
  void operator()(Expand&) const { permute_ints(1, "_shape"); }
  void operator()(Reduce& op) const {
    if (op.noop_with_empty_axes && node.input(1) == kAbsent) return;
    Ints axes = *reduce_axes(editor, node);
    for (std::int64_t& axis : axes) axis = moved_axis(axis, perm);
    std::sort(axes.begin(), axes.end());
    set_ints(1, axes, "_axes");
  }
  void operator()(Slice&) const {
    if (node.input(3) == kAbsent) set_ints(3, identity_perm(rank()), "_axes");
    remap_axes_input(3);
  }
  void operator()(Pad&) const {
    if (node.input(3) != kAbsent) return remap_axes_input(3);
    const Ints pads = *constant_ints(editor.graph(), node, 1);
    Ints moved;
    for (const std::int64_t axis : perm) moved.push_back(pads[static_cast<std::size_t>(axis)]);
    for (const std::int64_t axis : perm) moved.push_back(pads[rank() + static_cast<std::size_t>(axis)]);
    set_ints(1, moved, "_pads");
  }
  void operator()(Resize& op) const {
    if (!op.axes.empty()) {
      for (std::int64_t& axis : op.axes) axis = remapped(axis, node, perm);
      return;
    }
    if (node.input(1) != kAbsent) permute_floats(1);
    if (node.input(2) != kAbsent) permute_floats(2);
    if (node.input(3) != kAbsent) permute_ints(3, "_sizes");
  }
  template <class Op>
  void operator()(Op&) const {
    fail(ErrorCode::internal, "node '{}': operator {} has no layout rule", node.name, name_of(node.op));
  }
};

}  // namespace

std::optional<FlexibleUse> flexible_use(const Editor& editor, const Node& node) {
  if (node.outputs.empty() || node.inputs.empty()) return std::nullopt;
  const auto first = std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != kAbsent; });
  if (first == node.outputs.end() || !has_rank(editor, *first)) return std::nullopt;
  const std::size_t rank = rank_of(editor, *first);
  if (rank < kMinRank) return std::nullopt;
  return std::visit(UseRule{editor, node, rank}, node.op);
}

bool allows(const Editor&, const Node& node, const Ints& perm) {
  if (const auto* op = std::get_if<DepthToSpace>(&node.op)) return channel_axis_after(op->axis, perm).has_value();
  if (const auto* op = std::get_if<SpaceToDepth>(&node.op)) return channel_axis_after(op->axis, perm).has_value();
  if (std::holds_alternative<InstanceNorm>(node.op)) return perm[0] == 0;
  return true;
}

Node relaid(Editor& editor, const Node& node, const Ints& perm) {
  Node result = node;
  std::visit(Relayout{editor, result, perm}, result.op);
  return result;
}

}  // namespace colonnade::rewrite
