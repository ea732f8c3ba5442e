// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/checked.hpp"
#include "base/narrow.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

void bytes(const RuleContext& ctx, std::size_t input) {
  const DType dtype = ctx.dtype(input);
  if (dtype != DType::u8 && dtype != DType::i8 && dtype != DType::undefined)
    ctx.fail("{} must be bytes, is {}", ctx.text(input), name_of(dtype));
}

/// The input, where given, has one element, or one for each index of the axis of `size`.
void one_or_each(const RuleContext& ctx, std::size_t input, std::int64_t size, std::string_view what) {
  const auto& shape = ctx.shape(input);
  if (!ctx.has(input) || !shape) return;
  const std::int64_t count = product_of(*shape);
  if (count == 1 || count < 0) return;
  if (shape->size() != 1 || !dims_agree(count, size))
    ctx.fail("{} expects one element or [{}], {} is {}", what, size, ctx.text(input), to_text(ctx.type(input)));
}

/// Of Quantize and Dequantize: one scale, or one for each index of an axis of x.
void parameters(const RuleContext& ctx, std::int64_t axis) {
  ctx.dtype_is(1, DType::f32);
  const auto& x = ctx.shape(0);
  std::int64_t size = kUnknownDim;
  const auto& scale = ctx.shape(1);
  const bool is_one = scale && product_of(*scale) == 1;
  if (x && !is_one) size = at(*x, ctx.axis(axis, rank_of(*x)));
  one_or_each(ctx, 1, size, "the scale");
  one_or_each(ctx, 2, size, "the zero point");
}

/// Of a Dequantize in blocks.
void block_parameters(const RuleContext& ctx, const Dequantize& op) {
  const DType type = ctx.dtype(0);
  if (op.block < 0) ctx.fail("a block of {} elements", op.block);
  if (type != DType::undefined && (bits_of(type) > 8 || is_minifloat(type) || type == DType::boolean))
    ctx.fail("{} must be integers of eight bits or fewer, is {}", ctx.text(0), name_of(type));
  if (!is_float(ctx.dtype(1)) && ctx.dtype(1) != DType::undefined)
    ctx.fail("{} must be of a float type, is {}", ctx.text(1), name_of(ctx.dtype(1)));
  if (ctx.has(2) && !is_float(ctx.dtype(2))) ctx.same_dtype(0, 2);
  const auto& x = ctx.shape(0);
  if (!x) return;
  if (x->size() != 2) ctx.fail("{} must be a matrix, is {}", ctx.text(0), to_text(ctx.type(0)));
  Shape blocks = *x;
  std::int64_t& size = blocks[static_cast<std::size_t>(ctx.axis(op.axis, 2))];
  if (size >= 0) size = ceil_div(size, op.block);
  for (const std::size_t input : {1u, 2u}) {
    const auto& given = ctx.shape(input);
    if (!ctx.has(input) || !given || product_of(*given) == 1) continue;
    if (given->size() != 2 || !dims_agree((*given)[0], blocks[0]) || !dims_agree((*given)[1], blocks[1]))
      ctx.fail("{} must be [{}, {}], is {}", ctx.text(input), blocks[0], blocks[1], to_text(ctx.type(input)));
  }
}

void check_rescale(const RuleContext& ctx, const Rescale& out, bool may_be_sums) {
  const bool is_byte = out.to == DType::u8 || out.to == DType::i8;
  if (!is_byte && out.to != DType::f32 && !(may_be_sums && out.to == DType::i32))
    ctx.fail("cannot make {} of sums of bytes", name_of(out.to));
  if (!is_byte) return;
  const float least = out.to == DType::u8 ? 0 : -128, most = out.to == DType::u8 ? 255 : 127;
  const auto zero = static_cast<float>(out.zero);
  if (!(out.low <= out.high) || out.low + zero < least || out.high + zero > most)
    ctx.fail("bounds {} and {} around {} do not fit {}", out.low, out.high, out.zero, name_of(out.to));
}

/// What follows x and the weight.
void sum_inputs(const RuleContext& ctx, const Rescale& out, std::int64_t outputs) {
  ctx.inputs(2, 7);
  ctx.dtype_is(0, DType::u8);
  if (ctx.dtype(1) != DType::i16) ctx.dtype_is(1, DType::i8);
  if (ctx.has(2)) ctx.dtype_is(2, DType::u8);
  one_or_each(ctx, 2, 1, "the zero point");
  if (ctx.has(3)) ctx.dtype_is(3, DType::i32);
  ctx.vector(3, outputs, "the offset");
  check_rescale(ctx, out, true);
  if (ctx.has(4) != (out.to != DType::i32)) ctx.fail("a factor is expected unless the sums themselves are");
  if (!ctx.has(4)) return;
  ctx.dtype_is(4, DType::f32);
  one_or_each(ctx, 4, outputs, "the factor");
  if (ctx.has(5)) ctx.dtype_is(5, DType::f32);
  ctx.vector(5, outputs, "the shift");
  if (ctx.has(6)) ctx.dtype_is(6, DType::f32);
  ctx.vector(6, outputs, "the slope");
}

