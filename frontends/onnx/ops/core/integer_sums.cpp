// SPDX-License-Identifier: Apache-2.0
// Products of integers, in float32 where it holds their sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "frontends/onnx/ops/core/byte_sums.hpp"
#include "frontends/onnx/ops/core/quantize.hpp"
#include "frontends/onnx/ops/core/quantize_blocks.hpp"
#include "frontends/onnx/ops/core/window.hpp"
#include "graph/shape_rules.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import {
namespace {

/// Integers up to here are exact in float32, and so are sums of them that stay below.
constexpr double kExactFloat = 0x1p24;

double largest(const Limits& value, const Limits& zero) {
  return static_cast<double>(std::max(std::abs(value.low - zero.high), std::abs(value.high - zero.low)));
}

Limits zero_limits(const Lowering& low, ValueId zero_point) {
  if (zero_point == kAbsent) return {0, 0};
  const auto constant = low.constant_of(zero_point);
  if (!constant || constant->size() == 0) return limits_of(low.dtype(zero_point));
  const auto numbers = reference::load_all<double>(*constant->tensor());
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return {static_cast<float>(*least), static_cast<float>(*most)};
}

/// The largest |value - zero_point| that there can be.
double largest(const Lowering& low, const IntegerOperand& operand) {
  return largest(limits_of(low.dtype(operand.value)), zero_limits(low, operand.zero_point));
}

/// Weights as [outer][depth][inner]; sums run over the depth.
struct Depth {
  std::int64_t outer = 1, depth = 1, inner = 1;
};

/// The largest sum over the depth of |value - zero_point|; unknown sizes give infinity.
double largest_sum(const Lowering& low, const IntegerOperand& weight, const Depth& form) {
  if (form.depth < 0) return std::numeric_limits<double>::infinity();
  const auto constant = low.constant_of(weight.value);
  const Limits zero = zero_limits(low, weight.zero_point);
  if (!constant || constant->size() != form.outer * form.depth * form.inner) {
    return static_cast<double>(form.depth) * largest(low, weight);
  }
  const auto held = constant->tensor();
  const bool is_signed = held->dtype() == DType::i8;
  std::vector<double> sums(static_cast<std::size_t>(form.inner));
  double most = 0;
  const std::uint8_t* byte = held->values<std::uint8_t>().data();
  for (std::int64_t outer = 0; outer < form.outer; ++outer) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t depth = 0; depth < form.depth; ++depth) {
      for (double& sum : sums) {
        const auto value = static_cast<float>(is_signed ? static_cast<std::int8_t>(*byte) : *byte);
        ++byte;
        sum += largest({value, value}, zero);
      }
    }
    for (const double sum : sums) most = std::max(most, sum);
  }
  return most;
}

void check_bytes(const Lowering& low, const IntegerOperand& operand) {
  const DType type = low.dtype(operand.value);
  if (type != DType::i8 && type != DType::u8) low.invalid("expected 8-bit integers, found {}", name_of(type));
  check_zero_point(low, operand.value, operand.zero_point);
}

}  // namespace

ValueId centred(Lowering& low, const IntegerOperand& operand, DType type) {
  const ValueId value = cast(low, operand.value, type);
  if (is_zero(low, operand.zero_point)) return value;
  return binary_exact(low, BinaryKind::sub, value, cast(low, operand.zero_point, type));
}

namespace {

/// The bytes themselves, or as int16 less their zero point.
ValueId narrow(Lowering& low, const IntegerOperand& operand) {
  return is_zero(low, operand.zero_point) ? operand.value : centred(low, operand, DType::i16);
}

/// Both matrices are computed, or the left one is constant, and each has one zero point at most.
bool is_plain_product(const Lowering& low, const IntegerOperand& a, const IntegerOperand& b) {
  const auto is_matrix = [&](const IntegerOperand& operand) {
    return low.shape(operand.value) && low.rank(operand.value) >= 2 &&
           (operand.zero_point == kAbsent || has_one_element(low, operand.zero_point));
  };
  return !low.constant_of(b.value) && is_matrix(a) && is_matrix(b) &&
         !(is_zero(low, a.zero_point) && is_zero(low, b.zero_point));
}

}  // namespace

ValueId integer_matmul(Lowering& low, IntegerOperand a, IntegerOperand b, DType to) {
  check_bytes(low, a);
  check_bytes(low, b);
  if (const auto bytes = product_operands(low, a, b))
    return cast(low, low.emit(ByteMatMul{{DType::i32}}, {bytes->x, bytes->weight, bytes->zero_point}), to);
  if (const ValueId sums = product_of_rows(low, a, b); sums != kAbsent) return cast(low, sums, to);
  if (is_plain_product(low, a, b))
    return cast(low, low.emit(IntegerMatMul{}, {a.value, b.value, a.zero_point, b.zero_point}), to);
  return cast(low, low.emit(MatMul{}, {narrow(low, a), narrow(low, b)}), to);
}

ValueId integer_conv(Lowering& low, IntegerOperand x, IntegerOperand weight, ValueId bias, DType to) {
  check_bytes(low, x);
  check_bytes(low, weight);
  const auto& shape = low.shape(weight.value);
  const bool is_known = shape && !shape->empty() && product_of(*shape) >= 0;
  const Depth form = is_known ? Depth{shape->front(), product_of(std::span(*shape).subspan(1)), 1} : Depth{1, -1, 1};
  if (bias != kAbsent && low.dtype(bias) != DType::i32) {
    low.invalid("expected a bias of int32, found {}", name_of(low.dtype(bias)));
  }
  if (const auto bytes = convolution_operands(low, x, weight))
    return cast(low,
                convolve(low, {.x = bytes->x,
                               .weight = bytes->weight,
                               .bytes = ByteParameters{{DType::i32}, {bytes->zero_point, bias}}}),
                to);
  double most = largest_sum(low, weight, form) * largest(low, x);
  if (const auto constant = low.constant_of(bias)) {
    double peak = 0;
    for (const double value : reference::load_all<double>(*constant->tensor())) peak = std::max(peak, std::abs(value));
    most += peak;
  } else if (bias != kAbsent) {
    most = std::numeric_limits<double>::infinity();
  }
  const bool fits = most <= kExactFloat;
  const DType type = fits ? DType::f32 : DType::i32;
  const ValueId offset = bias == kAbsent ? kAbsent : cast(low, bias, type);
  return cast(
      low,
      convolve(low, {.x = centred(low, x, type), .weight = centred(low, weight, type), .bias = offset, .exact = fits}),
      to);
}

}  // namespace colonnade::onnx_import
