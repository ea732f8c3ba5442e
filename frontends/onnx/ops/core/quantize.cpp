// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "frontends/onnx/ops/core/byte_sums.hpp"
#include "frontends/onnx/ops/core/quantize_blocks.hpp"
#include "frontends/onnx/ops/core/window.hpp"
#include "graph/shape_rules.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

// ---- parameters -----------------------------------------------------------------------------------------------------

/// A scale or zero point as it broadcasts to x.
ValueId spread(Lowering& low, ValueId parameter, ValueId x, const Quantization& q) {
  if (has_one_element(low, parameter)) return low.rank(parameter) == 0 ? parameter : reshape(low, parameter, {});
  const std::int64_t rank = low.rank(x), axis = checked_axis(low, q.axis, rank);
  if (low.rank(parameter) == 1 && q.block == 0) {
    const std::int64_t size = low.dim(x, axis), given = low.dim(parameter, 0);
    if (!dims_agree(size, given)) low.invalid("expected {} scales for axis {}, found {}", size, axis, given);
    Ints others = axes_between(0, rank);
    others.erase(others.begin() + axis);
    return unsqueeze(low, parameter, others);
  }
  if (low.rank(parameter) != rank) {
    low.invalid("expected scales of rank {} in blocks along axis {}, found rank {}", rank, axis, low.rank(parameter));
  }
  return repeated(low, parameter, x, axis, q.block);
}

/// The one element of a constant.
std::optional<double> constant_scalar(const Lowering& low, ValueId id) {
  const auto constant = low.constant_of(id);
  if (!constant || constant->size() != 1) return std::nullopt;
  double value = 0;
  reference::load(*constant->tensor(), 0, 1, &value);
  return value;
}

/// x / scale in the given type.
ValueId quotient(Lowering& low, ValueId x, ValueId scale, DType precision) {
  x = cast(low, x, precision);
  scale = cast(low, scale, precision);
  if (precision != DType::f16 && precision != DType::bf16) return binary_exact(low, BinaryKind::div, x, scale);
  return cast(low, low.emit(Opaque{&reference::kNarrowQuotient, low.opset(), {}}, {x, scale}), DType::f32);
}

DType precision_of(const Lowering& low, ValueId x, ValueId scale) {
  const DType type = low.dtype(scale);
  if (is_float(type)) return type;
  if (type == DType::i32) return DType::f64;
  return is_float(low.dtype(x)) ? low.dtype(x) : DType::f32;
}

/// Inputs of the core operators on bytes.
Values with_zero_point(const Lowering& low, ValueId x, const Quantization& q) {
  Values inputs{x, q.scale};
  if (!is_zero(low, q.zero_point)) inputs.push_back(q.zero_point);
  return inputs;
}

/// A constant scale is positive and finite.
void check_scale(const Lowering& low, ValueId scale) {
  const auto constant = low.constant_of(scale);
  if (!constant || !is_float(constant->dtype())) return;
  for (const double number : reference::load_all<double>(*constant->tensor()))
    if (!(number > 0) || std::isinf(number)) low.invalid("expected positive scales, found {}", number);
}

}  // namespace

Limits limits_of(DType dtype) {
  return {static_cast<float>(reference::lowest_of<std::int64_t>(dtype)),
          static_cast<float>(reference::highest_of<std::int64_t>(dtype))};
}

void check_zero_point(const Lowering& low, ValueId quantised, ValueId zero_point) {
  if (zero_point == kAbsent) return;
  const DType expected = low.dtype(quantised), found = low.dtype(zero_point);
  if (expected == found || expected == DType::undefined || found == DType::undefined) return;
  low.invalid("expected a zero point of {}, found {}", name_of(expected), name_of(found));
}

bool is_zero(const Lowering& low, ValueId zero_point) {
  if (zero_point == kAbsent) return true;
  const auto constant = low.constant_of(zero_point);
  if (!constant) return false;
  const auto numbers = reference::load_all<double>(*constant->tensor());
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return number == 0; });
}

ValueId round_to(Lowering& low, ValueId x, ValueId zero_point, DType to) {
  const DType type = low.dtype(x);
  const ValueId rounded = unary(low, UnaryKind::round, x);
  Limits limits = limits_of(to);
  const auto known = is_zero(low, zero_point) ? 0 : constant_scalar(low, zero_point);
  ValueId shifted = kAbsent;
  if (known) {
    // bounds move with the zero point: what dequantises next then finds the same number without it
    const auto zero = static_cast<float>(*known);
    shifted = unary(low, UnaryKind::clip, rounded, limits.low - zero, limits.high - zero);
    if (zero != 0) shifted = binary_exact(low, BinaryKind::add, shifted, scalar(low, type, *known));
  } else {
    shifted = binary_exact(low, BinaryKind::add, rounded, cast(low, zero_point, type));
    shifted = unary(low, UnaryKind::clip, shifted, limits.low, limits.high);
  }
  return low.emit(Cast{to}, {shifted});
}

