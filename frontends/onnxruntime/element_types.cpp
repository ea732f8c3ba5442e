// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/element_types.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "frontends/onnxruntime/status.hpp"

namespace colonnade::ort {
namespace {

/// By number of the interface.
constexpr std::array kTypes = {
    DType::undefined,  DType::f32,    DType::u8,         DType::i8,      DType::u16,  DType::i16,
    DType::i32,        DType::i64,    DType::string,     DType::boolean, DType::f16,  DType::f64,
    DType::u32,        DType::u64,    DType::c64,        DType::c128,    DType::bf16, DType::f8e4m3fn,
    DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::u4,      DType::i4,   DType::f4e2m1,
    DType::u2,         DType::i2,     DType::f8e8m0,
};

}  // namespace

DType declared_dtype(ONNXTensorElementDataType type) {
  const auto number = static_cast<std::size_t>(type);
  return number < kTypes.size() ? kTypes[number] : DType::undefined;
}

bool is_packed(DType dtype) {
  return dtype == DType::u4 || dtype == DType::i4 || dtype == DType::f4e2m1 || dtype == DType::u2 || dtype == DType::i2;
}

DType dtype_of(ONNXTensorElementDataType type) {
  const DType dtype = declared_dtype(type);
  if (dtype == DType::undefined || dtype == DType::c64 || dtype == DType::c128 || is_packed(dtype))
    throw Failure(ORT_NOT_IMPLEMENTED,
                  "tensors of element type " + std::to_string(static_cast<int>(type)) + " are not offered");
  return dtype;
}

ONNXTensorElementDataType element_type_of(DType dtype) {
  const auto at = std::find(kTypes.begin(), kTypes.end(), dtype);
  return at == kTypes.end() ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
                            : static_cast<ONNXTensorElementDataType>(at - kTypes.begin());
}

}  // namespace colonnade::ort
