// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// The -1 of a reshape: what x's elements leave over. Axes copied from x (0 in the target) cancel, known or not.
std::int64_t leftover_dim(const RuleContext& ctx, const Shape& input, const Ints& target, bool allow_zero) {
  std::int64_t elements = 1;
  std::int64_t known = 1;
  for (std::size_t axis = 0; axis < std::max(input.size(), target.size()); ++axis) {
    const bool copied = axis < target.size() && target[axis] == 0 && !allow_zero;
    if (copied) continue;
    if (axis < input.size()) {
      if (input[axis] < 0) return kUnknownDim;
      elements = checked_mul(elements, input[axis]);
    }
    if (axis < target.size() && target[axis] >= 0) known = checked_mul(known, target[axis]);
  }
  if (known == 0 || elements % known != 0) {
    ctx.fail("{} elements of {} cannot be divided by {}", elements, ctx.text(0), known);
  }
  return elements / known;
}

Shape reshaped(const RuleContext& ctx, const Reshape& op, const Ints& target) {
  const auto& input = ctx.shape(0);
  Shape shape = target;
  std::int64_t open = -1;
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    std::int64_t& dim = at(shape, axis);
    if (dim < -1) ctx.fail("the new shape holds {}", dim);
    if (dim == -1) {
      if (open >= 0) ctx.fail("the new shape has more than one -1");
      open = axis;
    }
    if (dim == 0 && !op.allow_zero) {
      if (input && axis >= rank_of(*input)) ctx.fail("copies axis {}, which {} does not have", axis, ctx.text(0));
      dim = input ? at(*input, axis) : kUnknownDim;
    }
  }
  if (open >= 0 && input) at(shape, open) = leftover_dim(ctx, *input, target, op.allow_zero);
  const std::int64_t before = input ? product_of(*input) : kUnknownDim;
  const std::int64_t after = product_of(shape);
  if (before >= 0 && after >= 0 && before != after) {
    ctx.fail("{} has {} elements, {} has {}", ctx.text(0), before, to_text({DType::undefined, shape}), after);
  }
  return shape;
}

Shape flattened(const RuleContext& ctx, const Shape& shape, std::int64_t given) {
  const std::int64_t rank = rank_of(shape);
  const std::int64_t axis = given == rank ? rank : ctx.axis(given, std::max<std::int64_t>(rank, 1));
  const std::span<const std::int64_t> dims(shape);
  const std::size_t split = static_cast<std::size_t>(axis);
  return {product_of(dims.first(split)), product_of(dims.subspan(split))};
}

Ints axes_of_size_one(const Shape& shape) {
  Ints axes;
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    if (at(shape, axis) == 1) axes.push_back(axis);
  }
  return axes;
}

bool has_unknown(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < 0; });
}

bool contains(const Ints& axes, std::int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

std::optional<Shape> squeezed(const RuleContext& ctx) {
  const Shape& shape = *ctx.shape(0);
  const auto given = ctx.ints(1);
  if (!ctx.has(1) && has_unknown(shape)) return std::nullopt;
  if (ctx.has(1) && !given) {
    const auto count = ctx.length_as_rank(1);
    if (!count || *count > rank_of(shape)) return std::nullopt;
    return unknown_shape(rank_of(shape) - *count);
  }
  const Ints axes = given ? normalized_axes(ctx, *given, rank_of(shape)) : axes_of_size_one(shape);
  Shape result;
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    if (!contains(axes, axis)) {
      result.push_back(at(shape, axis));
    } else if (!dims_agree(at(shape, axis), 1)) {
      ctx.fail("axis {} of {} is {}, must be 1", axis, ctx.text(0), at(shape, axis));
    }
  }
  return result;
}

Ints permutation(const RuleContext& ctx, const Ints& perm, std::int64_t rank) {
  Ints result = perm;
  if (perm.empty()) {
    for (std::int64_t axis = rank; axis-- > 0;) result.push_back(axis);
  }
  if (rank_of(result) != rank) ctx.fail("perm has {} axes, {} has {}", result.size(), ctx.text(0), rank);
  Ints sorted = result;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (at(sorted, axis) != axis) ctx.fail("perm is not a permutation of {} axes", rank);
  }
  return result;
}

