// SPDX-License-Identifier: Apache-2.0
// Shape rules of If, Loop and Scan. Bodies are typed when they are imported; their open dimensions are settled when
// they run.
#include <algorithm>

#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

ValueType common(const ValueType& a, const ValueType& b, const RuleContext& ctx, std::string_view what) {
  const auto type = common_type(a, b);
  if (!type) ctx.fail("{} is {} and {}", what, to_text(a), to_text(b));
  return *type;
}

/// An optional datum that is absent does not tell what it might hold.
bool is_absent(const ValueType& type) {
  return type.dtype == DType::undefined && type.containers == std::vector{Container::optional};
}

bool is_optional(const ValueType& type) { return !type.is_tensor() && type.containers.front() == Container::optional; }

/// What an absent datum and one of the type have in common.
ValueType optional_of(ValueType type) {
  if (!is_optional(type)) type.containers.insert(type.containers.begin(), Container::optional);
  type.shape.reset();
  return type;
}

bool is_optional_of(const ValueType& a, const ValueType& b) {
  return a.containers.size() == b.containers.size() + 1 && a.containers.front() == Container::optional &&
         std::equal(b.containers.begin(), b.containers.end(), a.containers.begin() + 1);
}

ValueType output_type(const Body& body, std::size_t index) { return body->value(body->outputs[index]).type; }

/// The type of slices stacked along a new axis.
ValueType stacked(ValueType slice, std::int64_t count, std::int64_t axis, const RuleContext& ctx) {
  if (!slice.shape) return slice;
  const std::int64_t rank = rank_of(*slice.shape) + 1;
  slice.shape->insert(slice.shape->begin() + ctx.axis(axis, rank), count);
  return slice;
}

void check_body(const RuleContext& ctx, const Body& body, std::size_t inputs, std::size_t outputs) {
  if (body->inputs.size() != inputs) ctx.fail("its body has {} inputs, expected {}", body->inputs.size(), inputs);
  if (body->outputs.size() < outputs) {
    ctx.fail("its body has {} outputs, expected {} or more", body->outputs.size(), outputs);
  }
}

/// The value when it is one constant boolean.
std::optional<bool> constant_bool(const Graph& graph, ValueId id) {
  const auto& constant = graph.value(id).constant;
  if (!constant || constant->dtype() != DType::boolean || constant->size() != 1) return std::nullopt;
  return constant->tensor()->values<bool>().front();
}

/// The branch that a constant condition takes; null otherwise.
Body constant_branch(const If& op, const RuleContext& ctx) {
  const auto condition = constant_bool(ctx.graph(), ctx.node().input(0));
  if (!condition) return nullptr;
  return *condition ? op.then_branch : op.else_branch;
}

/// No iteration says that it is the last one: the condition is true, or the one before.
bool goes_on(const Graph& body) {
  ValueId condition = body.outputs.front();
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    const auto* unary = std::get_if<Unary>(&node->op);
    const bool is_identity = unary != nullptr && unary->kind == UnaryKind::identity;
    if (is_identity && node->outputs.front() == condition) condition = node->input(0);
  }
  return condition == body.inputs[1] || constant_bool(body, condition).value_or(false);
}

/// How often the body runs, where only the trip count decides and is known.
std::int64_t iterations(const Loop& op, const RuleContext& ctx) {
  const auto trips = ctx.ints(0);
  const bool starts = !ctx.has(1) || constant_bool(ctx.graph(), ctx.node().input(1)).value_or(false);
  if (!trips || trips->size() != 1 || trips->front() > kMaxDim || !starts || !goes_on(*op.body)) return kUnknownDim;
  return std::max<std::int64_t>(trips->front(), 0);
}

/// The body's input is one element of the type.
void check_single(const RuleContext& ctx, const Body& body, std::size_t input, DType dtype) {
  const ValueType& type = body->value(body->inputs[input]).type;
  if (type.dtype == dtype && type.is_static() && element_count(*type.shape) == 1) return;
  ctx.fail("input {} of its body is {}, expected one element of {}", input, to_text(type), name_of(dtype));
}

std::int64_t or_first(const Ints& values, std::size_t index) { return index < values.size() ? values[index] : 0; }

}  // namespace

