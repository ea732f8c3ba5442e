// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <utility>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_gelu(Lowering& low) {
  const std::string approximate = low.string_or("approximate", "none");
  if (approximate == "none") return {unary(low, UnaryKind::gelu_erf, low.input(0))};
  if (approximate == "tanh") return {unary(low, UnaryKind::gelu_tanh, low.input(0))};
  low.invalid("attribute 'approximate': '{}' does not exist", printable(approximate));
}

Values lower_swish(Lowering& low) {
  const float alpha = low.float_or("alpha", 1);
  const ValueId x = low.input(0);
  if (alpha == 1) return {unary(low, UnaryKind::silu, x)};
  const ValueId gate = unary(low, UnaryKind::sigmoid, binary_scalar(low, BinaryKind::mul, x, alpha));
  return {binary(low, BinaryKind::mul, x, gate)};
}

Values lower_shrink(Lowering& low) {
  const double lambda = low.float_or("lambd", 0.5f), bias = low.float_or("bias", 0);
  const DType dtype = low.dtype(low.input(0));
  // the bounds of integers need not be whole
  const ValueId x = is_float(dtype) ? low.input(0) : cast(low, low.input(0), DType::f64);
  const ValueId above = binary_scalar(low, BinaryKind::greater, x, lambda);
  const ValueId below = binary_scalar(low, BinaryKind::less, x, -lambda);
  const ValueId raised = select(low, below, binary_scalar(low, BinaryKind::add, x, bias), scalar(low, low.dtype(x), 0));
  return {cast(low, select(low, above, binary_scalar(low, BinaryKind::sub, x, bias), raised), dtype)};
}

Values lower_is_inf(Lowering& low) {
  const ValueId x = low.input(0);
  const double infinity = std::numeric_limits<double>::infinity();
  const bool positive = low.flag("detect_positive", true), negative = low.flag("detect_negative", true);
  if (positive && negative) return {unary(low, UnaryKind::is_inf, x)};
  if (positive || negative) return {binary_scalar(low, BinaryKind::equal, x, positive ? infinity : -infinity)};
  return {binary_scalar(low, BinaryKind::less, unary(low, UnaryKind::abs, x), -infinity)};
}

/// A bound as float where that is exact: given, absent (infinite) or unknown until run time.
std::optional<float> constant_bound(const Lowering& low, ValueId bound, float absent) {
  if (bound == kAbsent) return absent;
  const auto constant = low.constant_of(bound);
  if (!constant || constant->dtype() != DType::f32 || constant->size() != 1) return std::nullopt;
  return constant->tensor()->values<float>()[0];
}

Values lower_clip(Lowering& low) {
  const ValueId x = low.input(0), least = low.optional_input(1), most = low.optional_input(2);
  const auto a = constant_bound(low, least, -std::numeric_limits<float>::infinity());
  const auto b = constant_bound(low, most, std::numeric_limits<float>::infinity());
  if (a && b && is_float(low.dtype(x))) return {unary(low, UnaryKind::clip, x, *a, *b)};
  ValueId y = x;
  if (least != kAbsent) y = binary(low, BinaryKind::max, y, least);
  if (most != kAbsent) y = binary(low, BinaryKind::min, y, most);
  return {y};
}

/// Before opset 6 a bound that is not given is none.
Values lower_clip_attributes(Lowering& low) {
  using Limits = std::numeric_limits<float>;
  const float least = low.float_or("min", low.opset() < 6 ? -Limits::infinity() : Limits::lowest());
  const float most = low.float_or("max", low.opset() < 6 ? Limits::infinity() : Limits::max());
  return {unary(low, UnaryKind::clip, low.input(0), least, most)};
}

template <BinaryKind kind>
Values lower_binary(Lowering& low) {
  return {binary(low, kind, low.input(0), low.input(1))};
}

template <BinaryKind kind>
Values lower_variadic(Lowering& low) {
  ValueId y = low.input(0);
  for (std::size_t i = 1; i < low.input_count(); ++i) y = binary(low, kind, y, low.input(i));
  return {y};
}

