// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/types.hpp"

#include <algorithm>

#include "frontends/onnxruntime/element_types.hpp"

namespace colonnade::ort {
namespace {

OrtTypeInfo tensor_info(OrtTensorTypeAndShapeInfo tensor) {
  OrtTypeInfo type;
  type.type = ONNX_TYPE_TENSOR;
  type.tensor = std::move(tensor);
  return type;
}

/// A container of what `inner` is.
OrtTypeInfo contained(Container container, OrtTypeInfo inner) {
  OrtTypeInfo type;
  auto shared = std::make_shared<const OrtTypeInfo>(std::move(inner));
  switch (container) {
    case Container::sequence:
      type.type = ONNX_TYPE_SEQUENCE;
      type.sequence.element = std::move(shared);
      break;
    case Container::optional:
      type.type = ONNX_TYPE_OPTIONAL;
      type.optional.element = std::move(shared);
      break;
    case Container::map_of_int64:
    case Container::map_of_string:
      type.type = ONNX_TYPE_MAP;
      type.map = {container == Container::map_of_int64 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64
                                                       : ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
                  std::move(shared)};
      break;
  }
  return type;
}

/// A copy that the program owns, of a part that must be there.
OrtTypeInfo* part(const std::shared_ptr<const OrtTypeInfo>& info) {
  return new OrtTypeInfo(info ? *info : OrtTypeInfo{});
}

}  // namespace

OrtTensorTypeAndShapeInfo tensor_type(DType dtype, const Shape& shape) {
  return {element_type_of(dtype), shape, std::vector<std::string>(shape.size()), true};
}

OrtTypeInfo type_of(const TensorInfo& info) {
  OrtTypeInfo type = tensor_info({element_type_of(info.dtype), info.shape, info.dim_names, info.has_rank});
  for (auto at = info.containers.rbegin(); at != info.containers.rend(); ++at) type = contained(*at, std::move(type));
  return type;
}

OrtTypeInfo type_of(const Datum& datum) {
  const auto inner = [&] {
    return datum.elements().empty() ? tensor_info(tensor_type(datum.dtype(), {})) : type_of(datum.elements().front());
  };
  switch (datum.kind()) {
    case Datum::Kind::tensor: return tensor_info(tensor_type(datum.dtype(), datum.tensor().shape()));
    case Datum::Kind::sequence: return contained(Container::sequence, inner());
    case Datum::Kind::optional: return contained(Container::optional, inner());
    case Datum::Kind::map:
      return contained(datum.keys().dtype() == DType::string ? Container::map_of_string : Container::map_of_int64,
                       tensor_info(tensor_type(datum.dtype(), {})));
  }
  return {};
}

OrtStatus* CastTypeInfoToTensorInfo(const OrtTypeInfo* info, const OrtTensorTypeAndShapeInfo** out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = deref(info, "type info").type == ONNX_TYPE_TENSOR ? &info->tensor : nullptr;
  });
}
OrtStatus* CastTypeInfoToMapTypeInfo(const OrtTypeInfo* info, const OrtMapTypeInfo** out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = deref(info, "type info").type == ONNX_TYPE_MAP ? &info->map : nullptr;
  });
}
OrtStatus* CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo* info, const OrtSequenceTypeInfo** out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = deref(info, "type info").type == ONNX_TYPE_SEQUENCE ? &info->sequence : nullptr;
  });
}
OrtStatus* CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo* info, const OrtOptionalTypeInfo** out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = deref(info, "type info").type == ONNX_TYPE_OPTIONAL ? &info->optional : nullptr;
  });
}
OrtStatus* GetOnnxTypeFromTypeInfo(const OrtTypeInfo* info, ONNXType* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(info, "type info").type; });
}
OrtStatus* GetDenotationFromTypeInfo(const OrtTypeInfo* info, const char** const out, std::size_t* length) noexcept {
  return guarded([&] {
    need("type info, denotation and length", info, out, length);
    *out = "";
    *length = 0;
  });
}
OrtStatus* GetMapKeyType(const OrtMapTypeInfo* map, ONNXTensorElementDataType* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(map, "map type info").key; });
}
OrtStatus* GetMapValueType(const OrtMapTypeInfo* map, OrtTypeInfo** out) noexcept {
  return guarded([&] { deref(out, "out") = part(deref(map, "map type info").value); });
}
OrtStatus* GetSequenceElementType(const OrtSequenceTypeInfo* sequence, OrtTypeInfo** out) noexcept {
  return guarded([&] { deref(out, "out") = part(deref(sequence, "sequence type info").element); });
}
OrtStatus* GetOptionalContainedTypeInfo(const OrtOptionalTypeInfo* optional, OrtTypeInfo** out) noexcept {
  return guarded([&] { deref(out, "out") = part(deref(optional, "optional type info").element); });
}
// Parts of a type info, which goes as a whole.
void ReleaseMapTypeInfo(OrtMapTypeInfo* /*part*/) noexcept {}
void ReleaseSequenceTypeInfo(OrtSequenceTypeInfo* /*part*/) noexcept {}
void ReleaseTypeInfo(OrtTypeInfo* info) noexcept { delete info; }

OrtStatus* CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo** out) noexcept {
  return guarded([&] { hand_out(out); });
}
OrtStatus* SetTensorElementType(OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType type) noexcept {
  return guarded([&] { deref(info, "tensor info").type = type; });
}
OrtStatus* SetDimensions(OrtTensorTypeAndShapeInfo* info, const std::int64_t* sizes, std::size_t rank) noexcept {
  return guarded([&] {
    if (rank > 0) need("dimensions", sizes);
    deref(info, "tensor info").shape.assign(sizes, sizes + rank);
    info->symbols.resize(rank);
  });
}
OrtStatus* SetSymbolicDimensions(OrtTensorTypeAndShapeInfo* info, const char** symbols, std::size_t rank) noexcept {
  return guarded([&] {
    if (rank > 0) need("symbols", symbols);
    deref(info, "tensor info").symbols.assign(rank, "");
    for (std::size_t i = 0; i < rank; ++i) info->symbols[i] = symbols[i] == nullptr ? "" : symbols[i];
  });
}
OrtStatus* GetTensorElementType(const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(info, "tensor info").type; });
}
OrtStatus* GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(info, "tensor info").shape.size(); });
}
OrtStatus* GetDimensions(const OrtTensorTypeAndShapeInfo* info, std::int64_t* sizes, std::size_t room) noexcept {
  return guarded([&] {
    if (room > 0) need("dimensions", sizes);
    std::copy_n(deref(info, "tensor info").shape.begin(), std::min(room, info->shape.size()), sizes);
  });
}
OrtStatus* GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo* info, const char** out, std::size_t room) noexcept {
  return guarded([&] {
    if (room > 0) need("symbols", out);
    for (std::size_t i = 0; i < std::min(room, deref(info, "tensor info").symbols.size()); ++i)
      out[i] = info->symbols[i].c_str();
  });
}
OrtStatus* GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo* info, std::size_t* out) noexcept {
  return guarded([&] {
    const Shape& shape = deref(info, "tensor info").shape;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; }))
      throw Failure(ORT_INVALID_ARGUMENT, "the shape has dimensions that are not known");
    deref(out, "out") = static_cast<std::size_t>(element_count(shape));
  });
}
bool TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo* info) noexcept {
  return info != nullptr && info->has_shape;
}
void ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* info) noexcept { delete info; }

}  // namespace colonnade::ort
