// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "graph/parameters.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

std::size_t index_of(std::int64_t value) { return static_cast<std::size_t>(value); }

void append(Shape& shape, std::span<const std::int64_t> dims) { shape.insert(shape.end(), dims.begin(), dims.end()); }

/// Indices select single elements: no axis of theirs may exceed the data's.
void check_element_indices(const RuleContext& ctx, std::int64_t given_axis, bool bounded) {
  if (!ctx.shape(0)) return;
  const std::int64_t rank = rank_of(*ctx.shape(0));
  const std::int64_t axis = ctx.axis(given_axis, rank);
  ctx.rank(1, index_of(rank));
  if (!ctx.shape(1) || !bounded) return;
  for (std::int64_t other = 0; other < rank; ++other) {
    const std::int64_t limit = at(*ctx.shape(0), other);
    if (other != axis && limit >= 0 && at(*ctx.shape(1), other) > limit) {
      ctx.fail("axis {} of {} is {}, of {} only {}", other, ctx.text(1), at(*ctx.shape(1), other), ctx.text(0), limit);
    }
  }
}

/// Length of the index tuples; throws when it exceeds what the data has left. Unknown: nothing.
std::optional<std::int64_t> tuple_length(const RuleContext& ctx, std::int64_t batch_dims) {
  ctx.integer(1);
  ctx.rank_at_least(1, 1);
  if (!ctx.shape(1) || ctx.shape(1)->back() < 0) return std::nullopt;
  const std::int64_t length = ctx.shape(1)->back();
  if (ctx.shape(0) && length > rank_of(*ctx.shape(0)) - batch_dims) {
    ctx.fail("{} holds tuples of {} indices, {} has rank {}", ctx.text(1), length, ctx.text(0), ctx.shape(0)->size());
  }
  return length;
}

std::optional<std::int64_t> depth_of(const RuleContext& ctx) {
  if (const auto ints = ctx.ints(1); ints && ints->size() == 1) return ints->front();
  if (const auto floats = ctx.floats(1);
      floats && floats->size() == 1 && floats->front() >= 0 && floats->front() < 1e12f) {
    return static_cast<std::int64_t>(floats->front());
  }
  return std::nullopt;
}

}  // namespace

void check_constant_indices(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const RuleContext ctx(graph, node);
    std::optional<std::int64_t> axis;
    if (const auto* op = std::get_if<Gather>(&node.op)) axis = op->axis;
    if (const auto* op = std::get_if<GatherElements>(&node.op)) axis = op->axis;
    if (const auto* op = std::get_if<ScatterElements>(&node.op)) axis = op->axis;
    if (!axis || !ctx.shape(0)) continue;
    const std::int64_t along = ctx.axis(*axis, rank_of(*ctx.shape(0))), size = at(*ctx.shape(0), along);
    const auto indices = size < 0 ? std::nullopt : ctx.ints(1);
    for (const std::int64_t index : indices.value_or(Ints()))
      if (index < -size || index >= size)
        ctx.fail("index {} is outside axis {} of {}, which has {}", index, along, ctx.text(0), size);
  }
}

Types infer(const Gather& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.integer(1);
  ctx.rank_at_least(0, 1);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  const Shape& data = *ctx.shape(0);
  const std::int64_t axis = ctx.axis(op.axis, rank_of(data));
  if (!ctx.shape(1)) return {{ctx.dtype(0), std::nullopt}};
  const std::span<const std::int64_t> dims(data);
  Shape shape(data.begin(), data.begin() + axis);
  append(shape, *ctx.shape(1));
  append(shape, dims.subspan(index_of(axis) + 1));
  if (rank_of(shape) > kMaxRank) ctx.fail("gives rank {}, more than {}", shape.size(), kMaxRank);
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const GatherElements& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.integer(1);
  check_element_indices(ctx, op.axis, true);
  return {{ctx.dtype(0), ctx.shape(1)}};
}

Types infer(const GatherNd& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  if (op.batch_dims < 0) ctx.fail("batch_dims is {}", op.batch_dims);
  ctx.rank_at_least(0, index_of(op.batch_dims) + 1);
  ctx.rank_at_least(1, index_of(op.batch_dims) + 1);
  const auto length = tuple_length(ctx, op.batch_dims);
  if (!length || !ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  const Shape& indices = *ctx.shape(1);
  for (std::size_t axis = 0; axis < index_of(op.batch_dims); ++axis)
    ctx.dim(1, axis, (*ctx.shape(0))[axis], "the batch");
  Shape shape(indices.begin(), indices.end() - 1);
  append(shape, std::span<const std::int64_t>(*ctx.shape(0)).subspan(index_of(op.batch_dims + *length)));
  if (rank_of(shape) > kMaxRank) ctx.fail("gives rank {}, more than {}", shape.size(), kMaxRank);
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const ScatterNd&, const RuleContext& ctx) {
  ctx.inputs(3, 3);
  ctx.same_dtype(2, 0);
  const auto length = tuple_length(ctx, 0);
  if (!length || !ctx.shape(0) || !ctx.shape(2)) return {ctx.type(0)};
  Shape expected(ctx.shape(1)->begin(), ctx.shape(1)->end() - 1);
  append(expected, std::span<const std::int64_t>(*ctx.shape(0)).subspan(index_of(*length)));
  const Shape& updates = *ctx.shape(2);
  if (!std::equal(expected.begin(), expected.end(), updates.begin(), updates.end(), dims_agree)) {
    ctx.fail("{} must have shape {}, is {}", ctx.text(2), to_text({DType::undefined, expected}), to_text(ctx.type(2)));
  }
  return {ctx.type(0)};
}

Types infer(const ScatterElements& op, const RuleContext& ctx) {
  ctx.inputs(3, 3);
  ctx.integer(1);
  ctx.same_dtype(2, 0);
  check_element_indices(ctx, op.axis, true);
  if (ctx.shape(1) && ctx.shape(2)) {
    ctx.rank(2, ctx.shape(1)->size());
    for (std::size_t axis = 0; axis < ctx.shape(1)->size(); ++axis)
      ctx.dim(2, axis, (*ctx.shape(1))[axis], "the indices");
  }
  return {ctx.type(0)};
}

Types infer(const OneHot& op, const RuleContext& ctx) {
  ctx.inputs(3, 3);
  ctx.vector(2, 2, "off and on");
  if (!ctx.shape(0)) return {{ctx.dtype(2), std::nullopt}};
  const std::int64_t axis = ctx.axis(op.axis, rank_of(*ctx.shape(0)) + 1);
  const auto depth = depth_of(ctx);
  if (depth && *depth < 0) ctx.fail("the depth is {}", *depth);
  Shape shape = *ctx.shape(0);
  shape.insert(shape.begin() + axis, depth.value_or(kUnknownDim));
  return {{ctx.dtype(2), std::move(shape)}};
}

Types infer(const NonZero&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  const std::int64_t rank = ctx.shape(0) ? rank_of(*ctx.shape(0)) : kUnknownDim;
  return {{DType::i64, Shape{rank, kUnknownDim}}};
}

}  // namespace colonnade