Values lower_mean(Lowering& low) {
  const ValueId sum = lower_variadic<BinaryKind::add>(low).front();
  if (low.input_count() == 1) return {sum};
  return {binary_scalar(low, BinaryKind::div, sum, static_cast<double>(low.input_count()))};
}

/// a - floor(a / b) * b, with the sign of b, of what a - trunc(a / b) * b leaves.
ValueId floored(Lowering& low, ValueId truncated, ValueId b) {
  const DType dtype = low.dtype(b);
  const auto below_zero = [&](ValueId x) { return binary_scalar(low, BinaryKind::less, x, 0); };
  const ValueId other_sign = binary(low, BinaryKind::logical_xor, below_zero(truncated), below_zero(b));
  const ValueId moved = select(low, other_sign, binary(low, BinaryKind::add, truncated, b), truncated);
  const ValueId zero = select(low, below_zero(b), scalar(low, dtype, -0.0), scalar(low, dtype, 0));
  return select(low, binary_scalar(low, BinaryKind::equal, truncated, 0), zero, moved);
}

Values lower_mod(Lowering& low) {
  const ValueId a = low.input(0), b = low.input(1);
  const bool truncates = low.flag("fmod");
  if (truncates || !is_float(low.dtype(a))) return {binary(low, truncates ? BinaryKind::fmod : BinaryKind::mod, a, b)};
  return {floored(low, binary(low, BinaryKind::fmod, a, b), b)};
}

Values lower_first_mod(Lowering& low) {
  const DType dtype = low.dtype(low.input(0));
  if (!low.flag("fmod") && is_float(dtype)) low.invalid("fmod is 0, expected 1 for {} before opset 28", name_of(dtype));
  return lower_mod(low);
}

/// The exponent may have a type of its own; the result has the base's.
Values lower_pow(Lowering& low) {
  const ValueId base = low.input(0), exponent = low.input(1);
  const DType type = low.dtype(base), exponent_type = low.dtype(exponent);
  if (type == exponent_type) return {binary(low, BinaryKind::pow, base, exponent)};
  if (is_float(type) || !is_float(exponent_type))
    return {binary(low, BinaryKind::pow, base, cast(low, exponent, type))};
  return {cast(low, binary(low, BinaryKind::pow, cast(low, base, exponent_type), exponent), type)};
}

DType without_sign(DType dtype) {
  constexpr std::pair<DType, DType> kTypes[] = {
      {DType::i8, DType::u8}, {DType::i16, DType::u16}, {DType::i32, DType::u32}, {DType::i64, DType::u64}};
  for (const auto& [with, without] : kTypes)
    if (dtype == with) return without;
  return dtype;
}

/// Bits with a sign are shifted as bits without one; to the right, those of a negative number are inverted meanwhile.
/// Negative distances are beyond all bits.
Values lower_bit_shift(Lowering& low) {
  const std::string direction = low.required_string("direction");
  const bool left = direction == "LEFT";
  if (!left && direction != "RIGHT") low.invalid("attribute 'direction': '{}' does not exist", printable(direction));
  const BinaryKind kind = left ? BinaryKind::shift_left : BinaryKind::shift_right;
  const ValueId x = low.input(0), distance = low.input(1);
  const DType dtype = low.dtype(x), bits = without_sign(dtype);
  if (bits == dtype || low.dtype(distance) != dtype) return {binary(low, kind, x, distance)};
  const auto shifted = [&](ValueId value) {
    return cast(low, binary(low, kind, cast(low, value, bits), cast(low, distance, bits)), dtype);
  };
  if (left) return {shifted(x)};
  const ValueId is_negative = binary_scalar(low, BinaryKind::less, x, 0);
  const ValueId fill = select(low, is_negative, scalar(low, dtype, -1), scalar(low, dtype, 0));
  const ValueId positive = binary(low, BinaryKind::bitwise_xor, x, fill);
  return {binary(low, BinaryKind::bitwise_xor, shifted(positive), fill)};
}

