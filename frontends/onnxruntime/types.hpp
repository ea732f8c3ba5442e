// SPDX-License-Identifier: Apache-2.0
// What values are: the interface's descriptions of types and shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/onnxruntime/status.hpp"

struct OrtTensorTypeAndShapeInfo {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  colonnade::Shape shape;            ///< -1 where a dimension is open
  std::vector<std::string> symbols;  ///< of open dimensions, "" where there is none; as many as dimensions
  bool has_shape = true;
};
struct OrtMapTypeInfo {
  ONNXTensorElementDataType key = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::shared_ptr<const OrtTypeInfo> value;
};
struct OrtSequenceTypeInfo {
  std::shared_ptr<const OrtTypeInfo> element;
};
struct OrtOptionalTypeInfo {
  std::shared_ptr<const OrtTypeInfo> element;
};
/// Of its parts, the one that `type` names counts.
struct OrtTypeInfo {
  ONNXType type = ONNX_TYPE_UNKNOWN;
  OrtTensorTypeAndShapeInfo tensor;
  OrtMapTypeInfo map;
  OrtSequenceTypeInfo sequence;
  OrtOptionalTypeInfo optional;
};

namespace colonnade::ort {

OrtTensorTypeAndShapeInfo tensor_type(DType dtype, const Shape& shape);
OrtTypeInfo type_of(const TensorInfo& info);
OrtTypeInfo type_of(const Datum& datum);

}  // namespace colonnade::ort
