// SPDX-License-Identifier: Apache-2.0
// What a network computes of values that grow.
#include <algorithm>
#include <numeric>

#include "graph/contraction.hpp"
#include "passes/cache_grower.hpp"
#include "passes/permutation.hpp"
#include "passes/token_facts.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/append.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::rewrite {
namespace {

bool has_growing(const std::vector<GrowingFact>& facts, Growth on) {
  return std::any_of(facts.begin(), facts.end(), [&](const GrowingFact& fact) { return fact.on == on; });
}

bool is_append(const Operator& op) {
  const auto* opaque = std::get_if<Opaque>(&op);
  return opaque != nullptr && opaque->definition == &reference::kAppend;
}

bool is_reshape(const Operator& op) {
  return std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
         std::holds_alternative<Squeeze>(op) || std::holds_alternative<Unsqueeze>(op);
}

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t count = 1;
  for (std::size_t axis = first; axis < last; ++axis) count *= shape[axis];
  return count;
}

}  // namespace

std::optional<GrowingFact> CacheGrower::after(const Node& node, const std::vector<Fact>& inputs) {
  const bool sizes = has_growing(inputs, Growth::sizes), rows = has_growing(inputs, Growth::rows);
  if (node.outputs.size() != 1 || (!sizes && !rows)) return std::nullopt;
  if (std::holds_alternative<Range>(node.op)) return counted(node, inputs);
  if (std::holds_alternative<Fill>(node.op)) return filled(node);
  if (std::holds_alternative<Expand>(node.op)) return expanded(node, inputs[0]);
  if (is_reshape(node.op)) return reshaped(node, inputs[0]);
  if (std::holds_alternative<Slice>(node.op)) return sliced(node, inputs[0]);
  if (is_append(node.op)) return appended(node, inputs);
  if (is_elementwise(node.op)) return elementwise(node, inputs);
  if (std::holds_alternative<Gather>(node.op)) return gathered(node, inputs);
  if (std::holds_alternative<GatherNd>(node.op)) return picked(node, inputs);
  if (std::holds_alternative<Concat>(node.op)) return joined(node, inputs);
  const auto is_steady_fact = [](const Fact& fact) { return fact.on == Growth::steady; };
  if (sizes && !rows && is_steady(node.outputs[0]) && std::all_of(inputs.begin() + 1, inputs.end(), is_steady_fact))
    return Fact{.on = Growth::steady, .made = add(node, node.op, operands(node))};
  if (sizes) return std::nullopt;
  if (std::holds_alternative<Transpose>(node.op)) return transposed(node, inputs[0]);
  if (std::holds_alternative<Reduce>(node.op)) return reduced(node, inputs[0]);
  if (std::holds_alternative<CumSum>(node.op)) return accumulated(node, inputs[0]);
  if (std::holds_alternative<Attention>(node.op)) return attended(node, inputs);
  return std::nullopt;
}

/// Rows, what they lie in and what they hold, in their order.
std::optional<GrowingFact> CacheGrower::reshaped(const Node& node, const Fact& from) {
  const ValueId out = node.outputs[0];
  if (from.on == Growth::steady && is_steady(out))
    return Fact{.on = Growth::steady, .made = reshape(node, from.made, shape(out))};
  const auto rows = grows_along(out);
  if (from.on != Growth::rows || !rows) return std::nullopt;
  const Shape &before = shape(node.inputs[0]), &after = shape(out);
  const bool same = rows->behind == from.rows.behind &&
                    product(before, 0, from.rows.axis) == product(after, 0, rows->axis) &&
                    product(before, from.rows.axis + 1, before.size()) == product(after, rows->axis + 1, after.size());
  if (!same) return std::nullopt;
  Fact fact = from;
  fact.rows = *rows;
  if (from.heads != 1) return fact;  // its axes in front are looked at where it is read
  const Shape& made = made_->value(from.made).type.static_shape();
  Shape to = after;
  if (from.is_turned) {
    if (rows->axis + 1 != to.size() || to[rows->axis - 1] != made.back()) return std::nullopt;
    std::swap(to[rows->axis - 1], to[rows->axis]);
    to[rows->axis - 1] = made[made.size() - 2];
  } else {
    to[rows->axis] = made[from.rows.axis];
  }
  fact.made = reshape(node, from.made, to);
  return fact;
}

