// SPDX-License-Identifier: Apache-2.0
// Caches of keys and values: rows are put behind them, and attention meets those that are there.
#include <algorithm>

#include "graph/contraction.hpp"
#include "passes/cache_grower.hpp"
#include "reference/onnx/append.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::rewrite {
namespace {

std::int64_t product_of_sizes(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t count = 1;
  for (std::size_t axis = first; axis < last; ++axis) count *= shape[axis];
  return count;
}

}  // namespace

/// Heads of a cache [B, H, 1, T, D], each as many times as there are queries that share it: nothing is copied.
std::optional<GrowingFact> CacheGrower::repeated(const Node& node, const Fact& from) {
  const Shape &before = shape(node.inputs[0]), &after = shape(node.outputs[0]);
  if (from.is_turned || before.size() != 5 || after.size() != 5 || before[2] != 1 || from.rows.axis != 3 ||
      from.heads != 1)
    return std::nullopt;
  for (std::size_t axis = 0; axis < after.size(); ++axis)
    if (axis != 2 && before[axis] != after[axis]) return std::nullopt;
  Fact fact = from;
  fact.heads = after[2];
  return fact;
}

/// Rows behind those that are there.
std::optional<GrowingFact> CacheGrower::joined(const Node& node, const std::vector<Fact>& inputs) {
  const ValueId out = node.outputs[0];
  if (is_steady(out)) return Fact{.on = Growth::steady, .made = add(node, node.op, operands(node))};
  const Fact& past = inputs[0];
  const auto is_like = [&](const Fact& fact) {
    return fact.on == Growth::rows && !fact.apart && fact.rows == past.rows;
  };
  const auto axis = normalize_axis(std::get<Concat>(node.op).axis, std::ssize(shape(out)), node);
  if (std::all_of(inputs.begin(), inputs.end(), is_like) && static_cast<std::int64_t>(past.rows.axis) != axis)
    return Fact{.on = Growth::rows, .made = add(node, node.op, operands(node)), .rows = past.rows};
  if (inputs.size() != 2 || past.on != Growth::rows || past.is_turned || past.heads != 1 ||
      static_cast<std::int64_t>(past.rows.axis) != axis || inputs[1].on == Growth::rows)
    return std::nullopt;
  const Shape &to = shape(out), &from = shape(node.inputs[0]), &added = shape(node.inputs[1]);
  const std::size_t at = past.rows.axis;
  Fact fact{.on = Growth::rows, .rows = {at, past.rows.behind + added[at]}};
  const std::vector<ValueId> numbers{length(past.rows.behind), made_->add_ints(node.name, {to[at]})};
  const Operator append = make_opaque(reference::kAppend, 1, {});
  if (past.apart) {
    fact.apart = *past.apart + added[at];
    const ValueId room = add(node, Concat{0}, {length(*past.apart), length(*fact.apart)});
    fact.made = add(node, append, {past.made, operand(node.inputs[1]), numbers[0], numbers[1], room});
    return fact;
  }
  const auto flat = [&](const Shape& shape) {
    return Shape{product_of_sizes(shape, 0, at), shape[at], product_of_sizes(shape, at + 1, shape.size())};
  };
  const Shape& has = made_->value(past.made).type.static_shape();
  if (has != from) return std::nullopt;
  const ValueId all = add(node, append,
                          {reshape(node, past.made, flat(from)), reshape(node, operand(node.inputs[1]), flat(added)),
                           numbers[0], numbers[1]});
  fact.made = reshape(node, all, to);
  return fact;
}

std::optional<GrowingFact> CacheGrower::appended(const Node& node, const std::vector<Fact>& inputs) {
  const ValueId out = node.outputs[0];
  const auto rows = size_of(node.inputs[reference::kAppendRows]);
  if (!rows || inputs[0].is_turned || inputs[0].heads != 1 || inputs[1].on != Growth::steady ||
      inputs[reference::kAppendStarts].on == Growth::rows)
    return std::nullopt;
  std::vector<ValueId> ids = operands(node);
  ids[reference::kAppendRows] = constant(node.inputs[reference::kAppendRows]);
  if (!rows->grows && inputs[0].on == Growth::steady)
    return Fact{.on = Growth::steady, .made = add(node, node.op, ids)};
  if (!rows->grows || !inputs[0].apart) return std::nullopt;
  ids.push_back(add(node, Concat{0}, {length(*inputs[0].apart), length(rows->number)}));
  return Fact{.on = Growth::rows,
              .made = add(node, node.op, ids),
              .rows = {shape(out).size() - 2, rows->number},
              .apart = rows->number};
}

