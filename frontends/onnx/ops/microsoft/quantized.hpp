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

/// Constant weights [rows, depth] of few bits, which lie in bytes, each row for itself; a block of a row has a scale of
/// its own.
struct FewBits {
  static constexpr std::int64_t kBytes = 4;  ///< accuracy_level of products whose rows may be rounded to bytes

  std::int64_t rows = 0, depth = 0, bits = 4, block = 0;
  bool byte_rows = false;

  std::int64_t blocks() const { return (depth + block - 1) / block; }
  std::int64_t row_bytes() const { return blocks() * block * bits / 8; }
  std::int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
  DType type() const { return bits == 2 ? DType::u2 : bits == 4 ? DType::u4 : DType::u8; }
};
/// The attribute 'block_size', a power of two.
std::int64_t read_block_size(const Lowering& low, std::int64_t fallback);
/// The floats that they stand for, of the scales' type: nothing is unpacked until someone needs them. Zero points are
/// [rows, blocks], or kAbsent: the middle of the range.
ValueId few_bits_as_floats(Lowering& low, const FewBits& sizes, const std::shared_ptr<const Constant>& bytes,
                           const std::shared_ptr<const Constant>& scales, ValueId zeros);

}  // namespace colonnade::onnx_import
