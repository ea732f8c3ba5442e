// SPDX-License-Identifier: Apache-2.0
// Quantised numbers and sums of their products as the core operators on bytes take them (graph/bytes.hpp).
#pragma once

#include "frontends/onnx/ops/core/quantize.hpp"

namespace colonnade::onnx_import {

/// Operands of a product of bytes: x as unsigned bytes, its zero point (one byte, kAbsent: 0), and constant weights
/// less theirs.
struct ByteOperands {
  ValueId x = kAbsent, zero_point = kAbsent, weight = kAbsent;
};

/// Operands of rows of a value by a matrix, where kernels of bytes multiply them.
std::optional<ByteOperands> product_operands(Lowering& low, const IntegerOperand& a, const IntegerOperand& b);
/// int32 sums of rows of unsigned bytes, each less a zero point of its own, by a constant matrix; kAbsent where there
/// is no kernel of bytes.
ValueId product_of_rows(Lowering& low, const IntegerOperand& a, const IntegerOperand& b);
/// Operands of the node's convolution, where kernels of bytes compute it.
std::optional<ByteOperands> convolution_operands(Lowering& low, const IntegerOperand& x, const IntegerOperand& weight);

/// Where numbers are rounded to bytes of a type with this one, constant zero point; nothing where it is no such thing.
std::optional<Rescale> rescale_to(const Lowering& low, ValueId zero_point);
/// Unsigned bytes as the type of the zero point that `rescale_to` was asked for.
ValueId rescaled(Lowering& low, ValueId bytes, ValueId zero_point);

/// One scale and zero point, or one an index of an axis: what Quantize and Dequantize take.
bool is_plain_scale(const Lowering& low, const Quantization& q);

}  // namespace colonnade::onnx_import
