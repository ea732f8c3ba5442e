// SPDX-License-Identifier: Apache-2.0
// com.microsoft: products of quantised matrices, and of floats with weights of few bits.
#include <cmath>

#include "frontends/onnx/ops/contrib_quantized.hpp"
#include "frontends/onnx/ops/shared.hpp"

namespace colonnade::onnx_import {
namespace {

/// y + the input, where there is one.
ValueId add_input(Lowering& low, ValueId y, std::size_t index) {
  return low.optional_input(index) == kAbsent ? y : binary(low, BinaryKind::add, y, low.input(index));
}

Values lower_matmul_integer_to_float(Lowering& low) {
  const Quantized a{low.input(0), low.input(2), low.optional_input(4)};
  const Quantized b{low.input(1), low.input(3), low.optional_input(5)};
  return {add_input(low, scaled_product(low, a, b), 6)};
}

Values lower_dynamic_quantize_matmul(Lowering& low) {
  const Quantized a = quantize_by_range(low, low.input(0));
  const Quantized b{low.input(1), low.input(2), low.optional_input(3)};
  return {add_input(low, scaled_product(low, a, b), 4)};
}

/// Products of 16-bit numbers, as 32-bit ones.
Values lower_matmul_integer_16(Lowering& low) {
  const ValueId a = low.input(0), b = low.input(1);
  const DType wide = low.dtype(a) == DType::u16 && low.dtype(b) == DType::u16 ? DType::u32 : DType::i32;
  return {low.emit(MatMul{}, {cast(low, a, wide), cast(low, b, wide)})};
}

/// (A B + C) times both scales and alpha: C is quantised by that very scale. Quantised again where a scale says how.
Values lower_gemm(Lowering& low) {
  const Quantized a = quantized_input(low, 0);
  Quantized b = quantized_input(low, 3);
  const bool transposes_b = low.flag("transB");
  ValueId columns = centred(low, {transposes_b ? transpose(low, b.values, {1, 0}) : b.values, b.scale, b.zero_point});
  ValueId y = low.emit(MatMul{.transpose_a = low.flag("transA"), .epilogue = {}}, {centred(low, a), columns});
  if (low.optional_input(6) != kAbsent) y = binary(low, BinaryKind::add, y, cast(low, low.input(6), DType::f32));
  const ValueId scales = binary(low, BinaryKind::mul, as_scalar(low, a.scale), as_scalar(low, b.scale));
  y = binary(low, BinaryKind::mul, y, binary_scalar(low, BinaryKind::mul, scales, low.float_or("alpha", 1)));
  if (low.optional_input(7) == kAbsent) return {y};
  const ValueId zero_point = low.optional_input(8);
  const DType dtype = zero_point == kAbsent ? low.dtype(a.values) : low.dtype(zero_point);
  return {quantize(low, y, low.input(7), zero_point, dtype)};
}

/// position / block for every position below `count`.
ValueId block_numbers(Lowering& low, std::int64_t count, std::int64_t block) {
  Ints numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i / block;
  return ints(low, numbers);
}

std::int64_t read_block_size(const Lowering& low, std::int64_t fallback) {
  const std::int64_t block = low.int_or("block_size", fallback);
  if (block < 16 || block > (1 << 24) || (block & (block - 1)) != 0) {
    low.invalid("attribute 'block_size': expected a power of two from 16 on, found {}", block);
  }
  return block;
}

/// [N, blocks] zero points: packed bytes, numbers of the scales' type, or the middle of the range.
ValueId weight_zero_points(Lowering& low, ValueId given, std::int64_t bits, std::int64_t rows, std::int64_t blocks,
                           DType dtype) {
  if (given == kAbsent) return scalar(low, dtype, static_cast<double>(1 << (bits - 1)));
  if (low.dtype(given) != DType::u8) return reshape(low, given, {rows, blocks});
  const ValueId all = unpack(low, reshape(low, given, {rows, -1}), bits);
  return cast(low, slice_of(low, all, 1, ints(low, {0}), ints(low, {blocks})), dtype);
}

/// The weights [N, K]: numbers of few bits in bytes, each block of a row with a scale and a zero point of its own.
ValueId unpacked_weights(Lowering& low, std::int64_t rows, std::int64_t depth) {
  const std::int64_t bits = low.int_or("bits", 4), block = read_block_size(low, 0);
  if (bits != 2 && bits != 4 && bits != 8) low.unsupported("{} bits a weight are not supported", bits);
  if (low.int_or("weight_prepacked", 0) != 0) low.unsupported("prepacked weights are not supported");
  const std::int64_t blocks = (depth + block - 1) / block;
  const ValueId bytes = low.input(1), given_groups = low.optional_input(4);
  if (low.shape(bytes) && low.rank(bytes) == 3 && low.dim(bytes, 1) >= 0 && low.dim(bytes, 1) != blocks) {
    low.invalid("expected {} blocks of weights for {} inputs, found {}", blocks, depth, low.dim(bytes, 1));
  }
  const ValueId numbers = unpack(low, reshape(low, bytes, {rows, blocks * block * bits / 8}), bits);
  const ValueId groups = low.is_empty(given_groups) ? block_numbers(low, depth, block) : given_groups;
  const ValueId scales = reshape(low, low.input(2), {rows, blocks});
  const DType dtype = low.dtype(scales);
  const ValueId zero_points = weight_zero_points(low, low.optional_input(3), bits, rows, blocks, dtype);
  const auto per_weight = [&](ValueId x) { return low.rank(x) == 0 ? x : low.emit(Gather{1}, {x, groups}); };
  const ValueId used = cast(low, slice_of(low, numbers, 1, ints(low, {0}), ints(low, {depth})), dtype);
  const ValueId centred = binary(low, BinaryKind::sub, used, per_weight(zero_points));
  return binary(low, BinaryKind::mul, centred, per_weight(scales));
}

std::int64_t read_size(const Lowering& low, std::string_view name) {
  const std::int64_t size = low.required_int(name);
  if (size < 1 || size > (std::int64_t{1} << 24)) low.invalid("attribute '{}': {} is out of range", name, size);
  return size;
}

Values lower_matmul_n_bits(Lowering& low) {
  const ValueId weights = unpacked_weights(low, read_size(low, "N"), read_size(low, "K"));
  Values inputs = {low.input(0), weights};
  if (low.optional_input(5) != kAbsent) inputs.push_back(low.input(5));
  return {low.emit(MatMul{.transpose_b = true, .epilogue = {}}, std::move(inputs))};
}

struct Blocks {
  std::int64_t axis, size;
};

/// (data - zero point) * scale with a scale and a zero point a block along an axis.
ValueId dequantize_blocks(Lowering& low, const Quantized& x, const Blocks& blocks) {
  const std::int64_t length = low.dim(x.values, blocks.axis);
  if (length < 0 || length > (std::int64_t{1} << 24)) low.unsupported("axis {} has {} elements", blocks.axis, length);
  const ValueId numbers = block_numbers(low, length, blocks.size);
  const DType dtype = low.dtype(x.scale);
  const auto each = [&](ValueId values) { return low.emit(Gather{blocks.axis}, {values, numbers}); };
  ValueId y = cast(low, x.values, dtype);
  if (x.zero_point != kAbsent) y = binary(low, BinaryKind::sub, y, cast(low, each(x.zero_point), dtype));
  return binary(low, BinaryKind::mul, y, each(x.scale));
}

/// Rows are gathered first and dequantised after, except along the axis of the blocks.
Values lower_gather_block_quantized(Lowering& low) {
  const ValueId indices = low.input(1);
  Quantized x{low.input(0), low.input(2), low.optional_input(3)};
  const std::int64_t rank = low.rank(x.values), bits = low.int_or("bits", 4);
  const std::int64_t gather_axis = checked_axis(low, low.int_or("gather_axis", 0), rank);
  Blocks blocks{checked_axis(low, low.int_or("quantize_axis", 1), rank), read_block_size(low, 128)};
  const bool is_packed = low.dtype(x.values) == DType::u8;
  const bool gathers_first = gather_axis != blocks.axis;
  if (is_packed && (gather_axis == rank - 1 || (bits < 8 && !gathers_first))) {
    low.invalid("packed numbers cannot be gathered along axis {}", gather_axis);
  }
  if (gathers_first) {
    for (ValueId* part : {&x.values, &x.scale, &x.zero_point}) {
      if (*part != kAbsent) *part = low.emit(Gather{gather_axis}, {*part, indices});
    }
    if (gather_axis < blocks.axis) blocks.axis += low.rank(indices) - 1;
  }
  if (is_packed) {
    const std::int64_t block_count = low.dim(x.scale, low.rank(x.scale) - 1);
    x.values = unpack(low, x.values, bits);
    if (x.zero_point == kAbsent) {
      x.values =
          binary_scalar(low, BinaryKind::sub, cast(low, x.values, DType::i32), static_cast<double>(1 << (bits - 1)));
    } else if (bits < 8) {
      const std::int64_t last = low.rank(x.zero_point) - 1;
      x.zero_point = slice_of(low, unpack(low, x.zero_point, bits), last, ints(low, {0}), ints(low, {block_count}));
    }
  }
  const ValueId y = dequantize_blocks(low, x, blocks);
  return {gathers_first ? y : low.emit(Gather{gather_axis}, {y, indices})};
}

/// Weights [directions, inputs, gates] as LSTM's [directions, gates, inputs]. Activations are not quantised: the
/// operator's own quantisation of them only serves speed.
Values lower_dynamic_quantize_lstm(Lowering& low) {
  const auto weight = [&](std::size_t index, std::size_t scale) {
    Quantized x{low.input(index), low.input(scale), low.optional_input(scale + 1)};
    const auto by_gate = [&](ValueId values) { return unsqueeze(low, values, Ints{1}); };
    const auto by_direction = [&](ValueId values) { return unsqueeze(low, values, Ints{1, 2}); };
    for (ValueId* part : {&x.scale, &x.zero_point}) {
      if (*part != kAbsent) *part = low.rank(*part) == 1 ? by_direction(*part) : by_gate(*part);
    }
    return transpose(low, dequantize(low, x), {0, 2, 1});
  };
  Values inputs = {low.input(0), weight(1, 8), weight(2, 10)};
  for (std::size_t i = 3; i < 8; ++i) inputs.push_back(low.optional_input(i));
  return recur(low, RecurrentKind::lstm, std::move(inputs));
}

constexpr Row kRows[] = {
    contrib_row("DynamicQuantizeLSTM", 12, 12, 3, lower_dynamic_quantize_lstm),
    contrib_row("DynamicQuantizeMatMul", 3, 5, 1, lower_dynamic_quantize_matmul),
    contrib_row("GatherBlockQuantized", 3, 4, 1, lower_gather_block_quantized),
    contrib_row("MatMulInteger16", 2, 2, 1, lower_matmul_integer_16),
    contrib_row("MatMulIntegerToFloat", 4, 7, 1, lower_matmul_integer_to_float),
    contrib_row("MatMulNBits", 3, 6, 1, lower_matmul_n_bits),
    contrib_row("QGemm", 6, 9, 1, lower_gemm),
};

}  // namespace

std::span<const Row> contrib_integer_product_rows() { return kRows; }

}  // namespace colonnade::onnx_import
