// SPDX-License-Identifier: Apache-2.0
// com.microsoft: products of quantised matrices, and of floats with weights of few bits.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/microsoft/quantized.hpp"
#include "graph/narrow_weights.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_matmul_integer_to_float(Lowering& low) {
  const Quantized a{low.input(0), {low.input(2), low.optional_input(4)}};
  const Quantized b{low.input(1), {low.input(3), low.optional_input(5)}};
  return {add_input(low, scaled_product(low, a, b), 6)};
}

Values lower_dynamic_quantize_matmul(Lowering& low) {
  const Values a = quantize_by_range(low, low.input(0));
  const Quantized b{low.input(1), {low.input(2), low.optional_input(3)}};
  return {add_input(low, scaled_product(low, {a[0], {a[1], a[2]}}, b), 4)};
}

/// Products of 16-bit numbers, as 32-bit ones.
Values lower_matmul_integer_16(Lowering& low) {
  const ValueId a = low.input(0), b = low.input(1);
  const DType wide = low.dtype(a) == DType::u16 && low.dtype(b) == DType::u16 ? DType::u32 : DType::i32;
  return {low.emit(MatMul{}, {cast(low, a, wide), cast(low, b, wide)})};
}

/// (A B + C) times both scales and alpha: C is quantised by that very scale. Quantised again where a scale says how.
Values lower_gemm(Lowering& low) {
  const auto operand = [&](std::size_t first, const char* transposes) {
    const ValueId value = low.input(first);
    return IntegerOperand{low.flag(transposes) ? transpose(low, value, {1, 0}) : value, low.optional_input(first + 2)};
  };
  const bool has_offset = low.optional_input(6) != kAbsent;
  ValueId sums = integer_matmul(low, operand(0, "transA"), operand(3, "transB"), has_offset ? DType::i32 : DType::f32);
  if (has_offset) sums = cast(low, binary(low, BinaryKind::add, sums, low.input(6)), DType::f32);
  const ValueId scales = binary(low, BinaryKind::mul, low.input(1), low.input(4));
  const ValueId y =
      binary(low, BinaryKind::mul, sums, binary_scalar(low, BinaryKind::mul, scales, low.float_or("alpha", 1)));
  if (low.optional_input(7) == kAbsent) return {y};
  const ValueId zero_point = low.optional_input(8);
  const DType to = zero_point == kAbsent ? low.dtype(low.input(0)) : low.dtype(zero_point);
  return {quantize(low, y, {low.input(7), zero_point}, to)};
}