ValueId quantize(Lowering& low, ValueId x, const Quantization& q, DType to, DType precision, bool saturate) {
  check_scale(low, q.scale);
  const bool is_float = low.dtype(x) == DType::f32 && (precision == DType::undefined || precision == DType::f32);
  if (is_float && (to == DType::u8 || to == DType::i8) && is_plain_scale(low, q))
    return low.emit(Quantize{to, q.axis}, with_zero_point(low, x, q));
  const ValueId scale = spread(low, q.scale, x, q);
  const ValueId zero_point = is_zero(low, q.zero_point) ? kAbsent : spread(low, q.zero_point, x, q);
  if (precision == DType::undefined) precision = precision_of(low, x, q.scale);
  ValueId scaled = quotient(low, x, scale, precision);
  if (!is_minifloat(to)) return round_to(low, scaled, zero_point, to);
  if (zero_point != kAbsent) {
    scaled = binary_exact(low, BinaryKind::add, scaled, cast(low, zero_point, low.dtype(scaled)));
  }
  return low.emit(Cast{to, saturate}, {scaled});
}

ValueId dequantize(Lowering& low, ValueId x, const Quantization& q, DType to) {
  check_scale(low, q.scale);
  const DType from = low.dtype(x);
  if (to == DType::f32 && (from == DType::u8 || from == DType::i8 || from == DType::i32) && is_plain_scale(low, q))
    return low.emit(Dequantize{q.axis}, with_zero_point(low, x, q));
  if (to != DType::f64 && is_weight_matrix(low, x, q)) return cast(low, dequantize_matrix(low, x, q), to);
  if (to != DType::f64)
    if (const ValueId y = dequantize_blocks(low, x, q); y != kAbsent) return cast(low, y, to);
  const DType type = to == DType::f64 ? to : DType::f32;
  const ValueId scale = cast(low, spread(low, q.scale, x, q), type);
  ValueId y = cast(low, x, type);
  if (!is_zero(low, q.zero_point)) {
    y = binary_exact(low, BinaryKind::sub, y, cast(low, spread(low, q.zero_point, x, q), type));
  }
  return cast(low, binary(low, BinaryKind::mul, y, scale), to);
}

namespace {

/// How many axes from the first on have scales of their own.
std::int64_t scaled_axes(const Lowering& low, ValueId x) {
  if (low.dynamic_scale() == DynamicScale::tensor || !low.shape(x) || low.rank(x) < 2) return 0;
  constexpr std::int64_t kMostOfRows = 3;
  const bool by_row = low.dynamic_scale() == DynamicScale::row && low.rank(x) <= kMostOfRows;
  return by_row ? low.rank(x) - 1 : 1;
}

/// Of numbers `x` by a scale and a zero point for each index of the axes before `scaled`, which have ones after those.
ValueId quantize_each(Lowering& low, ValueId x, ValueId scale, ValueId zero_point, std::int64_t scaled) {
  const std::int64_t rank = low.rank(x);
  const ValueId rows = scaled == 1 ? x : reshape(low, x, {-1, low.dim(x, rank - 1)});
  const ValueId bytes = quantize(low, rows, {reshape(low, scale, {-1}), reshape(low, zero_point, {-1}), 0}, DType::u8);
  return scaled == 1 ? bytes : low.emit(Reshape{}, {bytes, low.emit(ShapeOf{}, {x})});
}

}  // namespace

Values quantize_by_range(Lowering& low, ValueId x) {
  const std::int64_t scaled = scaled_axes(low, x);
  if (scaled == 0) {
    const Values made = low.emit_all(ByteScale{}, {x}, 2);
    return {quantize(low, x, {made[0], made[1]}, DType::u8), made[0], made[1]};
  }
  const ValueId zero = scalar(low, DType::f32, 0);
  const auto extreme = [&](ReduceKind reduction, BinaryKind kind) {
    const ValueId axes = ints(low, axes_between(scaled, low.rank(x)));
    return binary(low, kind, low.emit(Reduce{.kind = reduction}, {x, axes}), zero);
  };
  const ValueId least = extreme(ReduceKind::min, BinaryKind::min), most = extreme(ReduceKind::max, BinaryKind::max);
  const ValueId range = binary(low, BinaryKind::sub, most, least);
  const ValueId scale = select(low, binary_scalar(low, BinaryKind::equal, range, 0.0), scalar(low, DType::f32, 1),
                               binary_exact(low, BinaryKind::div, range, scalar(low, DType::f32, 255)));
  const ValueId origin = binary_exact(low, BinaryKind::div, binary_exact(low, BinaryKind::sub, zero, least), scale);
  const ValueId zero_point = round_to(low, origin, kAbsent, DType::u8);
  return {quantize_each(low, x, scale, zero_point, scaled), scale, zero_point};
}

