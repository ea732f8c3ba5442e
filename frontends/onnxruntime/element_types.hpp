// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colonnade/colonnade.hpp"
#include "frontends/onnxruntime/interface.h"

namespace colonnade::ort {

/// Throws Failure where there is no type, and for complex numbers.
DType dtype_of(ONNXTensorElementDataType type);
/// The type by its number; `undefined` for what there is not.
DType declared_dtype(ONNXTensorElementDataType type);
ONNXTensorElementDataType element_type_of(DType dtype);
/// Bits of an element in a program's tensor: fewer than a byte's where the interface packs elements, the first in the
/// low bits. The library has one a byte, so such memory is not shared.
std::size_t bits_of(DType dtype);
inline bool is_packed(DType dtype) { return bits_of(dtype) % 8 != 0; }
/// Bytes of a program's tensor; not of strings.
std::size_t tensor_bytes(DType dtype, const Shape& shape);
/// A tensor of the library with packed elements, and back into memory for all of them.
Tensor unpacked(const TensorView& packed);
void pack(const Tensor& tensor, void* packed);

}  // namespace colonnade::ort
