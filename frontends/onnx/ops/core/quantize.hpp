// SPDX-License-Identifier: Apache-2.0
// What quantised operators share: numbers as small integers, and sums of their products. All of it is exact: what a
// result is rounded to does not depend on how it is computed.
#pragma once

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

/// How numbers x and integers q correspond: q = saturate(round(x / scale) + zero_point), x = (q - zero_point) * scale.
/// Scale and zero point are scalars, or vectors along `axis`, or with `block` as large as the tensor but for `axis`,
/// where each is that of `block` elements.
struct Quantization {
  ValueId scale = kAbsent;
  ValueId zero_point = kAbsent;  ///< kAbsent: 0
  std::int64_t axis = 1;
  std::int64_t block = 0;
};

/// x as `to`, an integer or minifloat type; ties round to even. `precision` is the type of the division, undefined:
/// the scale's. Minifloats are not rounded before the cast, which saturates or not.
ValueId quantize(Lowering& low, ValueId x, const Quantization& q, DType to, DType precision = DType::undefined,
                 bool saturate = true);

/// Float32 x as uint8 by a scale and a zero point of its own range of numbers, the scale and the zero point.
Values quantize_by_range(Lowering& low, ValueId x);

/// x as float type `to`, computed in float32 or, where `to` is wider, in that.
ValueId dequantize(Lowering& low, ValueId x, const Quantization& q, DType to);

/// saturate(round(x) + zero_point) for float32 x: the end of operators that scale integer sums. `zero_point` broadcasts
/// to x.
ValueId round_to(Lowering& low, ValueId x, ValueId zero_point, DType to);

/// Binary arithmetic that stays as it is written.
inline ValueId binary_exact(Lowering& low, BinaryKind kind, ValueId a, ValueId b) {
  return low.emit(Binary{kind, true}, {a, b});
}

/// The least and the largest number of an integer type.
struct Limits {
  float low, high;
};
Limits limits_of(DType dtype);

/// The zero point is of the type of what it belongs to, as far as that is known, or Error{invalid_model}.
void check_zero_point(const Lowering& low, ValueId quantised, ValueId zero_point);

/// An operand of an integer product: what counts is value - zero_point. The zero point (kAbsent: 0) broadcasts to the
/// value.
struct IntegerOperand {
  ValueId value = kAbsent;
  ValueId zero_point = kAbsent;
};

/// value - zero_point in this type, exactly.
ValueId centred(Lowering& low, const IntegerOperand& operand, DType type);

/// Matrix product of 8-bit integers, modulo 2^32 where it matters: `to` is int32 or a float type.
ValueId integer_matmul(Lowering& low, IntegerOperand a, IntegerOperand b, DType to);

/// Convolution of 8-bit integers by the node's attributes, as above; the weight's zero point is a scalar, or
/// [M, 1, ...]. `bias`: int32 [M] or kAbsent.
ValueId integer_conv(Lowering& low, IntegerOperand x, IntegerOperand weight, ValueId bias, DType to);

/// A parameter of one number a row of a (or column of b) as it broadcasts to matrices: [M] becomes [M, 1].
ValueId by_row(Lowering& low, ValueId parameter);

/// No zero point, or a constant that is zero everywhere.
bool is_zero(const Lowering& low, ValueId zero_point);

}  // namespace colonnade::onnx_import