std::optional<GrowingFact> CacheGrower::expanded(const Node& node, const Fact& from) {
  const ValueId out = node.outputs[0];
  if (from.apart) return repeated(node, from);
  if (from.on == Growth::sizes) return std::nullopt;
  const ValueId made = add(node, Expand{}, {from.made, made_->add_ints(node.name + "_shape", shape(out))});
  if (is_steady(out)) return Fact{.on = Growth::steady, .made = made};
  const auto rows = grows_along(out);
  if (!rows) return std::nullopt;
  return Fact{.on = Growth::rows, .made = made, .rows = *rows};
}

/// The same number everywhere.
std::optional<GrowingFact> CacheGrower::filled(const Node& node) {
  const ValueId out = node.outputs[0];
  const ValueId made = add(node, Fill{}, {made_->add_ints(node.name + "_shape", shape(out)), operand(node.inputs[1])});
  if (is_steady(out)) return Fact{.on = Growth::steady, .made = made};
  const auto rows = grows_along(out);
  return rows ? std::optional(Fact{.on = Growth::rows, .made = made, .rows = *rows}) : std::nullopt;
}

/// Sums of what is in front of an element are right as far as that is, those of what is behind it are not.
std::optional<GrowingFact> CacheGrower::accumulated(const Node& node, const Fact& from) {
  const auto axis = ints(node.inputs[1]);
  if (from.on != Growth::rows || from.apart || from.heads != 1 || from.is_turned || !axis) return std::nullopt;
  const auto rank = std::ssize(shape(node.inputs[0]));
  const bool along = normalize_axis(axis->front(), rank, node) == static_cast<std::int64_t>(from.rows.axis);
  if (along && std::get<CumSum>(node.op).reverse) return std::nullopt;
  return Fact{.on = Growth::rows, .made = add(node, node.op, operands(node)), .rows = from.rows};
}

/// 0, 1, .. as far as the length, or from it on.
std::optional<GrowingFact> CacheGrower::counted(const Node& node, const std::vector<Fact>& inputs) {
  const ValueId out = node.outputs[0];
  if (inputs[2].on != Growth::steady || !sized_[kLast].value(node.inputs[2]).constant) return std::nullopt;
  const auto rows = grows_along(out);
  if (inputs[0].on == Growth::steady && rows) {
    const ValueId made =
        add(node, Range{}, {operand(node.inputs[0]), constant(node.inputs[1]), operand(node.inputs[2])});
    return Fact{.on = Growth::rows, .made = made, .rows = *rows};
  }
  const auto step = size_of(node.inputs[2]);
  if (!is_steady(out) || !step || step->grows) return std::nullopt;
  Ints counts;
  for (std::int64_t i = 0; i < shape(out)[0]; ++i) counts.push_back(i * step->number);
  ValueId made = made_->add_ints(node.name, counts);
  const DType dtype = graph_.value(out).type.dtype;
  if (dtype != DType::i64) made = add(node, Cast{dtype}, {made});
  made = add(node, Binary{BinaryKind::add}, {made, operand(node.inputs[0])});
  return Fact{.on = Growth::steady, .made = made};
}

std::optional<GrowingFact> CacheGrower::sliced(const Node& node, const Fact& from) {
  const ValueId in = node.inputs[0], out = node.outputs[0];
  const auto steps = ints(node.input(4));
  const auto starts = ints(node.inputs[1]), starts_first = ints(node.inputs[1], kFirst);
  auto axes = ints(node.input(3));
  const auto is_not_one = [](std::int64_t step) { return step != 1; };
  if (from.on == Growth::sizes || !starts || !starts_first ||
      (steps && std::any_of(steps->begin(), steps->end(), is_not_one)))
    return std::nullopt;
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  std::optional<Fact> fact = from;
  for (std::size_t i = 0; i < axes->size() && fact; ++i) {
    const auto axis = static_cast<std::size_t>(normalize_axis((*axes)[i], std::ssize(shape(in)), node));
    const auto begin_of = [&](std::int64_t start, std::size_t at) {
      const std::int64_t size = shape(in, at)[axis];
      return std::clamp<std::int64_t>(start < 0 ? start + size : start, 0, size);
    };
    fact = sliced_along(node, *fact, axis,
                        {begin_of((*starts_first)[i], kFirst), begin_of((*starts)[i], kLast), shape(out, kFirst)[axis],
                         shape(out)[axis]});
  }
  return fact;
}

