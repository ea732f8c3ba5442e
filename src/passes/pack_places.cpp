// SPDX-License-Identifier: Apache-2.0
// What depends on positions, on how far they are apart and on whether tokens are live.
#include <algorithm>

#include "passes/token_packer.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

bool is_one(const Fact& fact, Dependence on) { return fact.on == on; }

std::size_t count_of(const std::vector<Fact>& facts, Dependence on) {
  return static_cast<std::size_t>(
      std::count_if(facts.begin(), facts.end(), [&](const Fact& fact) { return is_one(fact, on); }));
}

const Fact& first_of(const std::vector<Fact>& facts, Dependence on) {
  return *std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return is_one(fact, on); });
}

bool compares(BinaryKind kind) {
  return kind == BinaryKind::equal || kind == BinaryKind::less || kind == BinaryKind::less_or_equal ||
         kind == BinaryKind::greater || kind == BinaryKind::greater_or_equal;
}

/// Whether no position, or each one, compares so with a number.
bool is_settled(BinaryKind kind, double number) {
  return (kind == BinaryKind::greater_or_equal && number <= 0) || (kind == BinaryKind::less && number <= 0);
}

bool keeps_numbers(const Operator& op) {
  const auto* cast = std::get_if<Cast>(&op);
  return cast != nullptr && (cast->to == DType::i32 || cast->to == DType::i64 || cast->to == DType::f32);
}

}  // namespace

std::optional<Fact> TokenPacker::elementwise(const Node& node, const Facts& inputs) {
  const auto count = [&](Dependence on) { return count_of(inputs, on); };
  const bool others = count(Dependence::text) + count(Dependence::spot) > 0;
  if (others) return std::nullopt;
  if (count(Dependence::texts) > 0)
    return count(Dependence::texts) + count(Dependence::fixed) == inputs.size() ? along(node, inputs, Dependence::texts)
                                                                                : std::nullopt;
  if (count(Dependence::tokens) > 0) return along(node, inputs, Dependence::tokens);
  if (count(Dependence::apart) > 0) return by_distance(node, inputs);
  if (count(Dependence::place) > 0 && count(Dependence::live) == 0) return between_places(node, inputs);
  return count(Dependence::place) == 0 ? of_live(node, inputs) : std::nullopt;
}

/// Numbers of texts become where their tokens lie in the batch.
std::optional<Fact> TokenPacker::of_texts_and_places(const Node& node, const Facts& inputs) {
  const auto count = [&](Dependence on) { return count_of(inputs, on); };
  if (count(Dependence::text) == 0) return std::nullopt;
  Fact out = first_of(inputs, Dependence::text);
  if (inputs.size() == 1) return keeps_numbers(node.op) ? std::optional(out) : std::nullopt;
  const auto* binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr || inputs.size() != 2) return std::nullopt;
  if (binary->kind == BinaryKind::mul && count(Dependence::sizes) == 1 && out.plain) {
    const ValueId size = node.inputs[inputs[0].on == Dependence::sizes ? 0 : 1];
    if (number_of(sized_.value(size)) != static_cast<double>(kTokens)) return std::nullopt;
    out.plain = false;
    out.scaled = true;
    return out;
  }
  if (binary->kind != BinaryKind::add || count(Dependence::place) != 1 || !out.scaled) return std::nullopt;
  const std::size_t other = inputs[0].on == Dependence::place ? 0 : 1;
  if (!inputs[other].plain) return std::nullopt;
  const std::size_t shift = shape(node.outputs[0]).size() - shape(node.inputs[other]).size();
  return Fact{.on = Dependence::spot, .axis = inputs[other].axis + shift};
}

/// Positions along one axis, or two of them compared.
std::optional<Fact> TokenPacker::between_places(const Node& node, const Facts& inputs) {
  const std::size_t rank = shape(node.outputs[0]).size();
  const auto axis_of = [&](std::size_t i) { return inputs[i].axis + rank - shape(node.inputs[i]).size(); };
  const auto* binary = std::get_if<Binary>(&node.op);
  if (count_of(inputs, Dependence::place) < 2 || binary == nullptr || axis_of(0) == axis_of(1)) {
    const Fact& from = first_of(inputs, Dependence::place);
    const std::size_t fixed = inputs[0].on == Dependence::fixed ? 0 : inputs.size() - 1;
    if (binary != nullptr && from.plain && inputs[1].on == Dependence::fixed && inputs[fixed].dead &&
        is_settled(binary->kind, *inputs[fixed].dead)) {
      Fact settled{.on = Dependence::fixed};
      settled.dead = settled.most = binary->kind == BinaryKind::less ? 0 : 1;
      Tensor all(DType::f64, Shape(rank, 1));
      all.values<double>()[0] = *settled.dead;
      settled.packed = packed_->add_constant(node.name, all.converted(DType::boolean));
      return settled;
    }
    auto out = along(node, inputs, Dependence::place);
    if (out) out->plain = from.plain && keeps_numbers(node.op);
    return out;
  }
  const bool differs = binary->kind == BinaryKind::sub;
  if (!inputs[0].plain || !inputs[1].plain || !(differs || compares(binary->kind))) return std::nullopt;
  Fact out{
      .on = Dependence::apart, .axis = std::max(axis_of(0), axis_of(1)), .query = std::min(axis_of(0), axis_of(1))};
  Ints target(rank, 1);
  target[out.axis] = -1;
  ValueId apart = reshape(node, add_input(PackedRole::apart, "apart", DType::i64, {-1}), target);
  const DType dtype = graph_.value(node.inputs[0]).type.dtype;
  if (dtype != DType::i64) apart = add(node, Cast{dtype}, {apart});
  const bool turned = axis_of(0) < axis_of(1);
  if (differs)
    out.packed = turned ? add(node, Unary{UnaryKind::neg}, {apart}) : apart;
  else
    out.packed = turned ? add(node, node.op, {number(node.inputs[0], 0), apart})
                        : add(node, node.op, {apart, number(node.inputs[0], 0)});
  return out;
}

