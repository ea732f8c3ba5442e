// SPDX-License-Identifier: Apache-2.0
// Operators that join, cut and pad along axes.
#include <algorithm>

#include "base/checked.hpp"
#include "graph/parameters.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// Joins the shape of one more input of a concatenation.
void join(const RuleContext& ctx, std::size_t input, std::int64_t axis, Shape& joined) {
  ctx.rank(input, joined.size());
  const Shape& shape = *ctx.shape(input);
  for (std::int64_t other = 0; other < rank_of(shape); ++other) {
    std::int64_t& dim = at(joined, other);
    const std::int64_t added = at(shape, other);
    if (other == axis) {
      dim = dim < 0 || added < 0 ? kUnknownDim : checked_add(dim, added);
    } else if (dims_agree(dim, added)) {
      dim = known_dim(dim, added);
    } else {
      ctx.fail("axis {} of {} is {}, of {} it is {}", other, ctx.text(input), added, ctx.text(0), dim);
    }
  }
}

std::vector<std::int64_t> equal_parts(const RuleContext& ctx, std::int64_t dim, std::size_t count) {
  const std::int64_t parts = static_cast<std::int64_t>(count);
  const std::int64_t part = dim < 0 ? kUnknownDim : ceil_div(dim, parts);
  std::vector<std::int64_t> sizes(count, part);
  if (dim < 0) return sizes;
  sizes.back() = dim - part * (parts - 1);
  if (sizes.back() < 0) ctx.fail("cannot split {} elements in {} parts", dim, parts);
  return sizes;
}

std::vector<std::int64_t> split_sizes(const RuleContext& ctx, std::int64_t dim) {
  const std::size_t count = ctx.output_count();
  if (!ctx.has(1)) return equal_parts(ctx, dim, count);
  const auto sizes = ctx.ints(1);
  if (!sizes) return std::vector<std::int64_t>(count, kUnknownDim);
  std::int64_t sum = 0;
  for (const std::int64_t size : *sizes) {
    if (size < 0) ctx.fail("the sizes hold {}", size);
    sum = checked_add(sum, size);
  }
  if (sizes->size() != count) ctx.fail("has {} sizes for {} outputs", sizes->size(), count);
  if (!dims_agree(sum, dim)) ctx.fail("the sizes sum to {}, the axis of {} has {}", sum, ctx.text(0), dim);
  return *sizes;
}

/// Axes of a slice, whose number all other inputs must have.
std::optional<Ints> slice_axes(const RuleContext& ctx, std::int64_t rank) {
  if (ctx.has(3)) {
    const auto axes = ctx.ints(3);
    return axes ? std::optional(normalized_axes(ctx, *axes, rank)) : std::nullopt;
  }
  const auto count = ctx.length_as_rank(1);
  if (!count) return std::nullopt;
  if (*count > rank) ctx.fail("slices {} axes, {} has {}", *count, ctx.text(0), rank);
  Ints axes;
  for (std::int64_t axis = 0; axis < *count; ++axis) axes.push_back(axis);
  return axes;
}

void check_length(const RuleContext& ctx, std::size_t input, std::int64_t expected) {
  ctx.integer(input);
  ctx.vector(input, expected, "one bound an axis");
}

}  // namespace

SliceRange slice_range(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  const auto from_end = [&](std::int64_t index) { return index < 0 ? checked_add(index, dim) : index; };
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? dim : dim - 1;
  const std::int64_t first =
      std::clamp(from_end(start), step > 0 ? lowest : std::min<std::int64_t>(0, highest), highest);
  const std::int64_t last = std::clamp(from_end(end), lowest, highest);
  const std::int64_t span = step > 0 ? last - first : first - last;
  if (span <= 0) return {first, 1, 0};
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  const auto count = static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / stride + 1);
  return {first, count > 1 ? step : 1, count};
}