std::optional<GrowingFact> CacheGrower::attended(const Node& node, const std::vector<Fact>& inputs) {
  const Attention& op = std::get<Attention>(node.op);
  const Fact &k = inputs[1], &v = inputs[2];
  const std::size_t axis = shape(node.inputs[1]).size() - 2, columns = shape(node.inputs[2]).size() - 2;
  if (inputs[0].on != Growth::steady || k.on != Growth::rows || v.on != Growth::rows || k.rows.axis != axis ||
      v.rows.axis != columns || k.rows.behind != v.rows.behind || k.apart != v.apart || k.heads != v.heads ||
      k.is_turned || v.is_turned || op.heads_inside_k || op.heads_inside_v || node.input(kBoundsInput) != kAbsent ||
      node.input(kLiveInput) != kAbsent)
    return std::nullopt;
  const auto room_of = [&](ValueId made, std::size_t at) { return made_->value(made).type.static_shape()[at]; };
  const std::size_t room_axis = made_->value(k.made).type.static_shape().size() - 2;
  if (made_->value(v.made).type.static_shape().size() != room_axis + 2 ||
      room_of(k.made, room_axis) != room_of(v.made, room_axis))
    return std::nullopt;
  std::vector<ValueId> ids = operands(node);
  if (node.input(kSinksInput) != kAbsent && inputs[kSinksInput].on != Growth::steady) return std::nullopt;
  for (std::size_t i = kAddendInput; i < std::min(inputs.size(), kBoundsInput); ++i) {
    if (node.inputs[i] == kAbsent) continue;
    const bool fits = inputs[i].on == Growth::rows && !inputs[i].apart &&
                      inputs[i].rows.axis + 1 == shape(node.inputs[i]).size() && inputs[i].rows.behind >= k.rows.behind;
    if (!fits) return std::nullopt;
  }
  ids.resize(std::max(ids.size(), kLiveInput + 1), kAbsent);
  const ValueId apart = k.apart ? length(*k.apart) : made_->add_ints(node.name, {room_of(k.made, room_axis)});
  ids[kLiveInput] = add(node, Concat{0}, {length(k.rows.behind), apart});
  if (!is_steady(node.outputs[0])) return std::nullopt;
  if (k.heads != 1)
    for (const ValueId id : {node.inputs[1], node.inputs[2]})
      if (shape(id).size() != 4 || shape(id)[0] != room_of(k.made, 0) || shape(id)[1] != room_of(k.made, 1) * k.heads)
        return std::nullopt;
  const ValueId made = k.heads == 1 ? add(node, node.op, ids) : attend_shared(node, op, ids, k.heads);
  return made == kAbsent ? std::nullopt : std::optional(Fact{.on = Growth::steady, .made = made});
}

/// Queries [B, H g, S, D] as [B, H, g, S, D] meet keys [B, H, 1, T, D].
ValueId CacheGrower::attend_shared(const Node& node, const Attention& op, std::vector<ValueId> ids,
                                   std::int64_t heads) {
  const auto with_heads = [&](ValueId id, bool inside) {
    return inside ? add(node, Transpose{{0, 2, 1, 3}}, {id}) : id;
  };
  const auto grouped = [&](ValueId id) {
    Shape shape = made_->value(id).type.static_shape();
    const std::int64_t all = shape[1];
    if (shape.size() != 4 || (all != 1 && all % heads != 0)) return kAbsent;
    shape[1] = all == 1 ? 1 : all / heads;
    shape.insert(shape.begin() + 2, all == 1 ? 1 : heads);
    return reshape(node, id, shape);
  };
  ids[0] = grouped(with_heads(ids[0], op.heads_inside_q));
  for (std::size_t i = kAddendInput; i < ids.size(); ++i)
    if (i != kLiveInput && ids[i] != kAbsent && (ids[i] = grouped(ids[i])) == kAbsent) return kAbsent;
  if (ids[0] == kAbsent) return kAbsent;
  Attention by_group = op;
  by_group.heads_inside_q = by_group.heads_inside_out = false;
  const ValueId mixed = add(node, by_group, std::move(ids));
  Shape to = made_->value(mixed).type.static_shape();
  to[1] *= to[2];
  to.erase(to.begin() + 2);
  return with_heads(reshape(node, mixed, to), op.heads_inside_out);
}

}  // namespace colonnade::rewrite