/// Of one number for live tokens and one for padding.
std::optional<Fact> TokenPacker::of_live(const Node& node, const Facts& inputs) {
  const std::size_t rank = shape(node.outputs[0]).size();
  const Fact* first = nullptr;
  std::size_t axis = 0;
  std::vector<double> live;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].dead) return std::nullopt;
    live.push_back(inputs[i].on == Dependence::live ? inputs[i].live : *inputs[i].dead);
    if (inputs[i].on != Dependence::live) continue;
    const std::size_t own = inputs[i].axis + rank - shape(node.inputs[i]).size();
    if ((first != nullptr && own != axis) || shape(node.inputs[i]).size() != rank) return std::nullopt;
    first = &inputs[i], axis = own;
  }
  Fact out = *first;
  out.axis = axis;
  follow_dead(graph_, node, inputs, out);
  out.live = evaluated(graph_, node, live);
  out.is_input = std::all_of(inputs.begin(), inputs.end(),
                             [](const Fact& fact) { return fact.is_input || fact.on == Dependence::fixed; });
  return out;
}

/// Tokens, texts or positions, each by itself.
std::optional<Fact> TokenPacker::along(const Node& node, const Facts& inputs, Dependence on) {
  const std::size_t rank = shape(node.outputs[0]).size();
  Fact out{.on = on, .is_input = true};
  bool first = true, zero = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = inputs[i];
    const ValueId id = node.inputs[i];
    if (id == kAbsent || fact.on == Dependence::fixed) continue;
    const std::size_t axis = fact.axis + rank - shape(id).size();
    const bool fits =
        fact.on == on || (on == Dependence::tokens && (fact.on == Dependence::place || fact.on == Dependence::live));
    if (!fits || (fact.on != Dependence::place && shape(id).size() != rank) || (!first && axis != out.axis))
      return std::nullopt;
    out.axis = axis, first = false;
    zero = zero || (fact.on == Dependence::live && fact.dead == 0.0) || fact.zero_dead;
    out.is_input = out.is_input && fact.is_input;
  }
  const auto* binary = std::get_if<Binary>(&node.op);
  const bool multiplies = binary != nullptr && binary->kind == BinaryKind::mul;
  out.zero_dead = on == Dependence::tokens && zero && (multiplies || std::holds_alternative<Cast>(node.op));
  for (std::size_t i = 0; i < inputs.size() && multiplies; ++i)
    if (inputs[i].on == Dependence::live && inputs[i].live == 1 && shape(node.inputs[1 - i]) == shape(node.outputs[0]))
      out.packed = operand(node.inputs[1 - i]);
  if (out.packed == kAbsent) out.packed = add(node, node.op, operands(node));
  return out;
}

/// What depends on how far two positions are apart, and on whether the one behind is live.
std::optional<Fact> TokenPacker::by_distance(const Node& node, const Facts& inputs) {
  const std::size_t rank = shape(node.outputs[0]).size();
  const Fact& like = first_of(inputs, Dependence::apart);
  Fact out{.on = Dependence::apart};
  bool first = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = inputs[i];
    if (fact.on == Dependence::fixed) continue;
    if (fact.on != Dependence::apart && fact.on != Dependence::live) return std::nullopt;
    const std::size_t shift = rank - shape(node.inputs[i]).size();
    const std::size_t query = fact.on == Dependence::apart ? fact.query + shift : out.query;
    if (!first && (fact.axis + shift != out.axis || (fact.on == Dependence::apart && query != out.query)))
      return std::nullopt;
    if (first) {
      out.axis = fact.axis + shift;
      out.query = rank - shape(node.inputs[i]).size() + fact.query;
      if (fact.on == Dependence::live) out.query = like.query;
    }
    first = false;
  }
  follow_dead(graph_, node, inputs, out);
  out.packed = add(node, node.op, operands(node));
  return out;
}

