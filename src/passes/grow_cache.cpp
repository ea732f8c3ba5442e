// SPDX-License-Identifier: Apache-2.0
#include "passes/grow_cache.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "graph/samples.hpp"
#include "passes/cache_grower.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/append.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace rewrite {
namespace {

constexpr std::int64_t kMostNumbers = 1 << 16;  // that are evaluated here

bool only_moves(const Operator& op) {
  return std::holds_alternative<Concat>(op) || std::holds_alternative<Squeeze>(op) ||
         std::holds_alternative<Unsqueeze>(op) || std::holds_alternative<Reshape>(op) ||
         std::holds_alternative<Gather>(op) || std::holds_alternative<Slice>(op) || std::holds_alternative<Fill>(op) ||
         std::holds_alternative<Expand>(op) || std::holds_alternative<Select>(op);
}

bool compares_numbers(BinaryKind kind) {
  return kind == BinaryKind::equal || kind == BinaryKind::less || kind == BinaryKind::less_or_equal ||
         kind == BinaryKind::greater || kind == BinaryKind::greater_or_equal;
}

Tensor shape_as_tensor(const Shape& shape, const ShapeOf& op) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamped = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t first = clamped(op.start), last = std::max(first, clamped(op.end.value_or(rank)));
  return tensor_of(Ints(shape.begin() + first, shape.begin() + last));
}

/// The elements that a node makes of constants, if they are few.
std::optional<Tensor> known_after(const Graph& graph, const Node& node) {
  if (const auto* op = std::get_if<ShapeOf>(&node.op))
    return shape_as_tensor(*graph.value(node.inputs[0]).type.shape, *op);
  if (!bodies_of(node.op).empty() || std::holds_alternative<Opaque>(node.op)) return std::nullopt;
  std::vector<std::shared_ptr<const Tensor>> kept;
  std::vector<const Tensor*> tensors;
  for (const ValueId id : node.inputs) {
    const auto& constant = id == kAbsent ? nullptr : graph.value(id).constant;
    if (id != kAbsent && (!constant || constant->size() > kMostNumbers || constant->dtype() == DType::string))
      return std::nullopt;
    kept.push_back(constant ? constant->tensor() : nullptr);
    tensors.push_back(kept.back().get());
  }
  const ValueType& type = graph.value(node.outputs[0]).type;
  if (!type.is_static() || element_count(*type.shape) > kMostNumbers) return std::nullopt;
  return std::move(reference::evaluate(node, tensors).at(0));
}

}  // namespace

CacheGrower::CacheGrower(const Graph& graph, const GrowingShapes& shapes)
    : graph_(graph),
      given_(shapes),
      lengths_{shapes.first, shapes.first + 1, shapes.last},
      sized_{graph, graph, graph},
      facts_(graph.values.size()),
      blame_(graph.values.size(), nullptr),
      made_(std::make_shared<Graph>()) {
  made_->name = graph.name;
  made_->samples = count_samples(graph, shapes.shapes);
  made_->has_other_sizes = true;
}

GrowingNetwork CacheGrower::run() {
  take_inputs();
  for (const Node& node : graph_.nodes) take(node);
  for (const ValueId id : graph_.outputs) {
    if (take_output(id)) continue;
    GrowingNetwork none;
    none.reason = blame(id);
    return none;
  }
  made_->inputs.push_back(length_);
  remove_dead(*made_);
  network_.graph = std::move(made_);
  return std::move(network_);
}

std::string CacheGrower::blame(ValueId id) const {
  const Node* node = blame_[place(id)];
  if (node == nullptr) return fmt::format("output '{}'", graph_.value(id).name);
  return fmt::format("node '{}' ({})", node->name, name_of(node->op));
}

/// Read only where rows are put behind it.
bool CacheGrower::is_cache(ValueId id) const {
  const std::size_t rank = shape(id).size();
  const auto& axis = given_.axes[static_cast<std::size_t>(std::find(graph_.inputs.begin(), graph_.inputs.end(), id) -
                                                          graph_.inputs.begin())];
  if (rank < 3 || axis->axis != rank - 2) return false;
  bool found = false;
  for (const Node& node : graph_.nodes) {
    const auto readers = std::count(node.inputs.begin(), node.inputs.end(), id);
    if (readers == 0 || std::holds_alternative<ShapeOf>(node.op)) continue;
    const auto* concat = std::get_if<Concat>(&node.op);
    const auto* opaque = std::get_if<Opaque>(&node.op);
    const bool joins =
        concat != nullptr && node.inputs.size() == 2 &&
        normalize_axis(concat->axis, static_cast<std::int64_t>(rank), node) == static_cast<std::int64_t>(rank) - 2;
    const bool appends = opaque != nullptr && opaque->definition == &reference::kAppend;
    if (readers > 1 || node.inputs[0] != id || !(joins || appends)) return false;
    found = true;
  }
  return found && std::count(graph_.outputs.begin(), graph_.outputs.end(), id) == 0;
}

