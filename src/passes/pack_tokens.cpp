// SPDX-License-Identifier: Apache-2.0
#include "passes/pack_tokens.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "passes/token_packer.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace rewrite {

TokenPacker::TokenPacker(const Graph& graph, std::size_t mask)
    : graph_(graph),
      sized_(graph),
      facts_(graph.values.size()),
      blame_(graph.values.size(), nullptr),
      packed_(std::make_shared<Graph>()) {
  packed_->name = graph.name;
  packing_.mask = mask;
}

Packing TokenPacker::run() {
  if (!take_inputs()) return refuse("an input is not [batch, tokens]");
  for (const Node& node : graph_.nodes) take(node);
  for (const ValueId id : graph_.outputs)
    if (!take_output(id)) return refuse(blame(id));
  if (!meets_) return refuse("no attention is masked");
  if (before_) {
    remove_dead(*before_);
    packing_.before = std::move(before_);
  }
  packing_.graph = std::move(packed_);
  return std::move(packing_);
}

Packing TokenPacker::refuse(std::string reason) const {
  Packing none;
  none.reason = std::move(reason);
  return none;
}

std::string TokenPacker::blame(ValueId id) const {
  const Node* node = blame_[place(id)];
  if (node == nullptr) return fmt::format("output '{}'", graph_.value(id).name);
  return fmt::format("node '{}' ({})", node->name, name_of(node->op));
}

bool TokenPacker::take_inputs() {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const ValueId id = graph_.inputs[i];
    const ValueType& type = graph_.value(id).type;
    const bool ints = type.dtype == DType::i64 || type.dtype == DType::i32;
    if (!ints || !type.shape || type.shape->size() != 2 || (*type.shape)[1] >= 0) return false;
    sized_.value(id).type.shape = Shape{kBatch, kTokens};
    Fact& fact = facts_[place(id)];
    if (i == packing_.mask) {
      fact = {.on = Dependence::live, .axis = 1, .is_input = true, .dead = 0, .most = 0};
      continue;
    }
    fact = {.on = Dependence::tokens, .axis = 1, .is_input = true};
    fact.packed = add_input(PackedRole::tokens, graph_.value(id).name, type.dtype, {1, -1}, i);
  }
  return true;
}

/// What the packed graph gives has the dimensions of the network's output behind tokens or texts.
bool TokenPacker::take_output(ValueId id) {
  const Fact& fact = facts_[place(id)];
  const bool of_tokens = fact.on == Dependence::tokens && fact.axis == 1;
  if (!of_tokens && fact.on != Dependence::texts) return false;
  const std::size_t lead = of_tokens ? 2 : 1;
  const auto rest = rest_of(id, lead);
  if (!rest || shape(id)[0] != kBatch || (of_tokens && shape(id)[1] != kTokens)) return false;
  const Shape& packed = *packed_->value(fact.packed).type.shape;
  if (packed.size() != rest->size() + lead ||
      !std::equal(rest->begin(), rest->end(), packed.begin() + std::ssize(packed) - std::ssize(*rest)))
    return false;
  const auto count = [&](const std::vector<ValueId>& ids) { return std::count(ids.begin(), ids.end(), fact.packed); };
  if (count(packed_->inputs) + count(packed_->outputs) > 0) return false;
  packing_.of_tokens.push_back(of_tokens);
  packed_->outputs.push_back(fact.packed);
  return true;
}

bool TokenPacker::has_sizes(ValueId id) const {
  const auto& shape = sized_.value(id).type.shape;
  return shape && std::none_of(shape->begin(), shape->end(), [](std::int64_t size) { return size < 0; });
}

TokenPacker::Facts TokenPacker::facts_of(const Node& node) {
  Facts inputs;
  for (const ValueId id : node.inputs) {
    if (id == kAbsent) {
      inputs.push_back({.on = Dependence::fixed});
      continue;
    }
    Fact& fact = facts_[place(id)];
    if (graph_.value(id).constant && fact.on == Dependence::unknown) {
      fact = known(graph_.value(id));
    }
    inputs.push_back(fact);
  }
  return inputs;
}

Fact TokenPacker::known(const Value& value) {
  Fact fact{.on = Dependence::fixed, .packed = packed_->add_constant(value.name, value.constant)};
  fact.dead = number_of(value);
  if (fact.dead) fact.most = *fact.dead;
  return fact;
}

