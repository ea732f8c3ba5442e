// SPDX-License-Identifier: Apache-2.0
// What depends on tokens and on texts, and changes of shape.
#include <algorithm>
#include <cmath>

#include "graph/contraction.hpp"
#include "passes/permutation.hpp"
#include "passes/token_packer.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

Ints counted_from_front(Ints axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
  return axes;
}

double largest_of(const Constant& constant) {
  if (constant.dtype() == DType::string) return std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
  for (const double number : reference::load_all<double>(*constant.tensor())) largest = std::max(largest, number);
  return largest;
}

/// What is known of a value after it was reshaped.
std::optional<Fact> rearranged(Fact fact, const Shape& from, const Shape& to) {
  fact.is_input = fact.is_input && from == to;
  if (fact.on == Dependence::fixed) return fact;
  if (fact.on == Dependence::unknown || fact.on == Dependence::sizes || from.empty() || to.empty()) return std::nullopt;
  if (fact.on == Dependence::texts) return from[0] == kBatch && to[0] == kBatch ? std::optional(fact) : std::nullopt;
  if (fact.on == Dependence::text)
    return axis_among(from, to, 0) == std::size_t{0} ? std::optional(fact) : std::nullopt;
  std::optional<std::size_t> axis;
  if (fact.on != Dependence::tokens) axis = axis_among(from, to, fact.axis);
  if (fact.on == Dependence::apart) {
    const auto query = axis_among(from, to, fact.query);
    if (!query) return std::nullopt;
    fact.query = *query;
  } else if (!axis && fact.on != Dependence::spot) {
    axis = axis_of_rows(from, to, fact.axis);
  }
  if (!axis) return std::nullopt;
  fact.axis = *axis;
  return fact;
}

}  // namespace

bool TokenPacker::leaves_alone(ValueId id, const Fact& fact, std::size_t axis) const {
  if (fact.on == Dependence::fixed) return true;
  if (fact.on == Dependence::texts) return axis != 0;
  if (fact.on == Dependence::apart && axis == fact.query) return false;
  return axis != fact.axis && !has_batch(shape(id)[axis]) && !has_tokens(shape(id)[axis]);
}

std::optional<Fact> TokenPacker::reshaped(const Node& node, const Facts& inputs) {
  const Shape &from = shape(node.inputs[0]), &to = shape(node.outputs[0]);
  std::optional<Fact> out = rearranged(inputs[0], from, to);
  if (out && out->packed != kAbsent) out->packed = reshape(node, out->packed, packed_sizes(to, *out));
  return out;
}

std::optional<Fact> TokenPacker::transposed(const Node& node, const Transpose& op, const Facts& inputs) {
  Fact out = inputs[0];
  const Ints perm = perm_of(op, shape(node.inputs[0]).size());
  const auto at = [&](std::size_t axis) {
    return static_cast<std::size_t>(std::find(perm.begin(), perm.end(), static_cast<std::int64_t>(axis)) -
                                    perm.begin());
  };
  const bool of_batch = has_batch(shape(node.inputs[0])[0]) && out.axis != 0;
  if (out.on == Dependence::text || out.on == Dependence::spot || out.on == Dependence::live) return std::nullopt;
  if ((of_batch || out.on == Dependence::texts) && perm[0] != 0) return std::nullopt;
  out.axis = at(out.axis), out.query = at(out.query);
  if (out.on == Dependence::apart && out.axis < out.query) return std::nullopt;
  out.is_input = false;
  out.packed = add(node, op, {operand(node.inputs[0])});
  return out;
}

/// Rows of a table, or the first token of each text.
std::optional<Fact> TokenPacker::gathered(const Node& node, const Gather& op, const Facts& inputs) {
  const auto rank = std::ssize(shape(node.inputs[0]));
  const auto axis = static_cast<std::size_t>(op.axis < 0 ? op.axis + rank : op.axis);
  const Fact& indices = inputs[1];
  if (inputs[0].on == Dependence::live && indices.on == Dependence::spot && !indices.split && axis == 0 &&
      has_batch(shape(node.inputs[0])[0]) && has_tokens(shape(node.inputs[0])[0])) {
    Fact out = inputs[0];
    out.axis = indices.axis;
    out.is_input = false;
    return out;
  }
  if (inputs[0].on == Dependence::fixed) {
    const bool follows =
        indices.on == Dependence::tokens || indices.on == Dependence::place || indices.on == Dependence::apart;
    if (axis != 0 || !follows) return std::nullopt;
    Fact out{.on = indices.on, .axis = indices.axis, .query = indices.query};
    const auto& table = packed_->value(inputs[0].packed).constant;
    if (out.on == Dependence::apart && table) out.most = largest_of(*table);
    out.packed = add(node, Gather{0}, operands(node));
    return out;
  }
  const auto known = constant_ints(graph_, node, 1);
  if (inputs[0].on == Dependence::tokens && inputs[0].axis == 1 && axis == 1 && known == Ints{0})
    return first_tokens(node, shape(node.inputs[1]).size() == 1);
  const bool rows =
      inputs[0].on == Dependence::tokens || inputs[0].on == Dependence::place || inputs[0].on == Dependence::texts;
  if (!rows || indices.on != Dependence::fixed || !leaves_alone(node.inputs[0], inputs[0], axis)) return std::nullopt;
  Fact out = inputs[0];
  if (axis < out.axis) out.axis += shape(node.inputs[1]).size() - 1;
  out.plain = out.is_input = false;
  out.packed = add(node, op, operands(node));
  return out;
}

