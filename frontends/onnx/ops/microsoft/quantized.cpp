// SPDX-License-Identifier: Apache-2.0
// com.microsoft: operators on quantised numbers, by what the numbers stand for.
#include "frontends/onnx/ops/microsoft/quantized.hpp"

#include "frontends/onnx/ops/core/shared.hpp"

namespace colonnade::onnx_import {

Quantized quantized_input(Lowering& low, std::size_t first) {
  return {low.input(first), {low.input(first + 1), low.optional_input(first + 2)}};
}

ValueId dequantize(Lowering& low, const Quantized& x) { return dequantize(low, x.value, x.by, DType::f32); }

ValueId scaled_product(Lowering& low, const Quantized& a, const Quantized& b) {
  const ValueId sums = integer_matmul(low, {a.value, a.by.zero_point}, {b.value, b.by.zero_point}, DType::f32);
  return binary(low, BinaryKind::mul, sums, binary(low, BinaryKind::mul, a.by.scale, b.by.scale));
}

ValueId unpack(Lowering& low, ValueId bytes, std::int64_t bits) {
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8) low.unsupported("{} bits a number are not supported", bits);
  if (bits == 8) return bytes;
  if (low.dtype(bytes) != DType::u8) low.invalid("expected uint8, found {}", name_of(low.dtype(bytes)));
  const std::int64_t rank = low.rank(bytes), last = low.dim(bytes, rank - 1);
  const ValueId mask = scalar(low, DType::u8, (1 << bits) - 1);
  Values fields;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    const ValueId shifted =
        shift == 0 ? bytes : binary_scalar(low, BinaryKind::div, bytes, static_cast<double>(1 << shift));
    fields.push_back(unsqueeze(low, binary(low, BinaryKind::bitwise_and, shifted, mask), {rank}));
  }
  Ints shape(static_cast<std::size_t>(rank), 0);
  shape.back() = last < 0 ? -1 : last * 8 / bits;
  return reshape(low, low.emit(Concat{rank}, std::move(fields)), shape);
}

