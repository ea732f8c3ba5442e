// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors from shapes and numbers, and sample them at new sizes.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "graph/parameters.hpp"
#include "graph/resize_coordinates.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

template <class T>
std::optional<T> only_element(const RuleContext& ctx, std::size_t input, const std::optional<std::vector<T>>& values) {
  if (!values) return std::nullopt;
  if (values->size() != 1) ctx.fail("{} must hold one number, holds {}", ctx.text(input), values->size());
  return values->front();
}

std::int64_t range_count(const RuleContext& ctx, double start, double limit, double delta) {
  if (delta == 0) ctx.fail("the step is 0");
  const double count = std::ceil((limit - start) / delta);
  if (!(count < static_cast<double>(kMaxDim)))
    ctx.fail("from {} to {} by {} has too many elements", start, limit, delta);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

std::int64_t integer_range_count(const RuleContext& ctx, std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0) ctx.fail("the step is 0");
  if ((delta > 0 && limit <= start) || (delta < 0 && limit >= start)) return 0;
  const std::uint64_t from = static_cast<std::uint64_t>(start);
  const std::uint64_t to = static_cast<std::uint64_t>(limit);
  const std::uint64_t span = delta > 0 ? to - from : from - to;
  const std::uint64_t step = delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
  const std::uint64_t count = (span - 1) / step + 1;
  if (count > static_cast<std::uint64_t>(kMaxDim))
    ctx.fail("from {} to {} by {} has too many elements", start, limit, delta);
  return static_cast<std::int64_t>(count);
}

std::int64_t range_length(const RuleContext& ctx) {
  const auto start = only_element(ctx, 0, ctx.ints(0));
  const auto limit = only_element(ctx, 1, ctx.ints(1));
  const auto delta = only_element(ctx, 2, ctx.ints(2));
  if (start && limit && delta) return integer_range_count(ctx, *start, *limit, *delta);
  const auto first = only_element(ctx, 0, ctx.floats(0));
  const auto last = only_element(ctx, 1, ctx.floats(1));
  const auto step = only_element(ctx, 2, ctx.floats(2));
  if (first && last && step) return range_count(ctx, *first, *last, *step);
  return kUnknownDim;
}

/// The input is given and not known to be empty, which in ONNX stands for absent.
bool gives_numbers(const RuleContext& ctx, std::size_t input) {
  return ctx.has(input) && !(ctx.shape(input) && product_of(*ctx.shape(input)) == 0);
}

}  // namespace

Types infer(const ShapeOf& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  if (!ctx.shape(0)) return {{DType::i64, Shape{kUnknownDim}}};
  const std::int64_t rank = rank_of(*ctx.shape(0));
  return {{DType::i64, Shape{slice_range(rank, op.start, op.end.value_or(rank), 1).count}}};
}

Types infer(const SizeOf&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  return {{DType::i64, Shape{}}};
}

Types infer(const Fill&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.dtype_is(0, DType::i64);
  if (ctx.shape(1) && product_of(*ctx.shape(1)) > 1)
    ctx.fail("{} must hold one element, is {}", ctx.text(1), to_text(ctx.type(1)));
  const auto rank = ctx.length_as_rank(0);
  if (!rank) return {{ctx.dtype(1), std::nullopt}};
  const Shape shape = ctx.ints(0).value_or(unknown_shape(*rank));
  if (ctx.ints(0) && std::any_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim < 0; })) {
    ctx.fail("{} holds a negative size", ctx.text(0));
  }
  return {{ctx.dtype(1), shape}};
}

Types infer(const Range&, const RuleContext& ctx) {
  ctx.inputs(3, 3);
  for (std::size_t input = 0; input < 3; ++input) {
    if (ctx.shape(input) && !dims_agree(product_of(*ctx.shape(input)), 1)) {
      ctx.fail("{} must hold one number, is {}", ctx.text(input), to_text(ctx.type(input)));
    }
  }
  ctx.same_dtype(1, 0);
  ctx.same_dtype(2, 0);
  return {{ctx.dtype(0), Shape{range_length(ctx)}}};
}

Types infer(const Resize& op, const RuleContext& ctx) {
  ctx.inputs(1, 4);
  ctx.integer(3);
  const bool by_scales = gives_numbers(ctx, 2);
  if (by_scales == gives_numbers(ctx, 3)) ctx.fail("needs either scales or sizes");
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  Shape shape = *ctx.shape(0);
  const std::vector<float> scales = ctx.floats(2).value_or(std::vector<float>());
  const Ints sizes = ctx.ints(3).value_or(Ints());
  if (scales.empty() && sizes.empty()) return {{ctx.dtype(0), unknown_shape(rank_of(shape))}};
  Shape assumed = shape;
  for (std::int64_t& dim : assumed) dim = dim < 0 ? 1 : dim;
  const bool static_input = assumed == shape;
  const std::vector<ResizeAxis> axes = resize_axes(ctx.node(), assumed, {}, scales, sizes);
  const Ints resized = resized_axis_numbers(ctx.node(), rank_of(shape));
  const bool needs_all = op.aspect != AspectPolicy::stretch && !by_scales;
  for (std::int64_t axis = 0; axis < rank_of(shape); ++axis) {
    const bool given = !by_scales && std::find(resized.begin(), resized.end(), axis) != resized.end();
    const bool known = needs_all ? static_input : given || at(shape, axis) >= 0;
    at(shape, axis) = known ? axes[static_cast<std::size_t>(axis)].out_size : kUnknownDim;
  }
  return {{ctx.dtype(0), std::move(shape)}};
}

Types infer(const GridSample&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  const auto& shape = ctx.shape(0);
  const auto& grid = ctx.shape(1);
  ctx.rank_at_least(0, 3);
  if (shape) ctx.rank(1, shape->size());
  if (grid) ctx.dim(1, grid->size() - 1, rank_of(*grid) - 2, "one coordinate an axis");
  if (shape && grid) ctx.dim(1, 0, shape->front(), "the batch");
  if (!shape && !grid) return {{ctx.dtype(0), std::nullopt}};
  Shape result = unknown_shape(rank_of(shape ? *shape : *grid));
  if (shape) std::copy_n(shape->begin(), 2, result.begin());
  if (grid) {
    result.front() = known_dim(result.front(), grid->front());
    std::copy(grid->begin() + 1, grid->end() - 1, result.begin() + 2);
  }
  return {{ctx.dtype(0), std::move(result)}};
}

}  // namespace colonnade