/// 0, 1, .. as far as there are tokens, or texts.
std::optional<Fact> TokenPacker::counted_up(const Node& node, const Facts& inputs) {
  const auto first = number_of(sized_.value(node.inputs[0])), last = number_of(sized_.value(node.inputs[1])),
             step = number_of(sized_.value(node.inputs[2]));
  if (first != 0.0 || step != 1.0 || !last) return std::nullopt;
  if (last == static_cast<double>(kBatch)) return Fact{.on = Dependence::text, .plain = true};
  if (last != static_cast<double>(kTokens)) return inputs[1].on == Dependence::fixed ? fixed(node) : std::nullopt;
  Fact out{.on = Dependence::place, .packed = places(), .plain = true};
  const DType dtype = graph_.value(node.outputs[0]).type.dtype;
  if (dtype != DType::i64) out.packed = add(node, Cast{dtype}, {out.packed});
  return out;
}

/// The same number everywhere.
std::optional<Fact> TokenPacker::filled(const Node& node) {
  Fact out{.on = Dependence::fixed};
  if (facts_[place(node.inputs[1])].on != Dependence::fixed) return std::nullopt;
  const Ints target = packed_sizes(shape(node.outputs[0]), out);
  Fact value = facts_[place(node.inputs[1])];
  if (element_count(target) == 1) {
    const auto one = number_of(packed_->value(value.packed));
    if (!one) return std::nullopt;
    Tensor all(DType::f64, Shape(target.size(), 1));
    all.values<double>()[0] = *one;
    out.packed = packed_->add_constant(node.name, all.converted(graph_.value(node.outputs[0]).type.dtype));
    out.dead = out.most = *one;
    return out;
  }
  out.packed = add(node, Fill{}, {packed_->add_ints(node.name + "_shape", target), value.packed});
  out.most = value.most;
  return out;
}

/// Along batch and tokens nothing has to be repeated.
std::optional<Fact> TokenPacker::expanded(const Node& node, const Facts& inputs) {
  Fact out = inputs[0];
  if (out.on == Dependence::sizes || out.on == Dependence::texts) return std::nullopt;
  const Shape &from = shape(node.inputs[0]), &to = shape(node.outputs[0]);
  const std::size_t shift = to.size() - from.size();
  const bool fixed_axis = out.on == Dependence::fixed || out.on == Dependence::text;
  if (!fixed_axis && out.on != Dependence::apart && to[out.axis + shift] != from[out.axis]) return std::nullopt;
  if (out.on == Dependence::tokens && (shift != 0 || from[0] != to[0])) return std::nullopt;
  out.axis += shift, out.query += shift;
  out.is_input = false;
  if (out.packed == kAbsent) return shift == 0 ? std::optional(out) : std::nullopt;
  Ints target;
  bool same = shift == 0;
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    target.push_back(has_batch(to[axis]) || has_tokens(to[axis]) ? 1 : to[axis]);
    same = same && (axis < shift || plain(from[axis - shift]) == plain(to[axis]));
  }
  if (!same) out.packed = add(node, Expand{}, {out.packed, packed_->add_ints(node.name + "_shape", target)});
  return out;
}

/// The mask at text and place of each token.
std::optional<Fact> TokenPacker::picked_live(const Node& node, const Facts& inputs) {
  const bool whole = shape(node.inputs[0]) == Shape{kBatch, kTokens};
  if (std::get<GatherNd>(node.op).batch_dims != 0 || inputs[0].on != Dependence::live || !whole ||
      inputs[1].on != Dependence::spot || !inputs[1].split)
    return std::nullopt;
  Fact out = inputs[0];
  out.axis = inputs[1].axis;
  out.is_input = false;
  return out;
}

/// Sums along a text, padding included: counted before it is left out.
std::optional<Fact> TokenPacker::counted_before(const Node& node, const CumSum&, const Facts& inputs) {
  const ValueType& type = graph_.value(node.outputs[0]).type;
  const bool ints = type.dtype == DType::i64 || type.dtype == DType::i32;
  const auto axis = constant_ints(graph_, node, 1);
  if (!inputs[0].is_input || !ints || shape(node.inputs[0]) != Shape{kBatch, kTokens} || !axis ||
      (*axis != Ints{1} && *axis != Ints{-1}))
    return std::nullopt;
  if (!before_) {
    before_ = std::make_shared<Graph>(graph_);
    before_->outputs.clear();
  }
  Fact out{.on = Dependence::tokens, .axis = 1, .is_input = true};
  out.packed =
      add_input(PackedRole::tokens, node.name, type.dtype, {1, -1}, graph_.inputs.size() + before_->outputs.size());
  before_->outputs.push_back(node.outputs[0]);
  return out;
}

}  // namespace colonnade::rewrite