std::optional<ValueType> common_type(const ValueType& a, const ValueType& b) {
  if (is_absent(a)) return optional_of(b);
  if (is_absent(b)) return optional_of(a);
  if (a.containers != b.containers && !is_optional_of(a, b) && !is_optional_of(b, a)) return std::nullopt;
  if (a.dtype != b.dtype && a.dtype != DType::undefined && b.dtype != DType::undefined) return std::nullopt;
  ValueType type = a.containers.size() < b.containers.size() ? b : a;
  if (type.dtype == DType::undefined) type.dtype = a.dtype == DType::undefined ? b.dtype : a.dtype;
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) {
    type.shape.reset();
    return type;
  }
  for (std::size_t axis = 0; axis < a.shape->size(); ++axis) {
    if ((*a.shape)[axis] != (*b.shape)[axis]) (*type.shape)[axis] = kUnknownDim;
  }
  return type;
}

Types infer(const If& op, const RuleContext& ctx) {
  ctx.inputs(1, ctx.input_count());
  ctx.dtype_is(0, DType::boolean);
  const std::size_t captures = ctx.input_count() - 1, outputs = op.then_branch->outputs.size();
  check_body(ctx, op.then_branch, captures, outputs);
  check_body(ctx, op.else_branch, captures, outputs);
  if (op.else_branch->outputs.size() != outputs) {
    ctx.fail("its branches have {} and {} outputs", outputs, op.else_branch->outputs.size());
  }
  const Body taken = constant_branch(op, ctx);
  Types types;
  for (std::size_t i = 0; i < outputs; ++i) {
    if (taken) {
      types.push_back(output_type(taken, i));
      continue;
    }
    types.push_back(common(output_type(op.then_branch, i), output_type(op.else_branch, i), ctx,
                           "output " + std::to_string(i) + " of its branches"));
  }
  return types;
}

Types infer(const Loop& op, const RuleContext& ctx) {
  const auto states = static_cast<std::size_t>(op.states);
  if (ctx.input_count() < states + 2)
    ctx.fail("has {} inputs, its {} states need {}", ctx.input_count(), states, states + 2);
  check_body(ctx, op.body, ctx.input_count(), states + 1);
  if (ctx.has(0)) ctx.integer(0);
  if (ctx.has(1)) ctx.dtype_is(1, DType::boolean);
  check_single(ctx, op.body, 0, DType::i64);
  check_single(ctx, op.body, 1, DType::boolean);
  Types types;
  for (std::size_t i = 0; i < states; ++i) {
    types.push_back(common(ctx.type(i + 2), output_type(op.body, i + 1), ctx, "state " + std::to_string(i)));
  }
  const std::int64_t count = iterations(op, ctx);
  for (std::size_t i = states + 1; i < op.body->outputs.size(); ++i) {
    types.push_back(stacked(output_type(op.body, i), count, 0, ctx));
  }
  return types;
}

Types infer(const Scan& op, const RuleContext& ctx) {
  const auto states = static_cast<std::size_t>(op.states), scans = static_cast<std::size_t>(op.scans);
  if (ctx.input_count() < states + scans) ctx.fail("has {} inputs, expected {}", ctx.input_count(), states + scans);
  ctx.inputs(states + scans, ctx.input_count());
  check_body(ctx, op.body, ctx.input_count(), states);
  std::int64_t length = kUnknownDim;
  for (std::size_t i = 0; i < scans; ++i) {
    const auto& shape = ctx.shape(states + i);
    if (!shape) continue;
    const std::int64_t found = at(*shape, ctx.axis(or_first(op.input_axes, i), rank_of(*shape)));
    if (!dims_agree(length, found)) ctx.fail("{} has {} slices, another has {}", ctx.text(states + i), found, length);
    length = known_dim(length, found);
  }
  Types types;
  for (std::size_t i = 0; i < states; ++i) {
    types.push_back(common(ctx.type(i), output_type(op.body, i), ctx, "state " + std::to_string(i)));
  }
  for (std::size_t i = states; i < op.body->outputs.size(); ++i) {
    types.push_back(stacked(output_type(op.body, i), length, or_first(op.output_axes, i - states), ctx));
  }
  return types;
}

}  // namespace colonnade
