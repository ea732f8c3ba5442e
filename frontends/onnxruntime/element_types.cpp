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

std::size_t bits_of(DType dtype) {
  if (dtype == DType::u4 || dtype == DType::i4 || dtype == DType::f4e2m1) return 4;
  if (dtype == DType::u2 || dtype == DType::i2) return 2;
  return 8 * size_of(dtype);
}

std::size_t tensor_bytes(DType dtype, const Shape& shape) {
  return (static_cast<std::size_t>(element_count(shape)) * bits_of(dtype) + 7) / 8;
}

Tensor unpacked(const TensorView& packed) {
  Tensor tensor(packed.dtype, packed.shape);
  const auto* from = static_cast<const std::uint8_t*>(packed.data);
  const std::size_t bits = bits_of(packed.dtype), by_byte = 8 / bits;
  const unsigned sign = packed.dtype == DType::i4 || packed.dtype == DType::i2 ? 1u << (bits - 1) : 0;
  const auto elements = tensor.values<std::uint8_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const unsigned element = from[i / by_byte] >> (i % by_byte * bits) & ((1u << bits) - 1);
    elements[i] = static_cast<std::uint8_t>((element ^ sign) - sign);
  }
  return tensor;
}

void pack(const Tensor& tensor, void* packed) {
  auto* to = static_cast<std::uint8_t*>(packed);
  const std::size_t bits = bits_of(tensor.dtype()), by_byte = 8 / bits;
  const auto elements = tensor.values<std::uint8_t>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const unsigned element = elements[i] & ((1u << bits) - 1);
    std::uint8_t& byte = to[i / by_byte];
    byte = static_cast<std::uint8_t>((i % by_byte == 0 ? 0u : byte) | element << (i % by_byte * bits));
  }
}

DType dtype_of(ONNXTensorElementDataType type) {
  const DType dtype = declared_dtype(type);
  if (dtype == DType::undefined || dtype == DType::c64 || dtype == DType::c128)
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
