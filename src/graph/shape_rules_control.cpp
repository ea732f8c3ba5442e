// SPDX-License-Identifier: Apache-2.0
// Shape rules of If, Loop and Scan. Bodies are typed when they are imported; their open dimensions are settled when
// they run.
#include <algorithm>

#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// What is true of both types.
ValueType common(ValueType a, const ValueType& b, const RuleContext& ctx, std::string_view what) {
  if (a.dtype == DType::undefined) a.dtype = b.dtype;
  if (b.dtype != DType::undefined && a.dtype != b.dtype) {
    ctx.fail("{} is {} and {}", what, to_text(a), to_text(b));
  }
  if (a.containers != b.containers) {
    // an optional may be given where its element is expected and the other way round
    if (a.containers.size() < b.containers.size()) a.containers = b.containers;
    a.shape.reset();
    return a;
  }
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) {
    a.shape.reset();
    return a;
  }
  for (std::size_t axis = 0; axis < a.shape->size(); ++axis) {
    if ((*a.shape)[axis] != (*b.shape)[axis]) (*a.shape)[axis] = kUnknownDim;
  }
  return a;
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

std::int64_t or_first(const Ints& values, std::size_t index) { return index < values.size() ? values[index] : 0; }

}  // namespace

Types infer(const If& op, const RuleContext& ctx) {
  ctx.inputs(1, ctx.input_count());
  ctx.dtype_is(0, DType::boolean);
  const std::size_t captures = ctx.input_count() - 1, outputs = op.then_branch->outputs.size();
  check_body(ctx, op.then_branch, captures, outputs);
  check_body(ctx, op.else_branch, captures, outputs);
  if (op.else_branch->outputs.size() != outputs) {
    ctx.fail("its branches have {} and {} outputs", outputs, op.else_branch->outputs.size());
  }
  Types types;
  for (std::size_t i = 0; i < outputs; ++i) {
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
  if (ctx.has(1)) ctx.dtype_is(1, DType::boolean);
  Types types;
  for (std::size_t i = 0; i < states; ++i) {
    types.push_back(common(ctx.type(i + 2), output_type(op.body, i + 1), ctx, "state " + std::to_string(i)));
  }
  for (std::size_t i = states + 1; i < op.body->outputs.size(); ++i) {
    types.push_back(stacked(output_type(op.body, i), kUnknownDim, 0, ctx));
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
