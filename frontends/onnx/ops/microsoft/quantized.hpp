// SPDX-License-Identifier: Apache-2.0
// What the quantised operators of com.microsoft share.
#pragma once

#include "frontends/onnx/ops/core/quantize.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"

namespace colonnade::onnx_import {

/// Quantised numbers and what they stand for.
struct Quantized {
  ValueId value;
  Quantization by;
};
/// The inputs value, scale and zero point from `first` on.
Quantized quantized_input(Lowering& low, std::size_t first);

/// What the numbers stand for, float32.
ValueId dequantize(Lowering& low, const Quantized& x);
/// The product of what the numbers stand for, float32; scales and zero points are scalars, or b's one a column.
ValueId scaled_product(Lowering& low, const Quantized& a, const Quantized& b);

/// The fields of `bits` bits of bytes, lowest first: [.., n] as [.., n 8 / bits], uint8.
ValueId unpack(Lowering& low, ValueId bytes, std::int64_t bits);

}  // namespace colonnade::onnx_import