void CacheGrower::take_inputs() {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ValueId id = graph_.inputs[i];
    for (std::size_t at = 0; at < lengths_.size(); ++at)
      sized_[at].value(id).type.shape = shape_at(given_.shapes[i], given_.axes[i], lengths_[at]);
    const Value& value = graph_.value(id);
    Fact& fact = facts_[place(id)];
    fact = {.on = Growth::steady, .made = made_->add_value(value.name, sized_[kLast].value(id).type)};
    made_->inputs.push_back(fact.made);
    network_.in_place.push_back(true);
    if (!given_.axes[i]) continue;
    fact.on = Growth::rows;
    fact.rows = *given_.axes[i];
    network_.in_place[i] = is_cache(id);
    if (network_.in_place[i]) fact.apart = fact.rows.behind;
    fact.zero_behind = !network_.in_place[i];
  }
  length_ = made_->add_value("length", {DType::i64, Shape{1}});
}

bool CacheGrower::take_output(ValueId id) {
  Fact fact = facts_[place(id)];
  if (graph_.value(id).constant || fact.on == Growth::unknown) return false;
  if (fact.on == Growth::sizes) fact.made = numbers(id);
  const bool lies_dense =
      fact.on != Growth::rows || (fact.apart == fact.rows.behind && fact.heads == 1 && !fact.is_turned);
  const auto count = [&](const std::vector<ValueId>& ids) { return std::count(ids.begin(), ids.end(), fact.made); };
  if (!lies_dense || count(made_->inputs) + count(made_->outputs) > 0) return false;
  made_->outputs.push_back(fact.made);
  network_.outputs.push_back(fact.on == Growth::rows ? std::optional(fact.rows) : std::nullopt);
  return true;
}

bool CacheGrower::has_shape(ValueId id) const {
  return std::all_of(sized_.begin(), sized_.end(),
                     [&](const Graph& graph) { return graph.value(id).type.is_static(); });
}

/// Whether the shapes of all outputs are known.
bool CacheGrower::infer_sizes(const Node& node) {
  for (Graph& graph : sized_) {
    for (const ValueId id : node.outputs)
      if (id != kAbsent) graph.value(id).type.shape.reset();
    const std::vector<ValueType> types = infer_types(graph, node);
    for (std::size_t i = 0; i < types.size(); ++i)
      if (node.outputs[i] != kAbsent) graph.value(node.outputs[i]).type = types[i];
  }
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id == kAbsent || has_shape(id); });
}

/// Whether what a node makes of a + b n is of that kind, at all lengths.
bool CacheGrower::is_affine(const Node& node) const {
  if (only_moves(node.op) || std::holds_alternative<ShapeOf>(node.op)) {
    const bool picks = std::holds_alternative<Gather>(node.op);
    const bool chooses = std::holds_alternative<Select>(node.op);
    const ValueId by = picks ? node.inputs[1] : chooses ? node.inputs[0] : kAbsent;
    return by == kAbsent || facts_[place(by)].on != Growth::sizes;
  }
  if (const auto* cast = std::get_if<Cast>(&node.op)) return cast->to != DType::boolean;
  if (const auto* unary = std::get_if<Unary>(&node.op))
    return unary->kind == UnaryKind::neg || unary->kind == UnaryKind::identity;
  const auto* binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr) return false;
  const BinaryKind kind = binary->kind;
  if (!compares_numbers(kind))
    return kind == BinaryKind::add || kind == BinaryKind::sub || kind == BinaryKind::mul || kind == BinaryKind::max ||
           kind == BinaryKind::min;
  std::array<std::vector<double>, 2> apart;
  for (const std::size_t at : {kFirst, kLast}) {
    const Node difference{Binary{BinaryKind::sub}, {0, 1}, {0}, node.name, node.origin};
    const auto a = sized_[at].value(node.inputs[0]).constant->tensor(),
               b = sized_[at].value(node.inputs[1]).constant->tensor();
    const std::vector<const Tensor*> operands{a.get(), b.get()};
    apart[at == kLast] = reference::load_all<double>(reference::evaluate(difference, operands).at(0));
  }
  const auto sign = [](double x) { return (x > 0) - (x < 0); };
  return std::equal(apart[0].begin(), apart[0].end(), apart[1].begin(), apart[1].end(),
                    [&](double x, double y) { return sign(x) == sign(y); });
}

