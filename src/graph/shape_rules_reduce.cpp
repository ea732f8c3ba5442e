// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

Shape reduced(const Shape& shape, const Ints& axes, bool keepdims) {
  Shape result;
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!gone) {
      result.push_back(at(shape, axis));
    } else if (keepdims) {
      result.push_back(1);
    }
  }
  return result;
}

Ints all_axes(std::int64_t rank) {
  Ints axes;
  for (std::int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

/// Axes that are not constant: the rank is known when dimensions are kept.
std::optional<Shape> reduced_by_unknown(const RuleContext& ctx, const Reduce& op) {
  if (op.keepdims) return unknown_shape(rank_of(*ctx.shape(0)));
  const auto count = ctx.length_as_rank(1);
  const std::int64_t rank = rank_of(*ctx.shape(0));
  if (!count || *count == 0 || *count > rank) return std::nullopt;
  return unknown_shape(rank - *count);
}

Types along_axis(const RuleContext& ctx, std::int64_t axis) {
  ctx.inputs(1, 1);
  if (ctx.shape(0)) ctx.axis(axis, std::max<std::int64_t>(rank_of(*ctx.shape(0)), 1));
  return {ctx.type(0)};
}

/// x with `count` parameters, one value a channel each.
Types per_channel(const RuleContext& ctx, std::int64_t axis, std::size_t count) {
  ctx.inputs(count + 1, count + 1);
  ctx.rank_at_least(0, 2);
  const std::int64_t channels = ctx.shape(0) ? at(*ctx.shape(0), ctx.axis(axis, rank_of(*ctx.shape(0)))) : kUnknownDim;
  for (std::size_t input = 1; input <= count; ++input) ctx.vector(input, channels, "one value a channel");
  return {ctx.type(0)};
}

}  // namespace

Types infer(const Reduce& op, const RuleContext& ctx) {
  ctx.inputs(1, 2);
  const DType dtype = ctx.dtype(0);
  ctx.integer(1);
  if (!ctx.shape(0)) return {{dtype, std::nullopt}};
  const std::int64_t rank = rank_of(*ctx.shape(0));
  const auto given = ctx.ints(1);
  if (ctx.has(1) && !given) return {{dtype, reduced_by_unknown(ctx, op)}};
  const bool none = !given || given->empty();
  if (none && op.noop_with_empty_axes) return {ctx.type(0)};
  const Ints axes = none ? all_axes(rank) : normalized_axes(ctx, *given, rank);
  return {{dtype, reduced(*ctx.shape(0), axes, op.keepdims)}};
}

Types infer(const ArgReduce& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  if (!ctx.shape(0)) return {{DType::i64, std::nullopt}};
  const std::int64_t axis = ctx.axis(op.axis, rank_of(*ctx.shape(0)));
  const Shape result = reduced(*ctx.shape(0), {axis}, op.keepdims);
  const bool asks = std::ranges::all_of(result, [](std::int64_t size) { return size > 0; });
  if (at(*ctx.shape(0), axis) == 0 && asks) ctx.fail("axis {} of {} is empty", axis, ctx.text(0));
  return {{DType::i64, result}};
}

Types infer(const Softmax& op, const RuleContext& ctx) {
  ctx.floating(0);
  return along_axis(ctx, op.axis);
}
Types infer(const Hardmax& op, const RuleContext& ctx) { return along_axis(ctx, op.axis); }
Types infer(const BatchNorm& op, const RuleContext& ctx) { return per_channel(ctx, op.axis, 4); }
Types infer(const InstanceNorm& op, const RuleContext& ctx) { return per_channel(ctx, op.axis, 2); }

Types infer(const Lrn& op, const RuleContext& ctx) {
  if (op.size < 1) ctx.fail("size must be positive, is {}", op.size);
  return along_axis(ctx, op.axis);
}

Types infer(const LayerNorm& op, const RuleContext& ctx) {
  ctx.inputs(2, 3);
  if (!ctx.shape(0)) return {ctx.type(0)};
  const Shape& shape = *ctx.shape(0);
  ctx.axis(op.axis, rank_of(shape));
  for (std::size_t input = 1; input <= 2; ++input) {
    const std::optional<Shape> combined = broadcast(ctx, shape, ctx.shape(input));
    if (combined && !std::equal(combined->begin(), combined->end(), shape.begin(), shape.end(), dims_agree)) {
      ctx.fail("{} is {}, wider than {}", ctx.text(input), to_text(ctx.type(input)), ctx.text(0));
    }
  }
  return {ctx.type(0)};
}

Types infer(const CumSum&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.integer(1);
  const auto axis = ctx.ints(1);
  if (axis && axis->size() != 1) ctx.fail("{} must hold one axis, holds {}", ctx.text(1), axis->size());
  if (axis && ctx.shape(0)) ctx.axis(axis->front(), rank_of(*ctx.shape(0)));
  return {ctx.type(0)};
}

Types infer(const TopK& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.integer(1);
  if (!ctx.shape(0)) return {ctx.type(0), {DType::i64, std::nullopt}};
  Shape shape = *ctx.shape(0);
  const std::int64_t axis = ctx.axis(op.axis, rank_of(shape));
  const auto k = ctx.ints(1);
  if (k && k->size() != 1) ctx.fail("{} must hold one number, holds {}", ctx.text(1), k->size());
  if (k && (k->front() < 0 || (at(shape, axis) >= 0 && k->front() > at(shape, axis)))) {
    ctx.fail("k is {}, axis {} of {} has {}", k->front(), axis, ctx.text(0), at(shape, axis));
  }
  at(shape, axis) = k ? k->front() : kUnknownDim;
  return {{ctx.dtype(0), shape}, {DType::i64, shape}};
}

}  // namespace colonnade