/// position / block for every position below `count`.
ValueId block_numbers(Lowering& low, std::int64_t count, std::int64_t block) {
  Ints numbers(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = i / block;
  return ints(low, numbers);
}

/// [N, blocks] zero points: packed bytes, numbers of the scales' type, or the middle of the range.
ValueId weight_zero_points(Lowering& low, ValueId given, std::int64_t bits, std::int64_t rows, std::int64_t blocks,
                           DType dtype) {
  if (given == kAbsent) return scalar(low, dtype, static_cast<double>(1 << (bits - 1)));
  if (low.dtype(given) != DType::u8) return reshape(low, given, {rows, blocks});
  const ValueId all = unpack(low, reshape(low, given, {rows, -1}), bits);
  return cast(low, slice_of(low, all, 1, ints(low, {0}), ints(low, {blocks})), dtype);
}

/// An input of the type has as many elements as it should.
void check_count(const Lowering& low, ValueId id, std::int64_t expected, std::string_view what) {
  const auto& shape = low.shape(id);
  if (!shape || std::any_of(shape->begin(), shape->end(), [](std::int64_t dim) { return dim < 0; })) return;
  const std::int64_t found = element_count(*shape);
  if (found != expected) low.invalid("expected {} {}, found {}", expected, what, found);
}

FewBits read_few_bits(const Lowering& low, std::int64_t rows, std::int64_t depth) {
  const std::int64_t bits = low.int_or("bits", 4), block = read_block_size(low, 0);
  if (bits != 2 && bits != 4 && bits != 8) low.unsupported("{} bits a weight are not supported", bits);
  if (low.int_or("weight_prepacked", 0) != 0) low.unsupported("prepacked weights are not supported");
  const bool byte_rows = low.int_or("accuracy_level", 0) == FewBits::kBytes;
  const FewBits sizes{rows, depth, bits, block, byte_rows};
  const ValueId bytes = low.input(1), zeros = low.optional_input(3);
  if (low.shape(bytes) && low.rank(bytes) == 3 && low.dim(bytes, 1) >= 0 && low.dim(bytes, 1) != sizes.blocks()) {
    low.invalid("expected {} blocks of weights for {} inputs, found {}", sizes.blocks(), depth, low.dim(bytes, 1));
  }
  check_count(low, bytes, rows * sizes.row_bytes(), "bytes of weights");
  check_count(low, low.input(2), rows * sizes.blocks(), "scales");
  if (zeros != kAbsent) {
    const bool packed = low.dtype(zeros) == DType::u8;
    check_count(low, zeros, rows * (packed ? sizes.zero_bytes() : sizes.blocks()),
                packed ? "bytes of zero points" : "zero points");
  }
  return sizes;
}

/// Constant weights as they are packed. kAbsent where something is computed, or rows have groups in an order of their
/// own.
ValueId constant_weights(Lowering& low, const FewBits& sizes) {
  const auto bytes = low.constant_of(low.input(1)), scales = low.constant_of(low.input(2));
  const ValueId given = low.optional_input(3);
  const auto zeros = low.constant_of(given);
  if (!bytes || !scales || (given != kAbsent && !zeros) || !low.is_empty(low.optional_input(4))) return kAbsent;
  if (given == kAbsent) return few_bits_as_floats(low, sizes, bytes, scales, kAbsent);
  const bool packed = zeros->dtype() == DType::u8;
  const auto matrix = reshaped(zeros, {sizes.rows, packed ? sizes.zero_bytes() : sizes.blocks()});
  return few_bits_as_floats(low, sizes, bytes, scales,
                            low.constant(packed ? fields_of(matrix, sizes.type(), sizes.blocks()) : matrix));
}

/// The weights [N, K]: numbers of few bits in bytes, each block of a row with a scale and a zero point of its own.
ValueId unpacked_weights(Lowering& low, const FewBits& sizes) {
  const auto [rows, depth, bits, block, byte_rows] = sizes;
  const std::int64_t blocks = sizes.blocks();
  const ValueId bytes = low.input(1), given_groups = low.optional_input(4);
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
  const FewBits sizes = read_few_bits(low, read_size(low, "N"), read_size(low, "K"));
  ValueId weights = constant_weights(low, sizes);
  if (weights == kAbsent) weights = unpacked_weights(low, sizes);
  Values inputs = {low.input(0), weights};
  if (low.optional_input(5) != kAbsent) inputs.push_back(low.input(5));
  return {low.emit(MatMul{.transpose_b = true, .epilogue = {}}, std::move(inputs))};
}

/// What fields of four bits stand for, times the largest |weight| of their block: FP4 (a sign, two bits of exponent,
/// one of mantissa) and NF4 (quantiles of a normal distribution; Dettmers et al., "QLoRA", 2023).
constexpr float kFloatsOfFourBits[2][16] = {
    {0, 5.208333333e-03f, 2 / 3.0f, 1, 1 / 3.0f, 0.5f, 1 / 6.0f, 0.25f, 0, -5.208333333e-03f, -2 / 3.0f, -1, -1 / 3.0f,
     -0.5f, -1 / 6.0f, -0.25f},
    {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
     -0.18477343022823334f, -0.09105003625154495f, 0, 0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f,
     0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1}};

/// Weights that bitsandbytes quantised, blocks of all elements one behind the other, the first of two in the high bits.
Values lower_matmul_bnb4(Lowering& low) {
  const std::int64_t rows = read_size(low, "N"), depth = read_size(low, "K"), block = read_block_size(low, 0);
  const std::int64_t type = low.required_int("quant_type"), count = rows * depth;
  if (type != 0 && type != 1) low.invalid("attribute 'quant_type': {} is out of range", type);
  const auto bytes = low.constant_of(low.input(1)), largest = low.constant_of(low.input(2));
  if (!bytes || !largest) low.unsupported("weights that are computed are not supported");
  check_count(low, low.input(1), (count + 1) / 2, "bytes of weights");
  check_count(low, low.input(2), (count + block - 1) / block, "scales");
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    const std::span to(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float));
    if (to.empty()) return;
    const std::int64_t end = first + static_cast<std::int64_t>(to.size());
    std::vector<std::uint8_t> pairs(static_cast<std::size_t>((end + 1) / 2 - first / 2));
    bytes->read(first / 2, std::as_writable_bytes(std::span(pairs)));
    std::vector<float> scales(static_cast<std::size_t>((end - 1) / block + 1 - first / block));
    if (largest->dtype() == DType::f32)
      largest->read(first / block, std::as_writable_bytes(std::span(scales)));
    else
      numbers_as_floats(*largest, first / block, scales);
    for (std::int64_t i = first; i < end; ++i) {
      const unsigned pair = pairs[static_cast<std::size_t>(i / 2 - first / 2)];
      to[static_cast<std::size_t>(i - first)] = kFloatsOfFourBits[type][i % 2 == 0 ? pair >> 4 : pair & 15] *
                                                scales[static_cast<std::size_t>(i / block - first / block)];
    }
  };
  const ValueId weights = low.constant(std::make_shared<const Constant>(DType::f32, Shape{rows, depth}, make));
  const ValueId x = low.input(0);
  return {
      low.emit(MatMul{.transpose_b = low.flag("transB", true), .epilogue = {}}, {x, cast(low, weights, low.dtype(x))})};
}

