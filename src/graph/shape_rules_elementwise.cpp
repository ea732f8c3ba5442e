// SPDX-License-Identifier: Apache-2.0
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// What a function of two values gives.
enum class Gives : std::uint8_t { comparison, logic, number, one_of_them };
Gives gives(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::equal:
    case BinaryKind::less:
    case BinaryKind::less_or_equal:
    case BinaryKind::greater:
    case BinaryKind::greater_or_equal: return Gives::comparison;
    case BinaryKind::logical_and:
    case BinaryKind::logical_or:
    case BinaryKind::logical_xor: return Gives::logic;
    case BinaryKind::add:
    case BinaryKind::sub:
    case BinaryKind::mul:
    case BinaryKind::div:
    case BinaryKind::pow:
    case BinaryKind::mod:
    case BinaryKind::fmod:
    case BinaryKind::squared_difference: return Gives::number;
    case BinaryKind::min:
    case BinaryKind::max:
    case BinaryKind::prelu:
    case BinaryKind::bitwise_and:
    case BinaryKind::bitwise_or:
    case BinaryKind::bitwise_xor:
    case BinaryKind::shift_left:
    case BinaryKind::shift_right: break;
  }
  return Gives::one_of_them;
}

bool compares(BinaryKind kind) { return gives(kind) == Gives::comparison; }
bool logical(BinaryKind kind) { return gives(kind) == Gives::logic; }
bool shifts(BinaryKind kind) { return kind == BinaryKind::shift_left || kind == BinaryKind::shift_right; }
bool calculates(BinaryKind kind) { return gives(kind) == Gives::number; }

void numbers(const RuleContext& ctx, std::size_t input, bool or_booleans) {
  const DType dtype = ctx.dtype(input);
  if (dtype == DType::string || (dtype == DType::boolean && !or_booleans))
    ctx.fail("{} must be numbers, is {}", ctx.text(input), name_of(dtype));
}

DType result_dtype(BinaryKind kind, const RuleContext& ctx) {
  if (kind != BinaryKind::equal)
    for (const std::size_t input : {0, 1}) numbers(ctx, input, !calculates(kind));
  if (logical(kind)) {
    ctx.dtype_is(0, DType::boolean);
    ctx.dtype_is(1, DType::boolean);
    return DType::boolean;
  }
  if (kind == BinaryKind::pow) return ctx.dtype(0);
  const DType common = ctx.same_dtype(0, 1);
  if (shifts(kind) && (common < DType::u8 || common > DType::u64))
    ctx.fail("{} must be unsigned integers, is {}", ctx.text(0), name_of(common));
  return compares(kind) ? DType::boolean : common;
}

}  // namespace

Types infer(const Unary& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  if (op.kind == UnaryKind::identity) return {ctx.type(0)};
  if (op.kind == UnaryKind::logical_not) ctx.dtype_is(0, DType::boolean);
  numbers(ctx, 0, true);
  const bool truth = op.kind == UnaryKind::logical_not || op.kind == UnaryKind::is_nan || op.kind == UnaryKind::is_inf;
  return {{truth ? DType::boolean : ctx.dtype(0), ctx.shape(0)}};
}

Types infer(const Binary& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  const DType dtype = result_dtype(op.kind, ctx);
  return {{dtype, broadcast(ctx, ctx.shape(0), ctx.shape(1))}};
}

Types infer(const Select&, const RuleContext& ctx) {
  ctx.inputs(3, 3);
  ctx.dtype_is(0, DType::boolean);
  const DType dtype = ctx.same_dtype(1, 2);
  return {{dtype, broadcast(ctx, ctx.shape(0), broadcast(ctx, ctx.shape(1), ctx.shape(2)))}};
}

Types infer(const Cast& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  if (op.to == DType::undefined) ctx.fail("has no target type");
  return {{op.to, ctx.shape(0)}};
}

}  // namespace colonnade