/// A slope of one value a channel is often stored as [C]; ONNX's broadcasting would put it along the last axis.
Values lower_prelu(Lowering& low) {
  const ValueId x = low.input(0);
  ValueId slope = low.input(1);
  const auto& shape = low.shape(slope);
  if (shape && shape->size() == 1 && shape->front() > 1 && low.shape(x) && low.rank(x) > 2) {
    const bool fits_last = low.dim(x, low.rank(x) - 1) == shape->front();
    if (!fits_last && low.dim(x, 1) == shape->front()) slope = unsqueeze(low, slope, axes_between(1, low.rank(x) - 1));
  }
  return {binary(low, BinaryKind::prelu, x, slope)};
}

Values lower_where(Lowering& low) { return {select(low, low.input(0), low.input(1), low.input(2))}; }

constexpr Row unary_row(std::string_view name, int since, Lower lower) {
  return {kOnnxDomain, name, since, kNoLimit, 1, 1, 1, lower};
}
constexpr Row binary_row(std::string_view name, int since, Lower lower) {
  return {kOnnxDomain, name, since, kNoLimit, 2, 2, 1, lower};
}
constexpr Row variadic_row(std::string_view name, Lower lower) {
  return {kOnnxDomain, name, 8, kNoLimit, 1, kNoLimit, 1, lower};
}

constexpr Row kElementwiseRows[] = {
    unary_row("Gelu", 20, lower_gelu),
    unary_row("IsInf", 10, lower_is_inf),
    unary_row("Shrink", 9, lower_shrink),
    unary_row("Swish", 24, lower_swish),
    {kOnnxDomain, "Clip", 1, 10, 1, 1, 1, lower_clip_attributes},
    {kOnnxDomain, "Clip", 11, kNoLimit, 1, 3, 1, lower_clip},
    binary_row("Add", 7, lower_binary<BinaryKind::add>),
    binary_row("And", 7, lower_binary<BinaryKind::logical_and>),
    binary_row("BitShift", 11, lower_bit_shift),
    binary_row("BitwiseAnd", 18, lower_binary<BinaryKind::bitwise_and>),
    binary_row("BitwiseOr", 18, lower_binary<BinaryKind::bitwise_or>),
    binary_row("BitwiseXor", 18, lower_binary<BinaryKind::bitwise_xor>),
    binary_row("Div", 7, lower_binary<BinaryKind::div>),
    binary_row("Equal", 7, lower_binary<BinaryKind::equal>),
    binary_row("Greater", 7, lower_binary<BinaryKind::greater>),
    binary_row("GreaterOrEqual", 12, lower_binary<BinaryKind::greater_or_equal>),
    binary_row("Less", 7, lower_binary<BinaryKind::less>),
    binary_row("LessOrEqual", 12, lower_binary<BinaryKind::less_or_equal>),
    {kOnnxDomain, "Mod", 10, 27, 2, 2, 1, lower_first_mod},
    binary_row("Mod", 28, lower_mod),
    binary_row("Mul", 7, lower_binary<BinaryKind::mul>),
    binary_row("Or", 7, lower_binary<BinaryKind::logical_or>),
    binary_row("PRelu", 7, lower_prelu),
    binary_row("Pow", 7, lower_pow),
    binary_row("Sub", 7, lower_binary<BinaryKind::sub>),
    binary_row("Xor", 7, lower_binary<BinaryKind::logical_xor>),
    variadic_row("Max", lower_variadic<BinaryKind::max>),
    variadic_row("Mean", lower_mean),
    variadic_row("Min", lower_variadic<BinaryKind::min>),
    variadic_row("Sum", lower_variadic<BinaryKind::add>),
    {kOnnxDomain, "Where", 9, kNoLimit, 3, 3, 1, lower_where},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kElementwiseRows; }

}  // namespace colonnade::onnx_import