std::optional<GrowingFact> CacheGrower::sliced_along(const Node& node, Fact fact, std::size_t axis, const Cut& cut) {
  const bool of_rows = fact.on == Growth::rows && fact.rows.axis == axis;
  const std::int64_t steps = lengths_[kLast] - lengths_[kFirst], behind = cut.count - lengths_[kLast];
  const bool from_start = cut.begin == 0 && cut.begin_first == 0;
  if (from_start && cut.count - cut.count_first == steps &&
      (of_rows ? behind <= fact.rows.behind : fact.on == Growth::steady)) {
    const std::size_t rank = shape(node.inputs[0]).size();
    const bool is_cache = fact.apart || (axis + 2 == rank && !made_->value(fact.made).constant);
    if (!is_cache) fact.made = part(node, fact.made, axis, 0, cut.count);
    fact.on = Growth::rows;  // of a cache, of which fewer are there
    fact.rows = {axis, behind};
    return fact;
  }
  if (cut.count != cut.count_first || fact.apart) return std::nullopt;
  if (cut.begin == cut.begin_first && (!of_rows || cut.begin + cut.count <= lengths_[kFirst] + fact.rows.behind)) {
    fact.made = part(node, fact.made, axis, cut.begin, cut.count);
  } else if (cut.begin - cut.begin_first == steps) {
    Ints indices;
    for (std::int64_t i = 0; i < cut.count; ++i) indices.push_back(cut.begin - lengths_[kLast] + i);
    const ValueId at = add(node, Binary{BinaryKind::add}, {length_, made_->add_ints(node.name, indices)});
    fact.made = add(node, Gather{static_cast<std::int64_t>(axis)}, {fact.made, at});
  } else {
    return std::nullopt;
  }
  return of_rows ? Fact{.on = Growth::steady, .made = fact.made} : fact;
}

std::optional<GrowingFact> CacheGrower::elementwise(const Node& node, const std::vector<Fact>& inputs) {
  const ValueId out = node.outputs[0];
  Fact fact{.on = Growth::steady};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].on != Growth::rows) continue;
    const std::size_t axis = inputs[i].rows.axis + shape(out).size() - shape(node.inputs[i]).size();
    const GrowingAxis found{axis, inputs[i].rows.behind};
    if (inputs[i].apart || (fact.on == Growth::rows && fact.rows != found)) return std::nullopt;
    fact.on = Growth::rows;
    fact.rows = found;
    fact.zero_behind = inputs[i].zero_behind && std::holds_alternative<Cast>(node.op);
  }
  const auto rows = grows_along(out);
  if (fact.on == Growth::rows ? rows != fact.rows : !is_steady(out)) return std::nullopt;
  fact.made = add(node, node.op, operands(node));
  return fact;
}

std::optional<GrowingFact> CacheGrower::transposed(const Node& node, const Fact& from) {
  const auto rows = grows_along(node.outputs[0]);
  if (!rows) return std::nullopt;
  if (from.apart) {
    const std::size_t rank = shape(node.inputs[0]).size();
    Ints turn = identity_perm(rank);
    std::swap(turn[rank - 1], turn[rank - 2]);
    if (perm_of(std::get<Transpose>(node.op), rank) != turn) return std::nullopt;
    Fact fact = from;
    fact.rows = *rows;
    fact.is_turned = !from.is_turned;
    return fact;
  }
  Fact fact = from;
  fact.rows = *rows;
  fact.made = add(node, node.op, operands(node));
  return fact;
}

/// Along an axis that does not grow, or a place that is there at all lengths, or follows from the length.
std::optional<GrowingFact> CacheGrower::gathered(const Node& node, const std::vector<Fact>& inputs) {
  const ValueId out = node.outputs[0];
  const auto axis =
      static_cast<std::size_t>(normalize_axis(std::get<Gather>(node.op).axis, std::ssize(shape(node.inputs[0])), node));
  if (inputs[0].apart || inputs[0].on == Growth::sizes) return std::nullopt;
  if (inputs[1].on == Growth::rows) return picked(node, inputs);
  const auto first = ints(node.inputs[1], kFirst), last = ints(node.inputs[1]);
  if (inputs[0].on == Growth::steady || inputs[0].rows.axis != axis) {
    Fact fact = inputs[0];
    if (fact.on == Growth::rows) {
      const auto rows = grows_along(out);
      if (!rows) return std::nullopt;
      fact.rows = *rows;
    }
    fact.made = add(node, node.op, operands(node));
    return fact;
  }
  if (!first || !last || !is_steady(out)) return std::nullopt;
  const auto fits = [&](const Ints& at, std::size_t length) {
    return std::all_of(at.begin(), at.end(),
                       [&](std::int64_t i) { return i >= 0 && i < lengths_[length] + inputs[0].rows.behind; });
  };
  if (!fits(*first, kFirst) || !fits(*last, kLast)) return std::nullopt;
  return Fact{.on = Growth::steady, .made = add(node, node.op, operands(node))};
}

