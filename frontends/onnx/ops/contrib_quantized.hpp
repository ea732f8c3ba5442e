// SPDX-License-Identifier: Apache-2.0
// What the quantised operators of com.microsoft share: numbers as whole numbers times a scale.
#pragma once

#include "frontends/onnx/ops/contrib.hpp"

namespace colonnade::onnx_import {

/// Quantised numbers and what they stand for: (values - zero_point) * scale. The zero point may be kAbsent: 0.
struct Quantized {
  ValueId values, scale, zero_point;
};
/// The inputs values, scale and zero point from `first` on.
Quantized quantized_input(Lowering& low, std::size_t first);

/// A tensor of one element as a scalar; others as they are.
ValueId as_scalar(Lowering& low, ValueId x);
/// values - zero_point as float32, which holds every difference of 8- and 16-bit numbers.
ValueId centred(Lowering& low, const Quantized& x);
/// What the numbers stand for, float32. Scale and zero point are scalars or broadcast to the values.
ValueId dequantize(Lowering& low, const Quantized& x);
/// x / scale rounded to even, plus the zero point, saturated to `dtype`.
ValueId quantize(Lowering& low, ValueId x, ValueId scale, ValueId zero_point, DType dtype);

/// The quantised numbers that float x stands for under a scale and a uint8 zero point of its own range.
Quantized quantize_by_range(Lowering& low, ValueId x);
/// (a - zero point of a) (b - zero point of b), times both scales: float32.
ValueId scaled_product(Lowering& low, const Quantized& a, const Quantized& b);

/// The fields of `bits` bits of bytes, lowest first: [.., n] as [.., n 8 / bits], uint8.
ValueId unpack(Lowering& low, ValueId bytes, std::int64_t bits);

}  // namespace colonnade::onnx_import