/// The node with its first two inputs, as the operator on other types sees it.
Node with_operands(const Node& node, Operator op) {
  Node plain = node;
  plain.op = std::move(op);
  plain.inputs.resize(2);
  return plain;
}

}  // namespace

Types infer(const Quantize& op, const RuleContext& ctx) {
  ctx.inputs(2, 3);
  ctx.dtype_is(0, DType::f32);
  const bool is_short = op.to == DType::u16 || op.to == DType::i16;
  if (op.to != DType::u8 && op.to != DType::i8 && !is_short) ctx.fail("cannot quantise to {}", name_of(op.to));
  if (ctx.has(2)) ctx.dtype_is(2, op.to);
  parameters(ctx, op.axis);
  return {{op.to, ctx.shape(0)}};
}

Types infer(const Dequantize& op, const RuleContext& ctx) {
  ctx.inputs(2, 3);
  if (op.block != 0) {
    block_parameters(ctx, op);
    return {{DType::f32, ctx.shape(0)}};
  }
  if (ctx.dtype(0) != DType::i32) bytes(ctx, 0);
  if (ctx.has(2)) ctx.same_dtype(0, 2);
  parameters(ctx, op.axis);
  return {{DType::f32, ctx.shape(0)}};
}

Types infer(const ByteScale&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.dtype_is(0, DType::f32);
  return {{DType::f32, Shape{}}, {DType::u8, Shape{}}};
}

Types infer(const Lookup&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  bytes(ctx, 0);
  ctx.vector(1, 256, "the table");
  return {{ctx.dtype(1), ctx.shape(0)}};
}

Types infer(const ByteConv& op, const RuleContext& ctx) {
  ctx.inputs(2, 7);
  if (op.window.epilogue != FusedEpilogue{}) ctx.fail("sums of bytes have no epilogue");
  const Node plain = with_operands(ctx.node(), op.window);
  Types types = infer(op.window, RuleContext(ctx.graph(), plain));
  const auto& shape = types[0].shape;
  sum_inputs(ctx, op.out, shape ? shape->back() : kUnknownDim);
  types[0].dtype = op.out.to;
  return types;
}

Types infer(const ByteMatMul& op, const RuleContext& ctx) {
  ctx.inputs(2, 7);
  ctx.rank_at_least(0, 1);
  ctx.rank(1, 2);
  const Node plain = with_operands(ctx.node(), MatMul{});
  Types types = infer(MatMul{}, RuleContext(ctx.graph(), plain));
  sum_inputs(ctx, op.out, ctx.shape(1) ? ctx.shape(1)->back() : kUnknownDim);
  types[0].dtype = op.out.to;
  return types;
}

Types infer(const IntegerMatMul&, const RuleContext& ctx) {
  ctx.inputs(2, 4);
  for (const std::size_t operand : {0, 1}) {
    ctx.rank_at_least(operand, 2);
    if (const DType type = ctx.dtype(operand); type != DType::i8 && type != DType::u8)
      ctx.fail("{} must be int8 or uint8, found {}", ctx.text(operand), name_of(type));
    if (!ctx.has(operand + 2)) continue;
    ctx.dtype_is(operand + 2, ctx.dtype(operand));
    one_or_each(ctx, operand + 2, 1, "the zero point");
  }
  const Node plain = with_operands(ctx.node(), MatMul{});
  Types types = infer(MatMul{}, RuleContext(ctx.graph(), plain));
  types[0].dtype = DType::i32;
  return types;
}

Types infer(const ByteBinary& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  for (const std::size_t input : {0, 1}) ctx.dtype_is(input, DType::u8);
  if (op.kind != BinaryKind::add && op.kind != BinaryKind::mul)
    ctx.fail("no arithmetic of bytes for {}", name_of(op.kind));
  check_rescale(ctx, op.out, false);
  return {{op.out.to, broadcast(ctx, ctx.shape(0), ctx.shape(1))}};
}

Types infer(const ByteAverage& op, const RuleContext& ctx) {
  if (op.window.kind != PoolKind::average) ctx.fail("only averages are rescaled");
  Types types = infer(op.window, ctx);
  ctx.dtype_is(0, DType::u8);
  check_rescale(ctx, op.out, false);
  types.resize(1);
  types[0].dtype = op.out.to;
  return types;
}

}  // namespace colonnade
