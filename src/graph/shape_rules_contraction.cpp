// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"
#include "graph/windows.hpp"

namespace colonnade {
namespace {

bool byte_sized(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

/// 8-bit operands may mix signs and accumulate in int32, as do bytes and wide weights; all others have one type.
DType contraction_dtype(const RuleContext& ctx) {
  const auto is_narrow = [](DType dtype) { return byte_sized(dtype) || dtype == DType::i16; };
  if (is_narrow(ctx.dtype(0)) && is_narrow(ctx.dtype(1))) return DType::i32;
  return ctx.same_dtype(0, 1);
}

/// One number an output channel, of the sums' type.
void check_bias(const RuleContext& ctx, std::int64_t outputs, DType dtype) {
  ctx.vector(2, outputs, "the bias");
  if (ctx.has(2) && dtype != DType::undefined) ctx.dtype_is(2, dtype);
}

/// Inputs of the epilogue start at `first`.
void check_epilogue(const RuleContext& ctx, const FusedEpilogue& epilogue, std::size_t first,
                    const std::optional<Shape>& output) {
  const std::size_t expected = first + (epilogue.prelu_slope ? 1 : 0) + (epilogue.residual ? 1 : 0);
  if (epilogue.prelu_slope || epilogue.residual) {
    if (ctx.input_count() != expected)
      ctx.fail("expects {} inputs with its epilogue, has {}", expected, ctx.input_count());
    for (std::size_t input = first; input < expected; ++input) {
      if (!ctx.has(input)) ctx.fail("input {} of the epilogue is missing", input);
    }
  } else if (ctx.input_count() > first) {
    ctx.fail("takes at most {} inputs, has {}", first, ctx.input_count());
  }
  const std::int64_t channels = output && !output->empty() ? output->back() : kUnknownDim;
  if (epilogue.prelu_slope) ctx.vector(first, channels, "the slope of prelu");
  if (!epilogue.residual || !output || !ctx.shape(expected - 1)) return;
  const Shape& residual = *ctx.shape(expected - 1);
  if (!std::equal(output->begin(), output->end(), residual.begin(), residual.end(), dims_agree)) {
    ctx.fail("the residual {} must have the output's shape {}, is {}", ctx.text(expected - 1),
             to_text({DType::undefined, output}), to_text(ctx.type(expected - 1)));
  }
}

void check_groups(const RuleContext& ctx, std::int64_t groups, std::int64_t channels, std::string_view what) {
  if (groups < 1) ctx.fail("groups must be positive, is {}", groups);
  if (channels >= 0 && channels % groups != 0)
    ctx.fail("{} {} are not a multiple of {} groups", channels, what, groups);
}

/// Rank of x or of the weight, whichever is known.
std::optional<std::int64_t> window_rank(const RuleContext& ctx) {
  ctx.rank_at_least(0, 3);
  ctx.rank_at_least(1, 3);
  if (ctx.shape(0) && ctx.shape(1)) ctx.rank(1, ctx.shape(0)->size());
  if (ctx.shape(0)) return rank_of(*ctx.shape(0));
  if (ctx.shape(1)) return rank_of(*ctx.shape(1));
  return std::nullopt;
}

std::int64_t dim_or_unknown(const RuleContext& ctx, std::size_t input, std::int64_t axis) {
  return ctx.shape(input) ? at(*ctx.shape(input), axis) : kUnknownDim;
}

/// The kernel sizes: the attribute's, which the weight must agree with; else the weight's.
template <class Window>
Window with_kernel(const RuleContext& ctx, const Window& op, std::int64_t spatial) {
  Window result = op;
  if (!ctx.shape(1)) return result;
  const Shape& weight = *ctx.shape(1);
  if (op.kernel.empty()) result.kernel.assign(weight.begin() + 2, weight.end());
  for (std::int64_t axis = 0; axis < spatial; ++axis) {
    if (!dims_agree(at(weight, axis + 2), at(result.kernel, axis))) {
      ctx.fail("kernel has size {} at spatial axis {}, {} is {}", at(result.kernel, axis), axis, ctx.text(1),
               to_text(ctx.type(1)));
    }
  }
  return result;
}

template <class Window>
std::int64_t spatial_output(const RuleContext& ctx, const Window& op, std::int64_t axis, std::int64_t spatial,
                            bool ceil_mode) {
  const std::int64_t input = dim_or_unknown(ctx, 0, axis + 1);
  if (input < 0 || op.kernel.empty() || at(op.kernel, axis) < 0) return kUnknownDim;
  const Shape sizes(static_cast<std::size_t>(spatial), input);
  const WindowAxis window = window_axes(op, sizes)[static_cast<std::size_t>(axis)];
  const std::int64_t output = window_output(window, input, ceil_mode && op.auto_pad == AutoPad::explicit_pads);
  if (output < 1 && input > 0) {
    ctx.fail("the window spans {} elements, the padded axis {} of {} has {}", window.extent(), axis + 1, ctx.text(0),
             input + window.pad_begin + window.pad_end);
  }
  return std::max<std::int64_t>(output, 0);
}

std::int64_t transposed_output(const RuleContext& ctx, const ConvTranspose& op, std::int64_t axis,
                               std::int64_t spatial) {
  if (!op.output_shape.empty()) return at(op.output_shape, axis);
  const std::int64_t input = dim_or_unknown(ctx, 0, axis + 1);
  if (input < 0 || op.kernel.empty() || at(op.kernel, axis) < 0) return kUnknownDim;
  const Shape sizes(static_cast<std::size_t>(spatial), input);
  const WindowAxis window = window_axes(op, sizes)[static_cast<std::size_t>(axis)];
  if (op.auto_pad == AutoPad::same_upper || op.auto_pad == AutoPad::same_lower) return input * window.stride;
  const std::int64_t extra = op.output_padding.empty() ? 0 : at(op.output_padding, axis);
  const std::int64_t output = window.stride * (input - 1) + extra + window.extent() - window.pad_begin - window.pad_end;
  if (output < 1) ctx.fail("the pads leave {} elements at spatial axis {}", output, axis);
  return output;
}

std::optional<Shape> transposed_last(const RuleContext& ctx, std::size_t input, bool transpose, bool heads_inside) {
  if (!(transpose || heads_inside) || !ctx.shape(input)) return ctx.shape(input);
  ctx.rank_at_least(input, heads_inside ? 3 : 2);
  Shape shape = heads_swapped(*ctx.shape(input), heads_inside);
  if (transpose) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

/// numpy's matmul: vectors become matrices, and the axes they gained are dropped at the end.
std::optional<Shape> matmul_shape(const RuleContext& ctx, std::optional<Shape> a, std::optional<Shape> b) {
  if (!a || !b) return std::nullopt;
  const bool row_vector = a->size() == 1;
  const bool column_vector = b->size() == 1;
  if (row_vector) a->insert(a->begin(), 1);
  if (column_vector) b->push_back(1);
  const std::int64_t depth = a->back();
  if (!dims_agree(depth, (*b)[b->size() - 2])) {
    ctx.fail("{} has depth {}, {} has {}", ctx.text(0), depth, ctx.text(1), (*b)[b->size() - 2]);
  }
  const std::int64_t rows = (*a)[a->size() - 2];
  const std::int64_t columns = b->back();
  std::optional<Shape> result = broadcast(ctx, Shape(a->begin(), a->end() - 2), Shape(b->begin(), b->end() - 2));
  if (!row_vector) result->push_back(rows);
  if (!column_vector) result->push_back(columns);
  return result;
}

}  // namespace

Types infer(const Conv& op, const RuleContext& ctx) {
  ctx.inputs(2, 5);
  const DType dtype = contraction_dtype(ctx);
  const auto rank = window_rank(ctx);
  if (!rank) return {{dtype, std::nullopt}};
  const std::int64_t spatial = *rank - 2;
  check_window(ctx.node(), op, spatial);
  const std::int64_t channels = dim_or_unknown(ctx, 0, *rank - 1);
  const std::int64_t group_channels = dim_or_unknown(ctx, 1, 1);
  const std::int64_t outputs = dim_or_unknown(ctx, 1, 0);
  check_groups(ctx, op.groups, channels, "input channels");
  check_groups(ctx, op.groups, outputs, "output channels");
  if (channels >= 0 && group_channels >= 0 && checked_mul(group_channels, op.groups) != channels) {
    ctx.fail("weight expects {} input channels, {} has {}", group_channels * op.groups, ctx.text(0), channels);
  }
  check_bias(ctx, outputs, dtype);
  const Conv full = with_kernel(ctx, op, spatial);
  Shape shape = unknown_shape(*rank);
  shape.front() = dim_or_unknown(ctx, 0, 0);
  shape.back() = outputs;
  for (std::int64_t axis = 0; axis < spatial; ++axis)
    at(shape, axis + 1) = spatial_output(ctx, full, axis, spatial, false);
  check_epilogue(ctx, op.epilogue, 3, shape);
  return {{dtype, std::move(shape)}};
}

Types infer(const ConvTranspose& op, const RuleContext& ctx) {
  ctx.inputs(2, 5);
  const DType dtype = contraction_dtype(ctx);
  const auto rank = window_rank(ctx);
  if (!rank) return {{dtype, std::nullopt}};
  const std::int64_t spatial = *rank - 2;
  check_window(ctx.node(), op, spatial);
  const std::int64_t channels = dim_or_unknown(ctx, 0, *rank - 1);
  check_groups(ctx, op.groups, channels, "input channels");
  if (!dims_agree(dim_or_unknown(ctx, 1, 0), channels)) {
    ctx.fail("weight expects {} input channels, {} has {}", dim_or_unknown(ctx, 1, 0), ctx.text(0), channels);
  }
  const std::int64_t group_outputs = dim_or_unknown(ctx, 1, 1);
  const std::int64_t outputs = group_outputs < 0 ? kUnknownDim : checked_mul(group_outputs, op.groups);
  check_bias(ctx, outputs, dtype);
  const ConvTranspose full = with_kernel(ctx, op, spatial);
  Shape shape = unknown_shape(*rank);
  shape.front() = dim_or_unknown(ctx, 0, 0);
  shape.back() = outputs;
  for (std::int64_t axis = 0; axis < spatial; ++axis) at(shape, axis + 1) = transposed_output(ctx, full, axis, spatial);
  check_epilogue(ctx, op.epilogue, 3, shape);
  return {{dtype, std::move(shape)}};
}

Types infer(const Pool& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank_at_least(0, 3);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}, {DType::i64, std::nullopt}};
  const std::int64_t spatial = rank_of(*ctx.shape(0)) - 2;
  check_window(ctx.node(), op, spatial);
  Shape shape = *ctx.shape(0);
  for (std::int64_t axis = 0; axis < spatial; ++axis) {
    at(shape, axis + 1) = spatial_output(ctx, op, axis, spatial, op.ceil_mode);
  }
  return {{ctx.dtype(0), shape}, {DType::i64, shape}};
}

Types infer(const MatMul& op, const RuleContext& ctx) {
  ctx.inputs(2, 5);
  const DType dtype = contraction_dtype(ctx);
  ctx.rank_at_least(0, 1);
  ctx.rank_at_least(1, 1);
  std::optional<Shape> shape = matmul_shape(ctx, transposed_last(ctx, 0, op.transpose_a, op.heads_inside_a),
                                            transposed_last(ctx, 1, op.transpose_b, op.heads_inside_b));
  if (shape && op.heads_inside_out) {
    if (shape->size() < 3) ctx.fail("heads inside a result of {} axes", shape->size());
    shape = heads_swapped(*std::move(shape), true);
  }
  const bool columns_known = shape && !shape->empty() && ctx.shape(1)->size() > 1;
  check_bias(ctx, columns_known ? shape->back() : kUnknownDim, dtype);
  check_epilogue(ctx, op.epilogue, 3, shape);
  return {{dtype, std::move(shape)}};
}

}  // namespace colonnade