/// By indices that follow from the length, of which each is that of an element. Those behind what is there may be any
/// at other lengths, and are kept within the axis.
std::optional<GrowingFact> CacheGrower::picked(const Node& node, const std::vector<Fact>& inputs) {
  const auto* nd = std::get_if<GatherNd>(&node.op);
  const Shape& at = shape(node.inputs[1]);
  const auto rows = grows_along(node.outputs[0]);
  const bool is_other = inputs[0].on == Growth::sizes || inputs[0].apart || inputs[1].on != Growth::rows;
  if (is_other || !rows || (nd != nullptr && (nd->batch_dims != 0 || inputs[1].rows.axis + 1 == at.size())))
    return std::nullopt;
  const std::int64_t rank = std::ssize(shape(node.inputs[0]));
  const auto first =
      nd != nullptr ? 0 : static_cast<std::size_t>(normalize_axis(std::get<Gather>(node.op).axis, rank, node));
  const std::size_t axes = nd != nullptr ? static_cast<std::size_t>(at.back()) : 1;
  if (inputs[0].on == Growth::rows && (inputs[0].rows.axis < first || inputs[0].rows.axis >= first + axes))
    return std::nullopt;
  for (const std::size_t length : {kFirst, kNext, kLast}) {
    const auto indices = ints(node.inputs[1], length);
    if (!indices) return std::nullopt;
    for (std::size_t i = 0; i < indices->size(); ++i)
      if ((*indices)[i] < 0 || (*indices)[i] >= shape(node.inputs[0], length)[first + i % axes]) return std::nullopt;
  }
  std::vector<ValueId> ids = operands(node);
  const bool is_same = is_prefix(node.inputs[1], inputs[1].rows.axis);
  if (!is_same && nd != nullptr) return std::nullopt;
  if (!is_same) {
    const auto number = [&](std::int64_t value) {
      return made_->add_constant(node.name, reference::tensor_of(graph_.value(node.inputs[1]).type.dtype, Shape{},
                                                                 std::vector<double>{static_cast<double>(value)}));
    };
    const std::int64_t last = made_->value(ids[0]).type.static_shape()[first] - 1;
    ids[1] = add(node, Binary{BinaryKind::max}, {ids[1], number(0)});
    ids[1] = add(node, Binary{BinaryKind::min}, {ids[1], number(last)});
  }
  return Fact{.on = Growth::rows, .made = add(node, node.op, ids), .rows = *rows};
}

/// Sums of numbers behind which are zeros; and what leaves the rows alone.
std::optional<GrowingFact> CacheGrower::reduced(const Node& node, const Fact& from) {
  const auto axes = constant_ints(graph_, node, 1);
  const Reduce& op = std::get<Reduce>(node.op);
  if (from.apart || !axes || axes->empty()) return std::nullopt;
  const auto is_rows = [&](std::int64_t axis) {
    return normalize_axis(axis, std::ssize(shape(node.inputs[0])), node) == static_cast<std::int64_t>(from.rows.axis);
  };
  const DType dtype = graph_.value(node.inputs[0]).type.dtype;
  if (std::any_of(axes->begin(), axes->end(), is_rows)) {
    const bool exact = op.kind == ReduceKind::sum && (dtype == DType::i64 || dtype == DType::i32);
    if (!exact || !from.zero_behind) return std::nullopt;
    return Fact{.on = Growth::steady, .made = add(node, node.op, operands(node))};
  }
  const auto rows = grows_along(node.outputs[0]);
  if (!rows) return std::nullopt;
  return Fact{.on = Growth::rows, .made = add(node, node.op, operands(node)), .rows = *rows};
}

}  // namespace colonnade::rewrite