Types infer(const Concat& op, const RuleContext& ctx) {
  if (ctx.input_count() == 0) ctx.fail("has no inputs");
  ctx.inputs(ctx.input_count(), ctx.input_count());
  DType dtype = DType::undefined;
  for (std::size_t input = 0; input < ctx.input_count(); ++input) {
    const DType common = ctx.same_dtype(input, 0);
    if (dtype == DType::undefined) dtype = common;
  }
  for (std::size_t input = 0; input < ctx.input_count(); ++input) {
    if (!ctx.shape(input)) return {{dtype, std::nullopt}};
  }
  Shape shape = *ctx.shape(0);
  const std::int64_t axis = ctx.axis(op.axis, rank_of(shape));
  for (std::size_t input = 1; input < ctx.input_count(); ++input) join(ctx, input, axis, shape);
  return {{dtype, std::move(shape)}};
}

Types infer(const Slice&, const RuleContext& ctx) {
  ctx.inputs(3, 5);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  Shape shape = *ctx.shape(0);
  const auto axes = slice_axes(ctx, rank_of(shape));
  if (!axes) return {{ctx.dtype(0), unknown_shape(rank_of(shape))}};
  for (std::size_t input = 1; input <= 4; ++input) check_length(ctx, input, rank_of(*axes));
  const auto starts = ctx.ints(1);
  const auto ends = ctx.ints(2);
  const auto steps = ctx.has(4) ? ctx.ints(4) : Ints(axes->size(), 1);
  for (std::size_t index = 0; index < axes->size(); ++index) {
    std::int64_t& dim = at(shape, (*axes)[index]);
    if (steps && (*steps)[index] == 0) ctx.fail("the step along axis {} is 0", (*axes)[index]);
    const bool known = starts && ends && steps && dim >= 0;
    dim = known ? slice_range(dim, (*starts)[index], (*ends)[index], (*steps)[index]).count : kUnknownDim;
  }
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const Split& op, const RuleContext& ctx) {
  ctx.inputs(1, 2);
  ctx.integer(1);
  if (!ctx.shape(0)) return Types(ctx.output_count(), {ctx.dtype(0), std::nullopt});
  const std::int64_t axis = ctx.axis(op.axis, rank_of(*ctx.shape(0)));
  Types types;
  for (const std::int64_t size : split_sizes(ctx, at(*ctx.shape(0), axis))) {
    Shape shape = *ctx.shape(0);
    at(shape, axis) = size;
    types.push_back({ctx.dtype(0), std::move(shape)});
  }
  return types;
}

std::optional<AxisPads> axis_pads(const Graph& graph, const Node& node, std::int64_t rank) {
  const RuleContext ctx(graph, node);
  const auto pads = ctx.ints(1);
  if (!pads || (ctx.has(3) && !ctx.ints(3))) return std::nullopt;
  const Ints axes = ctx.has(3) ? normalized_axes(ctx, *ctx.ints(3), rank) : Ints();
  const std::int64_t count = ctx.has(3) ? rank_of(axes) : rank;
  if (rank_of(*pads) != 2 * count) ctx.fail("expects {} pads, has {}", 2 * count, pads->size());
  AxisPads result{Ints(static_cast<std::size_t>(rank), 0), Ints(static_cast<std::size_t>(rank), 0)};
  for (std::int64_t index = 0; index < count; ++index) {
    const std::int64_t axis = ctx.has(3) ? at(axes, index) : index;
    at(result.begins, axis) = at(*pads, index);
    at(result.ends, axis) = at(*pads, count + index);
  }
  return result;
}

Types infer(const Pad&, const RuleContext& ctx) {
  ctx.inputs(2, 4);
  ctx.integer(1);
  ctx.integer(3);
  if (ctx.has(2)) ctx.same_dtype(2, 0);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  Shape shape = *ctx.shape(0);
  const auto pads = axis_pads(ctx.graph(), ctx.node(), rank_of(shape));
  if (!pads) return {{ctx.dtype(0), unknown_shape(rank_of(shape))}};
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    std::int64_t& dim = at(shape, axis);
    const std::int64_t begin = at(pads->begins, axis);
    const std::int64_t end = at(pads->ends, axis);
    if (dim < 0) continue;
    const std::int64_t padded = checked_add(dim, checked_add(begin, end));
    if (padded < 0)
      ctx.fail("the pads {} and {} leave nothing of axis {} of {}, which is {}", begin, end, axis, ctx.text(0), dim);
    dim = padded;
  }
  return {{ctx.dtype(0), std::move(shape)}};
}

}  // namespace colonnade