/// Of a table that is the same for all texts.
std::optional<Fact> TokenPacker::gathered_elements(const Node& node, const GatherElements& op, const Facts& inputs) {
  const Shape &table = shape(node.inputs[0]), &indices = shape(node.inputs[1]);
  const auto last = std::ssize(table) - 1;
  if (inputs[0].on != Dependence::fixed || (inputs[1].on != Dependence::tokens && inputs[1].on != Dependence::place))
    return std::nullopt;
  if ((op.axis != last && op.axis != -1) || inputs[1].axis + 1 != indices.size()) return std::nullopt;
  const Shape& packed = *packed_->value(inputs[0].packed).type.shape;
  if (packed.empty() || element_count(packed) != packed.back() || packed.back() < 1) return std::nullopt;
  Fact out{.on = inputs[1].on, .axis = inputs[1].axis};
  out.packed = add(node, Gather{0}, {reshape(node, inputs[0].packed, {-1}), inputs[1].packed});
  return out;
}

std::optional<Fact> TokenPacker::joined(const Node& node, const Concat& op, const Facts& inputs) {
  const auto rank = std::ssize(shape(node.outputs[0]));
  const auto axis = static_cast<std::size_t>(op.axis < 0 ? op.axis + rank : op.axis);
  if (inputs.size() == 2 && inputs[0].on == Dependence::text && inputs[0].plain && inputs[1].on == Dependence::place &&
      inputs[1].plain && axis + 1 == static_cast<std::size_t>(rank) && shape(node.outputs[0]).back() == 2 &&
      shape(node.inputs[0])[0] == kBatch)
    return Fact{.on = Dependence::spot, .axis = inputs[1].axis, .split = true};
  Fact out{.on = Dependence::place, .axis = inputs[0].axis};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = inputs[i];
    const bool rows = fact.on == Dependence::tokens || fact.on == Dependence::place;
    if (!rows || fact.axis != out.axis || !leaves_alone(node.inputs[i], fact, axis)) return std::nullopt;
    if (fact.on == Dependence::tokens) out.on = Dependence::tokens;
  }
  out.packed = add(node, op, operands(node));
  return out;
}

/// The first rows of a table, as many as there are tokens; the first token; parts of other axes.
std::optional<Fact> TokenPacker::sliced(const Node& node, const Facts& inputs) {
  const auto starts = constant_ints(sized_, node, 1), axes = constant_ints(sized_, node, 3),
             steps = constant_ints(sized_, node, 4), ends = constant_ints(sized_, node, 2);
  if (!starts || !ends || (node.input(3) != kAbsent && !axes) || (node.input(4) != kAbsent && !steps))
    return std::nullopt;
  const auto rank = std::ssize(shape(node.inputs[0]));
  Ints along = axes.value_or(Ints{});
  for (std::int64_t i = 0; !axes && i < std::ssize(*starts); ++i) along.push_back(i);
  along = counted_from_front(along, rank);
  const bool from_start = *starts == Ints{0} && along.size() == 1 && (!steps || *steps == Ints{1});
  const Fact& from = inputs[0];
  if (from.on == Dependence::tokens && from.axis == 1 && from_start && along[0] == 1 && *ends == Ints{1})
    return first_tokens(node, true);
  if (from.on == Dependence::fixed && from_start && *ends == Ints{kTokens} && along[0] < 2) {
    if (along[0] == 1 && shape(node.inputs[0])[0] != 1) return std::nullopt;
    const auto axis = static_cast<std::size_t>(along[0]);
    (*sized_.value(node.outputs[0]).type.shape)[axis] = kTokens;
    return Fact{.on = Dependence::place, .packed = add(node, Gather{along[0]}, {from.packed, places()}), .axis = axis};
  }
  const bool rows = from.on == Dependence::tokens || from.on == Dependence::place || from.on == Dependence::texts ||
                    from.on == Dependence::fixed;
  const auto alone = [&](std::int64_t axis) {
    return leaves_alone(node.inputs[0], from, static_cast<std::size_t>(axis)) &&
           !has_batch(shape(node.inputs[0])[static_cast<std::size_t>(axis)]);
  };
  const auto is_open = [](std::int64_t size) {
    return size < std::numeric_limits<std::int64_t>::max() && (has_batch(size) || has_tokens(size));
  };
  if (!rows || !std::all_of(along.begin(), along.end(), alone) || std::any_of(ends->begin(), ends->end(), is_open))
    return std::nullopt;
  std::vector<ValueId> ids{from.packed, packed_->add_ints(node.name + "_starts", *starts),
                           packed_->add_ints(node.name + "_ends", *ends),
                           packed_->add_ints(node.name + "_axes", along)};
  if (steps) ids.push_back(packed_->add_ints(node.name + "_steps", *steps));
  Fact out = from;
  out.plain = out.is_input = false;
  out.dead.reset();
  out.packed = add(node, Slice{}, std::move(ids));
  return out;
}

