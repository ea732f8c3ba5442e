// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/byte_sums.hpp"

#include <algorithm>

#include "frontends/onnx/ops/core/quantize_blocks.hpp"
#include "graph/byte_weights.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::int64_t kSignBit = 128;
constexpr std::int64_t kLeastGroupChannels = 4;

ValueId sign_table(Lowering& low, DType to) {
  Tensor table(to, {256});
  auto* bytes = static_cast<std::uint8_t*>(table.data());
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i ^ 0x80U);
  return low.constant(std::move(table));
}

ValueId byte_scalar(Lowering& low, std::int64_t value) {
  Tensor tensor(DType::u8, {});
  tensor.values<std::uint8_t>()[0] = static_cast<std::uint8_t>(value);
  return low.constant(std::move(tensor));
}

std::optional<std::vector<std::int64_t>> constant_numbers(const Lowering& low, ValueId id) {
  if (id == kAbsent) return std::vector<std::int64_t>{0};
  const auto constant = low.constant_of(id);
  if (!constant || constant->size() == 0) return std::nullopt;
  return reference::load_all<std::int64_t>(*constant->tensor());
}

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

/// The weights less their zero points; nothing where the sums cannot take them.
std::optional<ValueId> centred_weight(Lowering& low, const IntegerOperand& weight, std::int64_t axis, ByteWidth most) {
  const auto constant = low.constant_of(weight.value);
  const auto zeros = constant_numbers(low, weight.zero_point);
  if (!constant || !zeros || constant->size() == 0 || !is_byte(constant->dtype())) return std::nullopt;
  const bool is_centred = std::all_of(zeros->begin(), zeros->end(), [](std::int64_t zero) { return zero == 0; });
  if (is_centred && constant->dtype() == DType::i8) return weight.value;
  auto centred = centred_weights(*constant->tensor(), *zeros, static_cast<std::size_t>(axis), most);
  if (!centred) return std::nullopt;
  return low.constant(*std::move(centred));
}

/// The operands, when the weight is constant and the sums take it less its zero points (one, or one an index of
/// `axis`), and x has one zero point, known where x is signed.
std::optional<ByteOperands> byte_operands(Lowering& low, const IntegerOperand& x, const IntegerOperand& weight,
                                          std::int64_t axis, ByteWidth most) {
  if (!is_byte(low.dtype(x.value)) || low.constant_of(x.value)) return std::nullopt;
  if (x.zero_point != kAbsent && !has_one_element(low, x.zero_point)) return std::nullopt;
  const bool is_signed = low.dtype(x.value) == DType::i8;
  const auto zero = constant_numbers(low, x.zero_point);
  if (is_signed && !zero) return std::nullopt;
  const auto centred = centred_weight(low, weight, axis, most);
  if (!centred) return std::nullopt;
  if (!is_signed) return ByteOperands{x.value, x.zero_point, *centred};
  const ValueId bytes = low.emit(Lookup{}, {x.value, sign_table(low, DType::u8)});
  return ByteOperands{bytes, byte_scalar(low, zero->front() + kSignBit), *centred};
}

}  // namespace

std::optional<ByteOperands> product_operands(Lowering& low, const IntegerOperand& a, const IntegerOperand& b) {
  const bool by_matrix = low.shape(a.value) && low.rank(a.value) >= 2 && low.shape(b.value) && low.rank(b.value) == 2;
  return by_matrix ? byte_operands(low, a, b, 1, ByteWidth::two) : std::nullopt;
}

ValueId product_of_rows(Lowering& low, const IntegerOperand& a, const IntegerOperand& b) {
  if (a.zero_point == kAbsent) return kAbsent;
  const auto &zeros = low.shape(a.zero_point), &shape = low.shape(a.value);
  const bool is_row = zeros && shape && !zeros->empty() && zeros->size() == shape->size() && zeros->back() == 1;
  if (!is_row || low.dtype(a.value) != DType::u8) return kAbsent;
  const auto bytes = product_operands(low, {a.value, kAbsent}, b);
  if (!bytes) return kAbsent;
  const auto weight = low.constant_of(bytes->weight)->tensor();
  const auto columns = static_cast<std::size_t>(weight->shape()[1]);
  const std::vector<std::int64_t> weights = reference::load_all<std::int64_t>(*weight);
  std::vector<std::int64_t> sums(columns);
  for (std::size_t i = 0; i < weights.size(); ++i) sums[i % columns] += weights[i];
  const ValueId of_column = low.constant(reference::tensor_of(DType::i32, {weight->shape()[1]}, sums));
  const ValueId excess = binary_exact(low, BinaryKind::mul, cast(low, a.zero_point, DType::i32), of_column);
  const ValueId all = low.emit(ByteMatMul{{DType::i32}}, {bytes->x, bytes->weight});
  return binary_exact(low, BinaryKind::sub, all, excess);
}

std::optional<ByteOperands> convolution_operands(Lowering& low, const IntegerOperand& x, const IntegerOperand& weight) {
  const auto constant = low.constant_of(weight.value);
  if (!constant || constant->shape().size() < 3 || constant->shape().size() > 4) return std::nullopt;
  const std::int64_t groups = low.int_or("group", 1), inputs = constant->shape()[1];
  if (groups == 1 || inputs >= kLeastGroupChannels) return byte_operands(low, x, weight, 0, ByteWidth::two);
  const bool is_depthwise = inputs == 1 && constant->shape()[0] == groups;
  return is_depthwise ? byte_operands(low, x, weight, 0, ByteWidth::one) : std::nullopt;
}

std::optional<Rescale> rescale_to(const Lowering& low, ValueId zero_point) {
  const auto constant = low.constant_of(zero_point);
  if (!constant || constant->size() != 1 || !is_byte(constant->dtype())) return std::nullopt;
  const std::int64_t sign = constant->dtype() == DType::i8 ? kSignBit : 0;
  const auto zero = static_cast<std::int32_t>(constant_numbers(low, zero_point)->front() + sign);
  return Rescale{DType::u8, zero, static_cast<float>(0 - zero), static_cast<float>(255 - zero)};
}

ValueId rescaled(Lowering& low, ValueId bytes, ValueId zero_point) {
  if (low.dtype(zero_point) == DType::u8) return bytes;
  return low.emit(Lookup{}, {bytes, sign_table(low, DType::i8)});
}

bool is_plain_scale(const Lowering& low, const Quantization& q) {
  const auto plain = [&](ValueId id) {
    return id == kAbsent || has_one_element(low, id) || (low.shape(id) && low.shape(id)->size() == 1);
  };
  return q.block == 0 && low.dtype(q.scale) == DType::f32 && plain(q.scale) && plain(q.zero_point);
}

}  // namespace colonnade::onnx_import