/// Blocks of channels become blocks of pixels, or the other way round.
Types rearranged(const RuleContext& ctx, std::int64_t block, std::int64_t given_axis, bool to_space) {
  ctx.inputs(1, 1);
  if (block < 1 || block > kMaxDim / kMaxRank) ctx.fail("block size {} is out of range", block);
  if (!ctx.shape(0)) return {ctx.type(0)};
  ctx.rank(0, 4);
  Shape shape = *ctx.shape(0);
  const std::int64_t channel_axis = ctx.axis(given_axis, 4);
  if (channel_axis == 0) ctx.fail("the channel axis cannot be 0");
  for (std::int64_t axis = 1; axis < 4; ++axis) {
    std::int64_t& dim = at(shape, axis);
    if (dim < 0) continue;
    const std::int64_t factor = axis == channel_axis ? checked_mul(block, block) : block;
    const bool divides = (axis == channel_axis) == to_space;
    if (divides && dim % factor != 0)
      ctx.fail("axis {} of {} is {}, not a multiple of {}", axis, ctx.text(0), dim, factor);
    dim = divides ? dim / factor : checked_mul(dim, factor);
  }
  return {{ctx.dtype(0), std::move(shape)}};
}

}  // namespace

Types infer(const Reshape& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.dtype_is(1, DType::i64);
  const auto rank = ctx.length_as_rank(1);
  const auto target = ctx.ints(1);
  if (target || rank == 0) return {{ctx.dtype(0), reshaped(ctx, op, target.value_or(Ints()))}};
  return {{ctx.dtype(0), rank ? std::optional(unknown_shape(*rank)) : std::nullopt}};
}

Types infer(const Flatten& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  if (!ctx.shape(0)) return {{ctx.dtype(0), unknown_shape(2)}};
  return {{ctx.dtype(0), flattened(ctx, *ctx.shape(0), op.axis)}};
}

Types infer(const Squeeze&, const RuleContext& ctx) {
  ctx.inputs(1, 2);
  ctx.integer(1);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  return {{ctx.dtype(0), squeezed(ctx)}};
}

Types infer(const Unsqueeze&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.integer(1);
  const auto count = ctx.ints(1) ? static_cast<std::int64_t>(ctx.ints(1)->size()) : ctx.length_as_rank(1);
  if (!ctx.shape(0) || !count) return {{ctx.dtype(0), std::nullopt}};
  const std::int64_t rank = rank_of(*ctx.shape(0)) + *count;
  if (rank > kMaxRank) ctx.fail("asks for rank {}, more than {}", rank, kMaxRank);
  if (!ctx.ints(1)) return {{ctx.dtype(0), unknown_shape(rank)}};
  const Ints axes = normalized_axes(ctx, *ctx.ints(1), rank);
  Shape shape;
  std::size_t source = 0;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    shape.push_back(contains(axes, axis) ? 1 : (*ctx.shape(0))[source++]);
  }
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const Transpose& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  if (!ctx.shape(0))
    return {{ctx.dtype(0), op.perm.empty() ? std::nullopt : std::optional(unknown_shape(rank_of(op.perm)))}};
  Shape shape;
  for (const std::int64_t axis : permutation(ctx, op.perm, rank_of(*ctx.shape(0))))
    shape.push_back(at(*ctx.shape(0), axis));
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const Expand&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.dtype_is(1, DType::i64);
  const auto rank = ctx.length_as_rank(1);
  const auto target = ctx.ints(1);
  if (!ctx.shape(0) || !rank) return {{ctx.dtype(0), std::nullopt}};
  if (!target) return {{ctx.dtype(0), unknown_shape(std::max(*rank, rank_of(*ctx.shape(0))))}};
  if (has_unknown(*target)) ctx.fail("the new shape {} has a negative size", to_text({DType::undefined, *target}));
  return {{ctx.dtype(0), broadcast(ctx, ctx.shape(0), *target)}};
}

Types infer(const Tile&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.dtype_is(1, DType::i64);
  const auto repeats = ctx.ints(1);
  if (!ctx.shape(0)) {
    const auto rank = ctx.length_as_rank(1);
    return {{ctx.dtype(0), rank ? std::optional(unknown_shape(*rank)) : std::nullopt}};
  }
  Shape shape = *ctx.shape(0);
  ctx.vector(1, rank_of(shape), "one repeat an axis");
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    if (repeats && at(*repeats, axis) < 0) ctx.fail("repeats axis {} {} times", axis, at(*repeats, axis));
    const bool known = repeats && at(shape, axis) >= 0;
    at(shape, axis) = known ? checked_mul(at(shape, axis), at(*repeats, axis)) : kUnknownDim;
  }
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const DepthToSpace& op, const RuleContext& ctx) { return rearranged(ctx, op.block, op.axis, true); }
Types infer(const SpaceToDepth& op, const RuleContext& ctx) { return rearranged(ctx, op.block, op.axis, false); }

Types infer(const Trilu&, const RuleContext& ctx) {
  ctx.inputs(1, 2);
  ctx.rank_at_least(0, 2);
  return {ctx.type(0)};
}

}  // namespace colonnade