std::optional<Fact> TokenPacker::reduced(const Node& node, const Reduce& op, const Facts& inputs) {
  const auto given = constant_ints(graph_, node, 1);
  const auto rank = std::ssize(shape(node.inputs[0]));
  if (!given || given->empty()) return std::nullopt;
  const Ints axes = counted_from_front(*given, rank);
  const Fact& from = inputs[0];
  const bool sums = axes == Ints{1} && op.kind == ReduceKind::sum && from.axis == 1;
  if (sums && from.on == Dependence::live && from.dead == 0.0)
    return live_tokens(node, from.live, op.keepdims ? rank : rank - 1);
  if (sums && from.on == Dependence::tokens && from.zero_dead && rank == 3) return summed(node, op.keepdims);
  if (from.on != Dependence::tokens && from.on != Dependence::texts && from.on != Dependence::place)
    return std::nullopt;
  Fact out{.on = from.on, .axis = from.axis};
  for (const std::int64_t axis : axes) {
    if (!leaves_alone(node.inputs[0], from, static_cast<std::size_t>(axis))) return std::nullopt;
    if (!op.keepdims && static_cast<std::size_t>(axis) < from.axis) --out.axis;
  }
  out.packed = add(node, op, operands(node));
  return out;
}

std::optional<Fact> TokenPacker::live_tokens(const Node& node, double live, std::int64_t rank) {
  if (graph_.value(node.outputs[0]).type.dtype != DType::f32 || rank < 1) return std::nullopt;
  ValueId count = add_input(PackedRole::counts, "counts", DType::f32, {-1, 1});
  if (live != 1) count = add(node, Binary{BinaryKind::mul}, {count, number(node.outputs[0], live)});
  Ints target(static_cast<std::size_t>(rank), 1);
  target[0] = -1;
  return Fact{.on = Dependence::texts, .packed = rank == 2 ? count : reshape(node, count, target)};
}

/// Sums of the tokens of each text, in their order.
std::optional<Fact> TokenPacker::summed(const Node& node, bool keeps_axis) {
  const auto rest = rest_of(node.inputs[0], 2);
  if (!rest || graph_.value(node.outputs[0]).type.dtype != DType::f32) return std::nullopt;
  Tensor zeros(DType::f32, {rest->front()});
  std::fill(zeros.values<float>().begin(), zeros.values<float>().end(), 0.0f);
  const ValueId owners = add_input(PackedRole::owners, "owners", DType::i64, {-1, 1}),
                texts = add_input(PackedRole::texts, "texts", DType::f32, {-1, 1});
  const ValueId none = add(node, Binary{BinaryKind::add}, {texts, packed_->add_constant(node.name, std::move(zeros))});
  const ValueId rows = reshape(node, operand(node.inputs[0]), {-1, rest->front()});
  ValueId sums = add(node, ScatterNd{ScatterMode::add}, {none, owners, rows});
  if (keeps_axis) sums = reshape(node, sums, {-1, 1, rest->front()});
  return Fact{.on = Dependence::texts, .packed = sums};
}

std::optional<Fact> TokenPacker::first_tokens(const Node& node, bool keeps_axis) {
  const ValueId firsts = add_input(PackedRole::firsts, "firsts", DType::i64, {-1});
  packing_.needs_firsts = true;
  const auto rest = rest_of(node.inputs[0], 2);
  if (!rest) return std::nullopt;
  Ints target{-1};
  if (keeps_axis) target.push_back(1);
  target.insert(target.end(), rest->begin(), rest->end());
  const ValueId rows = add(node, Gather{1}, {operand(node.inputs[0]), firsts});
  return Fact{.on = Dependence::texts, .packed = reshape(node, rows, target)};
}

