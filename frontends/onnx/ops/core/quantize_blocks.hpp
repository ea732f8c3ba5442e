// SPDX-License-Identifier: Apache-2.0
// Quantised numbers with a scale a block of elements along an axis, and matrices of weights.
#pragma once

#include "frontends/onnx/ops/core/quantize.hpp"

namespace colonnade::onnx_import {

/// Its shape is known, and every dimension is 1.
bool has_one_element(const Lowering& low, ValueId id);

/// Types that numbers are quantised to.
bool is_quantised(DType dtype);

/// The parameter of each index of the blocked axis of x.
ValueId repeated(Lowering& low, ValueId parameter, ValueId x, std::int64_t axis, std::int64_t block);

/// A constant matrix of integers of eight bits or fewer, whose parameters are known.
bool is_weight_matrix(const Lowering& low, ValueId x, const Quantization& q);

/// In blocks, as which one number an index of an axis counts too: the other axis is one block.
ValueId dequantize_matrix(Lowering& low, ValueId x, const Quantization& q);

/// Bytes by float32 scales of blocks along the first or the last axis: a matrix of rows; kAbsent for anything else.
ValueId dequantize_blocks(Lowering& low, ValueId x, const Quantization& q);

}  // namespace colonnade::onnx_import