/// Packed numbers and zero points as one byte each; numbers without zero points count from the middle of their range.
void unpack_quantized(Lowering& low, Quantized& x, std::int64_t bits) {
  x.value = unpack(low, x.value, bits);
  if (x.by.zero_point == kAbsent) {
    x.by.zero_point = scalar(low, DType::u8, static_cast<double>(1 << (bits - 1)));
  } else if (bits < 8) {
    const std::int64_t last = low.rank(x.by.zero_point) - 1;
    const ValueId end = extent(low, x.by.scale, last);
    x.by.zero_point = slice_of(low, unpack(low, x.by.zero_point, bits), last, ints(low, {0}), end);
  }
}

/// Rows are gathered first and dequantised after, except along the axis of the blocks.
Values lower_gather_block_quantized(Lowering& low) {
  const ValueId indices = low.input(1);
  Quantized x{low.input(0), {low.input(2), low.optional_input(3)}};
  const std::int64_t rank = low.rank(x.value), bits = low.int_or("bits", 4);
  const std::int64_t gather_axis = checked_axis(low, low.int_or("gather_axis", 0), rank);
  x.by.axis = checked_axis(low, low.int_or("quantize_axis", 1), rank);
  x.by.block = read_block_size(low, 128);
  const bool is_packed = low.dtype(x.value) == DType::u8, gathers_first = gather_axis != x.by.axis;
  if (is_packed && (gather_axis == rank - 1 || (bits < 8 && !gathers_first))) {
    low.invalid("packed numbers cannot be gathered along axis {}", gather_axis);
  }
  if (gathers_first) {
    for (ValueId* part : {&x.value, &x.by.scale, &x.by.zero_point}) {
      if (*part != kAbsent) *part = low.emit(Gather{gather_axis}, {*part, indices});
    }
    if (gather_axis < x.by.axis) x.by.axis += low.rank(indices) - 1;
  }
  if (is_packed) unpack_quantized(low, x, bits);
  const ValueId y = dequantize(low, x.value, x.by, low.dtype(x.by.scale));
  return {gathers_first ? y : low.emit(Gather{gather_axis}, {y, indices})};
}

/// Weights [directions, inputs, gates] with scales and zero points, one or one a gate of each direction.
struct GateWeights {
  ValueId bytes, scale, zero_point;
};

std::vector<float> floats_of(const Constant& constant) {
  const auto values = reference::load_all<double>(*constant.tensor());
  return {values.begin(), values.end()};
}

/// Parameters of directions, or of their gates, as [parameters, 1].
std::shared_ptr<const Constant> column_of(const Constant& constant) {
  Tensor column(DType::f32, {constant.size(), 1});
  std::ranges::copy(floats_of(constant), column.values<float>().begin());
  return std::make_shared<const Constant>(std::move(column));
}

/// Bytes [directions, inputs, gates] as [directions, gates, inputs].
template <class Byte>
Tensor transposed_gates(const Tensor& bytes) {
  const Shape& shape = bytes.shape();
  Tensor result(bytes.dtype(), {shape[0], shape[2], shape[1]});
  const auto from = bytes.values<Byte>();
  auto to = result.values<Byte>().begin();
  for (std::int64_t direction = 0; direction < shape[0]; ++direction)
    for (std::int64_t gate = 0; gate < shape[2]; ++gate)
      for (std::int64_t input = 0; input < shape[1]; ++input)
        *to++ = from[static_cast<std::size_t>((direction * shape[1] + input) * shape[2] + gate)];
  return result;
}