namespace {

DType attribute_type(const Lowering& low, std::string_view name) {
  const auto number = find_int(low.node(), name);
  if (!number || *number == 0) return DType::undefined;
  return dtype_of(*number, fmt::format("{}: attribute '{}'", low.node().label(), name));
}

Quantization read_quantization(const Lowering& low) {
  const std::int64_t block = low.int_or("block_size", 0);
  if (block < 0) low.invalid("attribute 'block_size': {} is negative", block);
  const DType scale = low.dtype(low.input(1));
  if (!is_float(scale) && scale != DType::f8e8m0 && scale != DType::i32 && scale != DType::undefined) {
    low.invalid("expected a scale of a float type, found {}", name_of(scale));
  }
  return {low.input(1), low.optional_input(2), low.int_or("axis", 1), block};
}

Values lower_quantize_linear(Lowering& low) {
  const Quantization q = read_quantization(low);
  const DType given = attribute_type(low, "output_dtype"), precision = attribute_type(low, "precision");
  const DType zero_type = q.zero_point == kAbsent ? DType::undefined : low.dtype(q.zero_point);
  if (given != DType::undefined && zero_type != DType::undefined && given != zero_type) {
    low.invalid("attribute 'output_dtype': expected {} as the zero point has, found {}", name_of(zero_type),
                name_of(given));
  }
  DType to = zero_type != DType::undefined ? zero_type : given;
  if (to == DType::undefined) to = DType::u8;
  if (!is_quantised(to)) low.invalid("cannot quantise to {}", name_of(to));
  if (precision != DType::undefined && !is_float(precision)) {
    low.invalid("attribute 'precision': {} is no type to divide in", name_of(precision));
  }
  return {quantize(low, low.input(0), q, to, precision, low.flag("saturate", true))};
}

Values lower_dequantize_linear(Lowering& low) {
  const Quantization q = read_quantization(low);
  check_zero_point(low, low.input(0), q.zero_point);
  const DType given = attribute_type(low, "output_dtype");
  const DType to = given != DType::undefined ? given : low.dtype(q.scale);
  if (!is_float(to)) low.invalid("cannot dequantise to {}", name_of(to));
  return {dequantize(low, low.input(0), q, to)};
}

Values lower_dynamic_quantize_linear(Lowering& low) { return quantize_by_range(low, low.input(0)); }

}  // namespace

ValueId by_row(Lowering& low, ValueId parameter) {
  if (parameter == kAbsent || !low.shape(parameter) || low.rank(parameter) != 1) return parameter;
  return has_one_element(low, parameter) ? reshape(low, parameter, {}) : unsqueeze(low, parameter, {1});
}