/// Elements that follow from the length: the same at all of them, or a + b n. Sums, products, the larger and the
/// smaller of such that are so at three lengths are so at all between.
std::optional<GrowingFact> CacheGrower::settled(const Node& node) {
  if (node.outputs.size() != 1) return std::nullopt;
  const ValueId out = node.outputs[0];
  std::array<std::shared_ptr<const Constant>, 3> found;
  for (std::size_t at = 0; at < sized_.size(); ++at) {
    auto known = known_after(sized_[at], node);
    if (!known) return std::nullopt;
    found[at] = std::make_shared<const Constant>(*std::move(known));
  }
  const bool varies = std::any_of(node.inputs.begin(), node.inputs.end(),
                                  [&](ValueId id) { return id != kAbsent && facts_[place(id)].on == Growth::sizes; }) ||
                      std::holds_alternative<ShapeOf>(node.op);
  const bool grows = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    return id != kAbsent && facts_[place(id)].on == Growth::rows && !std::holds_alternative<ShapeOf>(node.op);
  });
  if (grows || found[kFirst]->shape() != found[kLast]->shape() || (varies && !is_affine(node))) return std::nullopt;
  const auto first = reference::load_all<double>(*found[kFirst]->tensor()),
             next = reference::load_all<double>(*found[kNext]->tensor()),
             last = reference::load_all<double>(*found[kLast]->tensor());
  const double steps = static_cast<double>(lengths_[kLast] - lengths_[kFirst]);
  for (std::size_t i = 0; i < first.size(); ++i)
    if (last[i] != first[i] + steps * (next[i] - first[i])) return std::nullopt;
  for (std::size_t at = 0; at < sized_.size(); ++at) sized_[at].value(out).constant = found[at];
  if (first != last) return Fact{.on = Growth::sizes};
  return Fact{.on = Growth::steady, .made = made_->add_constant(graph_.value(out).name, found[kLast])};
}

/// Of rows that are counted: indices are looked at.
void CacheGrower::keep_elements(const Node& node) {
  for (Graph& graph : sized_)
    if (auto known = known_after(graph, node))
      graph.value(node.outputs[0]).constant = std::make_shared<const Constant>(*std::move(known));
}

std::vector<GrowingFact> CacheGrower::facts_of(const Node& node) {
  std::vector<Fact> inputs;
  for (const ValueId id : node.inputs) {
    if (id == kAbsent) {
      inputs.push_back({.on = Growth::steady});
      continue;
    }
    Fact& fact = facts_[place(id)];
    const Value& value = graph_.value(id);
    if (value.constant && fact.on == Growth::unknown)
      fact = {.on = Growth::steady, .made = made_->add_constant(value.name, value.constant)};
    inputs.push_back(fact);
  }
  return inputs;
}

void CacheGrower::take(const Node& node) {
  std::optional<Fact> found;
  const std::vector<Fact> inputs = facts_of(node);
  const bool are_known =
      std::none_of(inputs.begin(), inputs.end(), [](const Fact& fact) { return fact.on == Growth::unknown; });
  try {
    if (are_known && bodies_of(node.op).empty() && infer_sizes(node)) {
      found = settled(node);
      if (!found) found = after(node, inputs);
      if (found && found->on == Growth::rows && !found->apart) keep_elements(node);
      if (!found &&
          std::none_of(inputs.begin(), inputs.end(), [](const Fact& fact) { return fact.on != Growth::steady; }) &&
          copy(node))
        return;
    }
  } catch (const Error&) {
    found.reset();
  }
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    if (found) facts_[place(id)] = *found;
    if (!found) blame_[place(id)] = &node;
    for (const ValueId input : node.inputs)
      if (!found && input != kAbsent && blame_[place(input)] != nullptr) blame_[place(id)] = blame_[place(input)];
  }
}

/// A node whose outputs are of the same shape at all lengths, as it is.
bool CacheGrower::copy(const Node& node) {
  for (const ValueId id : node.outputs)
    if (id != kAbsent && !is_steady(id)) return false;
  Node copied{node.op, operands(node), {}, node.name, node.origin};
  for (const ValueId id : node.outputs) {
    const bool absent = id == kAbsent;
    copied.outputs.push_back(absent ? kAbsent : made_->add_value(graph_.value(id).name, sized_[kLast].value(id).type));
    if (!absent) facts_[place(id)] = {.on = Growth::steady, .made = copied.outputs.back()};
  }
  made_->nodes.push_back(std::move(copied));
  return true;
}

}  // namespace rewrite

GrowingNetwork grow_cache(const Graph& graph, const GrowingShapes& shapes) {
  try {
    return rewrite::CacheGrower(graph, shapes).run();
  } catch (const Error& error) {
    GrowingNetwork none;
    none.reason = error.what();
    return none;
  }
}

Shape shape_at(Shape shape, const std::optional<GrowingAxis>& axis, std::int64_t n) {
  if (axis) shape[axis->axis] = n + axis->behind;
  return shape;
}

}  // namespace colonnade