/// Constant weights as LSTM's [directions, gates, inputs], which know their bytes; nothing where they are no constant
/// bytes.
std::shared_ptr<const Constant> known_gates(const Lowering& low, const GateWeights& weights) {
  const auto bytes = low.constant_of(weights.bytes), scale = low.constant_of(weights.scale);
  const auto zero = low.constant_of(weights.zero_point);
  if (!bytes || !scale || (weights.zero_point != kAbsent && !zero)) return nullptr;
  const Shape& shape = bytes->shape();
  const DType type = bytes->dtype();
  if (shape.size() != 3 || bytes->size() == 0 || (type != DType::i8 && type != DType::u8)) return nullptr;
  const auto fits = [&](const Constant& each) { return each.size() == shape[0] || each.size() == shape[0] * shape[2]; };
  if (!fits(*scale) || (zero && zero->size() != scale->size())) return nullptr;
  auto numbers = std::make_shared<const Constant>(type == DType::i8 ? transposed_gates<std::int8_t>(*bytes->tensor())
                                                                    : transposed_gates<std::uint8_t>(*bytes->tensor()));
  NarrowWeights narrow{.type = type,
                       .block_rows = scale->size() == shape[0] ? shape[2] : 1,
                       .block_columns = shape[1],
                       .has_zeros = zero != nullptr,
                       .byte_rows = true};
  NarrowWeights::Parts parts{numbers, column_of(*scale), zero ? column_of(*zero) : nullptr};
  const std::vector<float> zeros = zero ? floats_of(*zero) : std::vector<float>{0};
  if (std::ranges::all_of(zeros, [&](float x) { return x == zeros.front(); })) {
    narrow.has_zeros = false;
    narrow.zero = zeros.front();
    parts.zeros = nullptr;
  }
  narrow.parts = [parts = std::move(parts)] { return parts; };
  return widened(std::move(narrow), numbers->shape());
}

ValueId computed_gates(Lowering& low, const GateWeights& weights) {
  const auto spread = [&](ValueId x) {
    const std::int64_t rank = low.rank(x);
    if (rank != 1 && rank != 2) low.invalid("scales or zero points of gates have {} axes, expected 1 or 2", rank);
    return unsqueeze(low, x, rank == 1 ? Ints{1, 2} : Ints{1});
  };
  ValueId x = cast(low, weights.bytes, DType::f32);
  if (weights.zero_point != kAbsent)
    x = binary(low, BinaryKind::sub, x, cast(low, spread(weights.zero_point), DType::f32));
  return transpose(low, binary(low, BinaryKind::mul, x, spread(weights.scale)), {0, 2, 1});
}

/// The operator quantises what it multiplies as a tensor. Here it may be rounded a row at a time, whose answer does not
/// depend on others then.
Values lower_dynamic_quantize_lstm(Lowering& low) {
  const auto weight = [&](std::size_t index, std::size_t scale) {
    const GateWeights weights{low.input(index), low.input(scale), low.optional_input(scale + 1)};
    auto known = known_gates(low, weights);
    return known ? low.constant(std::move(known)) : computed_gates(low, weights);
  };
  Values inputs = {low.input(0), weight(1, 8), weight(2, 10)};
  for (std::size_t i = 3; i < 8; ++i) inputs.push_back(low.optional_input(i));
  return recur(low, RecurrentKind::lstm, std::move(inputs));
}

constexpr Row kIntegerProductRows[] = {
    microsoft_row("DynamicQuantizeLSTM", 12, 12, 3, lower_dynamic_quantize_lstm),
    microsoft_row("DynamicQuantizeMatMul", 3, 5, 1, lower_dynamic_quantize_matmul),
    microsoft_row("GatherBlockQuantized", 3, 4, 1, lower_gather_block_quantized),
    microsoft_row("MatMulBnb4", 3, 3, 1, lower_matmul_bnb4),
    microsoft_row("MatMulInteger16", 2, 2, 1, lower_matmul_integer_16),
    microsoft_row("MatMulIntegerToFloat", 4, 7, 1, lower_matmul_integer_to_float),
    microsoft_row("MatMulNBits", 3, 6, 1, lower_matmul_n_bits),
    microsoft_row("QGemm", 6, 9, 1, lower_gemm),
};

}  // namespace

std::int64_t read_block_size(const Lowering& low, std::int64_t fallback) {
  const std::int64_t block = low.int_or("block_size", fallback);
  if (block < 16 || block > (1 << 24) || (block & (block - 1)) != 0) {
    low.invalid("attribute 'block_size': expected a power of two from 16 on, found {}", block);
  }
  return block;
}

ValueId few_bits_as_floats(Lowering& low, const FewBits& sizes, const std::shared_ptr<const Constant>& bytes,
                           const std::shared_ptr<const Constant>& scales, ValueId zeros) {
  Values inputs{low.constant(fields_of(reshaped(bytes, {sizes.rows, sizes.row_bytes()}), sizes.type(), sizes.depth)),
                low.constant(reshaped(scales, {sizes.rows, sizes.blocks()})),
                zeros == kAbsent ? scalar(low, DType::f32, static_cast<double>(1 << (sizes.bits - 1))) : zeros};
  const Dequantize op{.axis = 1, .block = sizes.block, .byte_rows = sizes.byte_rows};
  return cast(low, low.emit(op, std::move(inputs)), scales->dtype());
}

std::span<const Row> microsoft_integer_product_rows() { return kIntegerProductRows; }

}  // namespace colonnade::onnx_import
