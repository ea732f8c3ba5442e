// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

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

Values lower_mod(Lowering& low) {
  const BinaryKind kind = low.flag("fmod") ? BinaryKind::fmod : BinaryKind::mod;
  if (kind == BinaryKind::mod && is_float(low.dtype(low.input(0)))) {
    low.invalid("fmod is 0, expected 1 for {}", name_of(low.dtype(low.input(0))));
  }
  return {binary(low, kind, low.input(0), low.input(1))};
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

Values lower_bit_shift(Lowering& low) {
  const std::string direction = low.required_string("direction");
  const bool left = direction == "LEFT";
  if (!left && direction != "RIGHT") low.invalid("attribute 'direction': '{}' does not exist", printable(direction));
  return {binary(low, left ? BinaryKind::shift_left : BinaryKind::shift_right, low.input(0), low.input(1))};
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
    binary_row("Mod", 10, lower_mod),
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