namespace {

/// y as `dtype`, by the scale and zero point at `first`.
Values requantize(Lowering& low, ValueId y, std::size_t first, DType dtype) {
  return {quantize(low, y, {low.input(first), low.optional_input(first + 1)}, dtype)};
}

template <BinaryKind kind>
Values lower_binary(Lowering& low) {
  const ValueId a = dequantize(low, quantized_input(low, 0)), b = dequantize(low, quantized_input(low, 3));
  return requantize(low, binary(low, kind, a, b), 6, low.dtype(low.input(0)));
}

/// Input 0 dequantised, mapped and quantised by inputs 3 and 4.
template <class Map>
Values map_quantized(Lowering& low, Map&& map) {
  return requantize(low, map(dequantize(low, quantized_input(low, 0))), 3, low.dtype(low.input(0)));
}

Values lower_sigmoid(Lowering& low) {
  return map_quantized(low, [&](ValueId x) { return unary(low, UnaryKind::sigmoid, x); });
}

Values lower_leaky_relu(Lowering& low) {
  const float alpha = low.float_or("alpha", 0.01f);
  return map_quantized(low, [&](ValueId x) { return unary(low, UnaryKind::leaky_relu, x, alpha); });
}

/// Since opset 13 (an attribute) along one axis, before along all axes from it on.
Values lower_softmax(Lowering& low) {
  return map_quantized(low, [&](ValueId x) {
    const std::int64_t rank = low.rank(x), axis = checked_axis(low, low.int_or("axis", -1), rank);
    if (low.required_int("opset") >= 13 || axis == rank - 1) return low.emit(Softmax{.axis = axis}, {x});
    return reshape_like(low, low.emit(Softmax{.axis = -1}, {low.emit(Flatten{axis}, {x})}), x);
  });
}

Values lower_average_pool(Lowering& low) {
  return map_quantized(low, [&](ValueId x) {
    const bool channels_last = low.flag("channels_last");
    const std::int64_t rank = low.rank(x);
    const ValueId y = pool(low, PoolKind::average, channels_last ? to_channels_first(low, x, rank) : x).front();
    return channels_last ? to_channels_last(low, y, rank) : y;
  });
}

Values lower_global_average_pool(Lowering& low) {
  return map_quantized(low, [&](ValueId x) {
    const std::int64_t rank = low.rank(x);
    if (rank < 3) low.invalid("expected an input of rank 3 or more, found rank {}", rank);
    const bool channels_last = low.flag("channels_last");
    return reduce(low, ReduceKind::mean, x, channels_last ? axes_between(1, rank - 1) : axes_between(2, rank));
  });
}

Values lower_reduce_mean(Lowering& low) {
  const Ints axes = low.required_ints("axes");
  return map_quantized(low,
                       [&](ValueId x) { return reduce(low, ReduceKind::mean, x, axes, low.flag("keepdims", true)); });
}

Values lower_concat(Lowering& low) {
  if (low.input_count() % 3 != 2) low.invalid("expected inputs in threes behind two, found {}", low.input_count());
  Values parts;
  for (std::size_t i = 2; i < low.input_count(); i += 3) parts.push_back(dequantize(low, quantized_input(low, i)));
  const std::int64_t axis = checked_axis(low, low.required_int("axis"), low.rank(parts.front()));
  return requantize(low, low.emit(Concat{axis}, std::move(parts)), 0, low.dtype(low.input(2)));
}

Values lower_where(Lowering& low) {
  const ValueId x = dequantize(low, quantized_input(low, 1)), y = dequantize(low, quantized_input(low, 4));
  return requantize(low, select(low, low.input(0), x, y), 7, low.dtype(low.input(1)));
}

Values lower_quantize_linear(Lowering& low) {
  const Quantization by{low.input(1), low.optional_input(2), low.int_or("axis", 1)};
  return {quantize(low, low.input(0), by, by.zero_point == kAbsent ? DType::u8 : low.dtype(by.zero_point))};
}

Values lower_dequantize_linear(Lowering& low) {
  const Quantization by{low.input(1), low.optional_input(2), low.int_or("axis", 1)};
  return {dequantize(low, low.input(0), by, low.dtype(by.scale))};
}

Values lower_mul_integer(Lowering& low) {
  const auto operand = [&](std::size_t index) {
    const ValueId values = cast(low, low.input(index), DType::i32), zero_point = low.optional_input(index + 1);
    return zero_point == kAbsent ? values : binary(low, BinaryKind::sub, values, cast(low, zero_point, DType::i32));
  };
  return {binary(low, BinaryKind::mul, operand(0), operand(2))};
}

Values lower_reduce_sum_integer(Lowering& low) {
  const ValueId x = low.input(0);
  const DType wide = low.dtype(x) == DType::u8 ? DType::u32 : DType::i32;
  return {reduce(low, ReduceKind::sum, cast(low, x, wide), low.required_ints("axes"), low.flag("keepdims", true))};
}

constexpr Row kQuantizedRows[] = {
    microsoft_row("DequantizeLinear", 2, 3, 1, lower_dequantize_linear),
    microsoft_row("MulInteger", 3, 4, 1, lower_mul_integer),
    microsoft_row("QLinearAdd", 7, 8, 1, lower_binary<BinaryKind::add>),
    microsoft_row("QLinearAveragePool", 4, 5, 1, lower_average_pool),
    microsoft_row("QLinearConcat", 5, kNoLimit, 1, lower_concat),
    microsoft_row("QLinearGlobalAveragePool", 5, 5, 1, lower_global_average_pool),
    microsoft_row("QLinearLeakyRelu", 4, 5, 1, lower_leaky_relu),
    microsoft_row("QLinearMul", 7, 8, 1, lower_binary<BinaryKind::mul>),
    microsoft_row("QLinearReduceMean", 4, 5, 1, lower_reduce_mean),
    microsoft_row("QLinearSigmoid", 4, 5, 1, lower_sigmoid),
    microsoft_row("QLinearSoftmax", 5, 5, 1, lower_softmax),
    microsoft_row("QLinearWhere", 9, 9, 1, lower_where),
    microsoft_row("QuantizeLinear", 2, 3, 1, lower_quantize_linear),
    microsoft_row("ReduceSumInteger", 1, 1, 1, lower_reduce_sum_integer),
};

}  // namespace

std::span<const Row> microsoft_quantized_rows() { return kQuantizedRows; }

}  // namespace colonnade::onnx_import