namespace {

Values lower_matmul_integer(Lowering& low) {
  const IntegerOperand a{low.input(0), by_row(low, low.optional_input(2))}, b{low.input(1), low.optional_input(3)};
  return {integer_matmul(low, a, b, DType::i32)};
}

/// A parameter of one number an output channel, as it broadcasts to a tensor of `rank` with channels along `axis`.
ValueId by_channel(Lowering& low, ValueId parameter, ValueId like, std::int64_t axis) {
  if (parameter == kAbsent) return kAbsent;
  const bool may_be_of_images = low.dynamic_scale() != DynamicScale::tensor && low.shape(parameter);
  if (may_be_of_images && low.rank(parameter) == low.rank(like) && low.dim(parameter, axis) == 1) return parameter;
  return spread(low, parameter, like, {.axis = axis});
}

Values lower_conv_integer(Lowering& low) {
  const ValueId weight = low.input(1);
  const IntegerOperand x{low.input(0), by_channel(low, low.optional_input(2), low.input(0), 1)};
  return {integer_conv(low, x, {weight, by_channel(low, low.optional_input(3), weight, 0)}, kAbsent, DType::i32)};
}

/// The factor from integer sums to the output's integers.
ValueId sum_scale(Lowering& low, ValueId a, ValueId b, ValueId y) {
  const ValueId product = binary_exact(low, BinaryKind::mul, cast(low, a, DType::f32), cast(low, b, DType::f32));
  return binary_exact(low, BinaryKind::div, product, cast(low, y, DType::f32));
}

/// Channels are last where the attribute of com.microsoft's operator says so.
Values lower_qlinear_conv(Lowering& low) {
  const ValueId weight = low.input(3), y_zero = low.input(7);
  const bool channels_last = low.flag("channels_last");
  const ValueId x = channels_last ? to_channels_first(low, low.input(0), low.rank(weight)) : low.input(0);
  const auto laid = [&](ValueId y) { return channels_last ? to_channels_last(low, y, low.rank(weight)) : y; };
  const bool one_scale = has_one_element(low, low.input(1)) && has_one_element(low, low.input(6));
  const auto out = one_scale ? rescale_to(low, y_zero) : std::nullopt;
  if (const auto bytes = out ? convolution_operands(low, {x, low.input(2)}, {weight, low.input(5)}) : std::nullopt) {
    const ValueId factor = sum_scale(low, low.input(1), low.input(4), low.input(6));
    const ValueId y =
        convolve(low, {.x = bytes->x,
                       .weight = bytes->weight,
                       .bytes = ByteParameters{*out, {bytes->zero_point, low.optional_input(8), factor}}});
    return {laid(rescaled(low, y, y_zero))};
  }
  const IntegerOperand left{x, by_channel(low, low.input(2), x, 1)};
  const IntegerOperand right{weight, by_channel(low, low.input(5), weight, 0)};
  const ValueId sums = integer_conv(low, left, right, low.optional_input(8), DType::f32);
  const ValueId weight_scale = by_channel(low, low.input(4), sums, 1);
  const ValueId factor =
      sum_scale(low, by_channel(low, low.input(1), x, 1), weight_scale, by_channel(low, low.input(6), sums, 1));
  const ValueId y = round_to(low, binary_exact(low, BinaryKind::mul, sums, factor), by_channel(low, y_zero, sums, 1),
                             low.dtype(y_zero));
  return {laid(y)};
}

ValueId scalar_of(Lowering& low, ValueId parameter) {
  return has_one_element(low, parameter) && low.rank(parameter) > 0 ? reshape(low, parameter, {}) : parameter;
}

/// Sums of the product of small floats, which stand for themselves less the zero point.
ValueId float_product(Lowering& low, const IntegerOperand& a, const IntegerOperand& b) {
  return low.emit(MatMul{}, {centred(low, a, DType::f32), centred(low, b, DType::f32)});
}

Values lower_qlinear_matmul(Lowering& low) {
  const IntegerOperand a{low.input(0), by_row(low, low.input(2))}, b{low.input(3), scalar_of(low, low.input(5))};
  const ValueId y_scale = by_row(low, low.input(6)), y_zero = low.input(7);
  const bool one_scale = has_one_element(low, low.input(1)) && has_one_element(low, low.input(6));
  const auto out = one_scale ? rescale_to(low, y_zero) : std::nullopt;
  if (const auto bytes = out ? product_operands(low, a, b) : std::nullopt) {
    const ValueId scale = sum_scale(low, low.input(1), low.input(4), low.input(6));
    const ValueId y = low.emit(ByteMatMul{*out}, {bytes->x, bytes->weight, bytes->zero_point, kAbsent, scale});
    return {rescaled(low, y, y_zero)};
  }
  const bool is_float8 = is_minifloat(low.dtype(a.value));
  const ValueId sums = is_float8 ? float_product(low, a, b) : integer_matmul(low, a, b, DType::f32);
  const ValueId factor = sum_scale(low, by_row(low, low.input(1)), scalar_of(low, low.input(4)), y_scale);
  const ValueId scaled = binary_exact(low, BinaryKind::mul, sums, factor);
  const DType to = low.dtype(y_zero);
  if (!is_quantised(to)) low.invalid("cannot quantise to {}", name_of(to));
  if (!is_minifloat(to)) return {round_to(low, scaled, by_row(low, y_zero), to)};
  return {low.emit(Cast{to}, {binary_exact(low, BinaryKind::add, scaled, cast(low, by_row(low, y_zero), DType::f32))})};
}

constexpr Row kQuantizeRows[] = {
    {kOnnxDomain, "ConvInteger", 10, kNoLimit, 2, 4, 1, lower_conv_integer},
    {kOnnxDomain, "DequantizeLinear", 10, kNoLimit, 2, 3, 1, lower_dequantize_linear},
    {kOnnxDomain, "DynamicQuantizeLinear", 11, kNoLimit, 1, 1, 3, lower_dynamic_quantize_linear},
    {kOnnxDomain, "MatMulInteger", 10, kNoLimit, 2, 4, 1, lower_matmul_integer},
    {kOnnxDomain, "QLinearConv", 10, kNoLimit, 8, 9, 1, lower_qlinear_conv},
    {kMicrosoftDomain, "QLinearConv", 1, kNoLimit, 8, 9, 1, lower_qlinear_conv},
    {kOnnxDomain, "QLinearMatMul", 10, kNoLimit, 8, 8, 1, lower_qlinear_matmul},
    {kOnnxDomain, "QuantizeLinear", 10, kNoLimit, 2, 3, 1, lower_quantize_linear},
};

}  // namespace

std::span<const Row> quantize_rows() { return kQuantizeRows; }

}  // namespace colonnade::onnx_import