/// Sizes of the outputs, and their elements where those are sizes themselves.
void TokenPacker::infer_sizes(const Node& node) {
  for (const ValueId id : node.outputs)
    if (id != kAbsent) sized_.value(id).type.shape.reset();
  const std::vector<ValueType> types = infer_types(sized_, node);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (node.outputs[i] != kAbsent) sized_.value(node.outputs[i]).type = types[i];
  if (node.outputs.size() != 1) return;
  const bool of_sizes =
      std::holds_alternative<ShapeOf>(node.op) || std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
        return id != kAbsent && facts_[place(id)].on == Dependence::sizes;
      });
  if (!of_sizes) return;
  auto sizes = size_after(sized_, node);
  if (!sizes) return;
  Value& value = sized_.value(node.outputs[0]);
  value.type.shape = sizes->shape();
  value.constant = std::make_shared<const Constant>(*std::move(sizes));
  facts_[place(node.outputs[0])] = is_open(*value.constant->tensor()) ? Fact{.on = Dependence::sizes} : known(value);
}

void TokenPacker::take(const Node& node) {
  const auto is_known = [&](ValueId id) { return id == kAbsent || has_sizes(id); };
  std::optional<Fact> found;
  const Facts inputs = facts_of(node);
  try {
    if (std::all_of(node.inputs.begin(), node.inputs.end(), is_known)) {
      infer_sizes(node);
      if (node.outputs.size() == 1 && facts_[place(node.outputs[0])].on != Dependence::unknown) return;
      if (node.outputs.size() == 1 && has_sizes(node.outputs[0])) found = after(node, inputs);
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

std::optional<Fact> TokenPacker::fixed(const Node& node) {
  std::vector<std::shared_ptr<const Tensor>> kept;
  std::vector<const Tensor*> tensors;
  constexpr std::int64_t kMostNumbers = 4096;
  for (const ValueId id : operands(node)) {
    const auto& constant = id == kAbsent ? nullptr : packed_->value(id).constant;
    if (id != kAbsent && (!constant || constant->size() > kMostNumbers)) {
      return Fact{.on = Dependence::fixed, .packed = add(node, node.op, operands(node))};
    }
    kept.push_back(constant ? constant->tensor() : nullptr);
    tensors.push_back(kept.back().get());
  }
  Value& value = sized_.value(node.outputs[0]);
  value.constant = std::make_shared<const Constant>(std::move(reference::evaluate(node, tensors).at(0)));
  return known(value);
}

std::optional<Fact> TokenPacker::after(const Node& node, const Facts& inputs) {
  const auto has = [&](Dependence on) {
    return std::any_of(inputs.begin(), inputs.end(), [&](const Fact& fact) { return fact.on == on; });
  };
  if (std::holds_alternative<Range>(node.op)) return counted_up(node, inputs);
  if (has(Dependence::unknown)) return std::nullopt;
  if (std::all_of(inputs.begin(), inputs.end(), [](const Fact& fact) { return fact.on == Dependence::fixed; }))
    return fixed(node);
  if (std::holds_alternative<Fill>(node.op)) return filled(node);
  if (std::holds_alternative<Expand>(node.op)) return expanded(node, inputs);
  if (std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Flatten>(node.op) ||
      std::holds_alternative<Squeeze>(node.op) || std::holds_alternative<Unsqueeze>(node.op))
    return reshaped(node, inputs);
  if (std::holds_alternative<Slice>(node.op)) return sliced(node, inputs);
  if (is_elementwise(node.op) && (has(Dependence::text) || has(Dependence::sizes)))
    return of_texts_and_places(node, inputs);
  if (has(Dependence::sizes)) return std::nullopt;
  if (is_elementwise(node.op)) return elementwise(node, inputs);
  if (const auto* op = std::get_if<Transpose>(&node.op)) return transposed(node, *op, inputs);
  if (const auto* op = std::get_if<Gather>(&node.op)) return gathered(node, *op, inputs);
  if (const auto* op = std::get_if<GatherElements>(&node.op)) return gathered_elements(node, *op, inputs);
  if (std::holds_alternative<GatherNd>(node.op)) return picked_live(node, inputs);
  if (const auto* op = std::get_if<Concat>(&node.op)) return joined(node, *op, inputs);
  if (const auto* op = std::get_if<Reduce>(&node.op)) return reduced(node, *op, inputs);
  if (const auto* op = std::get_if<CumSum>(&node.op)) return counted_before(node, *op, inputs);
  if (const auto* op = std::get_if<MatMul>(&node.op)) return multiplied(node, *op, inputs);
  if (const auto* op = std::get_if<Softmax>(&node.op)) return normalised(node, op->axis, false, inputs);
  if (const auto* op = std::get_if<LayerNorm>(&node.op)) return normalised(node, op->axis, true, inputs);
  if (const auto* op = std::get_if<Attention>(&node.op)) return attention(node, *op, inputs);
  return std::nullopt;
}

Ints TokenPacker::packed_sizes(const Shape& sizes, const Fact& fact) const {
  Ints packed;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool rows = fact.on == Dependence::texts   ? axis == 0
                      : fact.on == Dependence::fixed ? false
                                                     : axis == fact.axis;
    packed.push_back(rows ? -1 : plain(sizes[axis]));
  }
  return packed;
}

/// Dimensions from `lead` on, where they are known and none is empty.
std::optional<Ints> TokenPacker::rest_of(ValueId id, std::size_t lead) const {
  const Shape& from = shape(id);
  if (from.size() < lead) return std::nullopt;
  Ints rest(from.begin() + static_cast<std::ptrdiff_t>(lead), from.end());
  const auto is_open = [](std::int64_t size) { return size < 1 || has_batch(size) || has_tokens(size); };
  return std::any_of(rest.begin(), rest.end(), is_open) ? std::nullopt : std::optional(rest);
}

ValueId TokenPacker::number(ValueId like, double value) {
  const ValueType& type = graph_.value(like).type;
  Tensor wanted(DType::f64, {});
  wanted.values<double>()[0] = value;
  return packed_->add_constant(graph_.value(like).name, wanted.converted(type.dtype));
}

ValueId TokenPacker::operand(ValueId id) {
  if (id == kAbsent) return kAbsent;
  const Fact& fact = facts_[place(id)];
  return fact.on == Dependence::live ? number(id, fact.live) : fact.packed;
}

std::vector<ValueId> TokenPacker::operands(const Node& node) {
  std::vector<ValueId> ids;
  for (const ValueId id : node.inputs) ids.push_back(operand(id));
  return ids;
}

ValueId TokenPacker::add_input(PackedRole role, const std::string& name, DType dtype, Shape of, std::size_t source) {
  for (std::size_t i = 0; i < packing_.inputs.size() && role != PackedRole::tokens; ++i)
    if (packing_.inputs[i].role == role) return packed_->inputs[i];
  const ValueId id = packed_->add_value(name, {dtype, std::move(of)});
  packed_->value(id).dim_names.assign(packed_->value(id).type.shape->size(), "");
  packed_->inputs.push_back(id);
  packing_.inputs.push_back({role, source});
  return id;
}

ValueId TokenPacker::add(const Node& like, Operator op, std::vector<ValueId> inputs) {
  Node node{std::move(op), std::move(inputs), {kAbsent}, like.name, like.origin};
  ValueType type = infer_types(*packed_, node).at(0);
  node.outputs[0] = packed_->add_value(like.name, std::move(type));
  packed_->nodes.push_back(std::move(node));
  return packed_->nodes.back().outputs[0];
}

ValueId TokenPacker::reshape(const Node& like, ValueId value, const Ints& target) {
  return add(like, Reshape{}, {value, packed_->add_ints(like.name + "_shape", target)});
}

}  // namespace rewrite

Packing pack_tokens(const Graph& graph) {
  Packing none;
  none.reason = "no input is a mask";
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.value(graph.inputs[i]).name.find("mask") == std::string::npos) continue;
    Packing found;
    try {
      found = rewrite::TokenPacker(graph, i).run();
    } catch (const Error& error) {
      found.reason = error.what();
    }
    found.is_text = none.is_text = true;
    if (found.graph) return found;
    none.reason = std::move(found.reason);
  }
  return none;
}

}  // namespace colonnade
