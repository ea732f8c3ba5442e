// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colonnade/colonnade.hpp"
#include "frontends/onnxruntime/interface.h"

namespace colonnade::ort {

/// Throws Failure where the interface's elements lie otherwise than the library's (packed ones) or there is no type.
DType dtype_of(ONNXTensorElementDataType type);
/// The type by its number; `undefined` for what there is not.
DType declared_dtype(ONNXTensorElementDataType type);
ONNXTensorElementDataType element_type_of(DType dtype);
/// Whether the interface packs its elements, so that memory cannot be shared.
bool is_packed(DType dtype);

}  // namespace colonnade::ort
