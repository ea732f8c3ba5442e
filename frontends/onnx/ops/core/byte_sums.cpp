// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/byte_sums.hpp"

#include <algorithm>

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

/// The weights less their zero points; nothing where signed bytes do not hold that.
std::optional<ValueId> centred_weight(Lowering& low, const IntegerOperand& weight, std::int64_t axis) {
  const auto constant = low.constant_of(weight.value);
  const auto zeros = constant_numbers(low, weight.zero_point);
  if (!constant || !zeros || constant->size() == 0 || !is_byte(constant->dtype())) return std::nullopt;
  const bool is_centred = std::all_of(zeros->begin(), zeros->end(), [](std::int64_t zero) { return zero == 0; });
  if (is_centred && constant->dtype() == DType::i8) return weight.value;
  const Shape& shape = constant->shape();
  const std::int64_t size = shape[static_cast<std::size_t>(axis)];
  if (zeros->size() != 1 && static_cast<std::int64_t>(zeros->size()) != size) return std::nullopt;
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<std::int64_t> values = reference::load_all<std::int64_t>(*constant->tensor());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % size);
    values[i] -= zeros->size() == 1 ? zeros->front() : (*zeros)[channel];
    if (values[i] < -kSignBit || values[i] >= kSignBit) return std::nullopt;
  }
  return low.constant(reference::tensor_of(DType::i8, shape, values));
}

bool has_one_element(const Lowering& low, ValueId id) {
  const auto& shape = low.shape(id);
  return shape && std::all_of(shape->begin(), shape->end(), [](std::int64_t dim) { return dim == 1; });
}

}  // namespace

std::optional<ByteOperands> byte_operands(Lowering& low, const IntegerOperand& x, const IntegerOperand& weight,
                                          std::int64_t axis) {
  if (!is_byte(low.dtype(x.value)) || low.constant_of(x.value)) return std::nullopt;
  if (x.zero_point != kAbsent && !has_one_element(low, x.zero_point)) return std::nullopt;
  const bool is_signed = low.dtype(x.value) == DType::i8;
  const auto zero = constant_numbers(low, x.zero_point);
  if (is_signed && !zero) return std::nullopt;
  const auto centred = centred_weight(low, weight, axis);
  if (!centred) return std::nullopt;
  if (!is_signed) return ByteOperands{x.value, x.zero_point, *centred};
  const ValueId bytes = low.emit(Lookup{}, {x.value, sign_table(low, DType::u8)});
  return ByteOperands{bytes, byte_scalar(low, zero->front() + kSignBit), *centred};
}

std::optional<ByteOperands> product_operands(Lowering& low, const IntegerOperand& a, const IntegerOperand& b) {
  const bool by_matrix = low.shape(a.value) && low.rank(a.value) >= 2 && low.shape(b.value) && low.rank(b.value) == 2;
  return by_matrix ? byte_operands(low, a, b, 1) : std::nullopt;
}

bool convolves_bytes(const Lowering& low, ValueId weight) {
  const auto constant = low.constant_of(weight);
  if (!constant || constant->shape().size() < 3 || constant->shape().size() > 4) return false;
  const std::int64_t groups = low.int_or("group", 1), inputs = constant->shape()[1];
  return groups == 1 || inputs >= kLeastGroupChannels || (inputs == 1 && constant->shape()[0] == groups);
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