/// Products with weights, and of columns of weights with positions.
std::optional<Fact> TokenPacker::multiplied(const Node& node, const MatMul& op, const Facts& inputs) {
  const MatMul like{.transpose_b = op.transpose_b, .epilogue = op.epilogue};
  const std::size_t rank = shape(node.outputs[0]).size();
  if (op != like) return std::nullopt;
  if (inputs[0].on == Dependence::fixed && inputs[1].on == Dependence::place && !op.transpose_b && inputs.size() == 2 &&
      inputs[1].axis + 1 == shape(node.inputs[1]).size())
    return Fact{.on = Dependence::place, .packed = add(node, op, operands(node)), .axis = rank - 1};
  Fact out{.on = inputs[0].on, .axis = inputs[0].axis};
  const bool rows = out.on == Dependence::tokens || out.on == Dependence::place || out.on == Dependence::texts;
  const bool weights = inputs[1].on == Dependence::fixed && shape(node.inputs[1]).size() == 2;
  if (!rows || !weights || rank < 2 || shape(node.inputs[0]).size() != rank ||
      !leaves_alone(node.inputs[0], inputs[0], rank - 1))
    return std::nullopt;
  for (std::size_t i = 2; i < inputs.size(); ++i) {
    const bool alike = inputs[i].on == out.on && inputs[i].axis == out.axis && shape(node.inputs[i]).size() == rank;
    if (!alike && inputs[i].on != Dependence::fixed) return std::nullopt;
  }
  out.packed = add(node, op, operands(node));
  return out;
}

/// Softmax along an axis, or norms from one on.
std::optional<Fact> TokenPacker::normalised(const Node& node, std::int64_t axis, bool to_the_end, const Facts& inputs) {
  const std::size_t rank = shape(node.inputs[0]).size();
  const auto first = static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
  Fact out{.on = inputs[0].on, .axis = inputs[0].axis};
  if (out.on != Dependence::tokens && out.on != Dependence::texts) return std::nullopt;
  for (std::size_t at = first; at < (to_the_end ? rank : first + 1); ++at)
    if (!leaves_alone(node.inputs[0], inputs[0], at)) return std::nullopt;
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].on != Dependence::fixed) return std::nullopt;
  out.packed = add(node, node.op, operands(node));
  return out;
}

std::optional<Fact> TokenPacker::attention(const Node& node, const Attention& op, const Facts& inputs) {
  constexpr double kFar = -1e4;
  const std::size_t rank = shape(node.inputs[0]).size();
  const bool inside[] = {op.heads_inside_q, op.heads_inside_k, op.heads_inside_v};
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < kAddendInput; ++i) {
    const std::size_t axis = rank - (inside[i] ? 3 : 2);
    if (inputs[i].on != Dependence::tokens || shape(node.inputs[i]).size() != rank || inputs[i].axis != axis ||
        axis == 0 || !has_batch(shape(node.inputs[i])[0]))
      return std::nullopt;
    ids.push_back(operand(node.inputs[i]));
  }
  double most = 0;
  for (std::size_t i = kAddendInput; i < inputs.size(); ++i) {
    if (node.inputs[i] == kAbsent || i == kSinksInput) continue;
    const Fact& fact = inputs[i];
    const std::size_t own = shape(node.inputs[i]).size();
    const bool is_live = fact.on == Dependence::live && own == rank && fact.live == 0;
    const bool is_apart = fact.on == Dependence::apart && own >= 2 && fact.query + 2 == own &&
                          (own == rank || !has_batch(shape(node.inputs[i])[0]));
    if ((!is_live && !is_apart) || fact.axis + 1 != own || std::isnan(fact.most)) return std::nullopt;
    most += fact.most;
    if (is_apart) ids.push_back(fact.packed);
  }
  if (!(most <= kFar)) return std::nullopt;
  const bool by_distance = ids.size() > kAddendInput;
  ids.resize(kBoundsInput, kAbsent);
  ids.push_back(add_input(PackedRole::bounds, "bounds", DType::i64, {-1}));
  if (by_distance) ids.push_back(places());
  if (const ValueId sinks = node.input(kSinksInput); sinks != kAbsent) {
    const auto is_open = [](std::int64_t size) { return has_batch(size) || has_tokens(size); };
    if (inputs[kSinksInput].on != Dependence::fixed || std::ranges::any_of(shape(sinks), is_open)) return std::nullopt;
    ids.resize(kSinksInput, kAbsent);
    ids.push_back(operand(sinks));
  }
  meets_ = true;
  const std::size_t axis = rank - (op.heads_inside_out ? 3 : 2);
  return Fact{.on = Dependence::tokens, .packed = add(node, op, std::move(ids)), .axis = axis};
}

}  // namespace colonnade::rewrite
