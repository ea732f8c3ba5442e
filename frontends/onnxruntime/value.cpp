// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/value.hpp"

#include <cstring>
#include <vector>

#include "frontends/onnxruntime/element_types.hpp"
#include "frontends/onnxruntime/types.hpp"

namespace colonnade::ort {
namespace {

/// Memory that its allocator frees when nobody needs it any more.
std::shared_ptr<const void> owned(OrtAllocator& allocator, void* memory) {
  return {memory, [&allocator](void* data) { allocator.Free(&allocator, data); }};
}

}  // namespace

std::unique_ptr<OrtValue> value_of(Tensor tensor) {
  auto value = std::make_unique<OrtValue>();
  if (is_packed(tensor.dtype())) {
    const auto memory = std::make_shared<std::vector<std::uint8_t>>(tensor_bytes(tensor.dtype(), tensor.shape()));
    pack(tensor, memory->data());
    value->view = {tensor.dtype(), tensor.shape(), memory->data()};
    value->owner = memory;
    return value;
  }
  value->tensor = std::make_shared<Tensor>(std::move(tensor));
  value->view = MutableTensorView(*value->tensor);
  value->owner = value->tensor;
  return value;
}

std::unique_ptr<OrtValue> value_of(Datum datum) {
  if (datum.is_tensor()) return value_of(std::move(datum).take_tensor());
  auto value = std::make_unique<OrtValue>();
  value->datum = std::make_shared<const Datum>(std::move(datum));
  return value;
}

Datum datum_of(const OrtValue& value) {
  if (!value.is_tensor()) return *value.datum;
  if (value.tensor) return Datum(std::shared_ptr<const Tensor>(value.tensor));
  if (is_packed(value.view.dtype)) return Datum(unpacked(value.reading()));
  Tensor copy(value.view.dtype, value.view.shape);
  if (copy.byte_size() > 0) std::memcpy(copy.data(), value.view.data, copy.byte_size());
  return Datum(std::move(copy));
}

const OrtValue& tensor_in(const OrtValue* value) {
  if (!deref(value, "value").is_tensor()) throw Failure(ORT_INVALID_ARGUMENT, "the value is no tensor");
  return *value;
}

OrtValue& tensor_in(OrtValue* value) { return const_cast<OrtValue&>(tensor_in(static_cast<const OrtValue*>(value))); }

Shape checked_shape(const std::int64_t* sizes, std::size_t rank) {
  if (rank > 0) need("shape", sizes);
  Shape shape(sizes, sizes + rank);
  for (const std::int64_t size : shape)
    if (size < 0) throw Failure(ORT_INVALID_ARGUMENT, "a tensor's shape has no negative sizes");
  try {
    element_count(shape);
  } catch (const Error& error) {
    throw Failure(ORT_INVALID_ARGUMENT, error.what());
  }
  return shape;
}

std::unique_ptr<OrtValue> allocated_tensor(OrtAllocator& allocator, DType dtype, Shape shape) {
  if (dtype == DType::string) return value_of(Tensor(dtype, std::move(shape)));
  auto value = std::make_unique<OrtValue>();
  value->owner = owned(allocator, allocated(allocator, tensor_bytes(dtype, shape)));
  value->view = {dtype, std::move(shape), const_cast<void*>(value->owner.get())};
  if (const OrtMemoryInfo* const memory = allocator.Info == nullptr ? nullptr : allocator.Info(&allocator))
    value->memory = *memory;
  return value;
}

namespace {

/// A tensor over memory of the program, of which there are `bytes`.
std::unique_ptr<OrtValue> lent_tensor(void* data, std::size_t bytes, ONNXTensorElementDataType type, Shape shape) {
  const DType dtype = dtype_of(type);
  if (dtype == DType::string) throw Failure(ORT_INVALID_ARGUMENT, "tensors of strings own their memory");
  const std::size_t wanted = tensor_bytes(dtype, shape);
  if (bytes < wanted)
    throw Failure(ORT_INVALID_ARGUMENT,
                  "a tensor of " + std::to_string(wanted) + " bytes does not fit into " + std::to_string(bytes));
  if (wanted > 0) need("data", data);
  auto value = std::make_unique<OrtValue>();
  value->view = {dtype, std::move(shape), data};
  return value;
}

}  // namespace

OrtStatus* CreateTensorAsOrtValue(OrtAllocator* allocator, const std::int64_t* sizes, std::size_t rank,
                                  ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = allocated_tensor(deref(allocator, "allocator"), dtype_of(type), checked_shape(sizes, rank)).release();
  });
}

OrtStatus* CreateTensorWithDataAsOrtValue(const OrtMemoryInfo* memory, void* data, std::size_t bytes,
                                          const std::int64_t* sizes, std::size_t rank, ONNXTensorElementDataType type,
                                          OrtValue** out) noexcept {
  return guarded([&] {
    need("out", out);
    if (deref(memory, "memory info").device != OrtMemoryInfoDeviceType_CPU)
      throw Failure(ORT_INVALID_ARGUMENT, "there is no memory of '" + memory->name + "', tensors lie in the CPU's");
    auto value = lent_tensor(data, bytes, type, checked_shape(sizes, rank));
    value->memory = *memory;
    *out = value.release();
  });
}

OrtStatus* CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator* deleter, void* data, std::size_t bytes,
                                                    const std::int64_t* sizes, std::size_t rank,
                                                    ONNXTensorElementDataType type, OrtValue** out) noexcept {
  return guarded([&] {
    need("out", out);
    OrtAllocator& allocator = deref(deleter, "allocator");
    auto value = lent_tensor(data, bytes, type, checked_shape(sizes, rank));
    value->owner = owned(allocator, data);
    *out = value.release();
  });
}

void ReleaseValue(OrtValue* value) noexcept { release(value); }

OrtStatus* IsTensor(const OrtValue* value, int* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(value, "value").is_tensor() ? 1 : 0; });
}
OrtStatus* IsSparseTensor(const OrtValue* value, int* out) noexcept {
  return guarded([&] {
    need("value", value);
    deref(out, "out") = 0;
  });
}
OrtStatus* HasValue(const OrtValue* value, int* out) noexcept {
  return guarded([&] {
    const bool absent = !deref(value, "value").is_tensor() && value->datum->kind() == Datum::Kind::optional &&
                        value->datum->elements().empty();
    deref(out, "out") = absent ? 0 : 1;
  });
}

OrtStatus* GetTensorMutableData(OrtValue* value, void** out) noexcept {
  return guarded([&] { deref(out, "out") = tensor_in(value).view.data; });
}
OrtStatus* GetTensorData(const OrtValue* value, const void** out) noexcept {
  return guarded([&] { deref(out, "out") = tensor_in(value).view.data; });
}
OrtStatus* GetTensorSizeInBytes(const OrtValue* value, std::size_t* out) noexcept {
  return guarded([&] {
    const OrtValue& tensor = tensor_in(value);
    if (tensor.view.dtype == DType::string) throw Failure(ORT_INVALID_ARGUMENT, "strings have no size in bytes");
    deref(out, "out") = tensor_bytes(tensor.view.dtype, tensor.view.shape);
  });
}
OrtStatus* GetTensorMemoryInfo(const OrtValue* value, const OrtMemoryInfo** out) noexcept {
  return guarded([&] { deref(out, "out") = &tensor_in(value).memory; });
}

OrtStatus* TensorAt(OrtValue* value, const std::int64_t* indices, std::size_t count, void** out) noexcept {
  return guarded([&] {
    const OrtValue& tensor = tensor_in(value);
    need("out", out);
    if (tensor.view.dtype == DType::string || is_packed(tensor.view.dtype))
      throw Failure(ORT_INVALID_ARGUMENT, "this is not offered for strings and elements of less than a byte");
    if (count != tensor.view.shape.size())
      throw Failure(ORT_INVALID_ARGUMENT, "expected an index for each dimension of the tensor");
    if (count > 0) need("indices", indices);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (indices[i] < 0 || indices[i] >= tensor.view.shape[i])
        throw Failure(ORT_INVALID_ARGUMENT, "index " + std::to_string(indices[i]) + " lies outside of the tensor");
      at = at * tensor.view.shape[i] + indices[i];
    }
    *out = static_cast<std::byte*>(tensor.view.data) + static_cast<std::size_t>(at) * size_of(tensor.view.dtype);
  });
}

OrtStatus* GetTensorTypeAndShape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out) noexcept {
  return guarded([&] {
    const OrtValue& tensor = tensor_in(value);
    hand_out(out, tensor_type(tensor.view.dtype, tensor.view.shape));
  });
}
OrtStatus* GetTensorElementTypeAndShapeDataReference(const OrtValue* value, ONNXTensorElementDataType* type,
                                                     const std::int64_t** sizes, std::size_t* rank) noexcept {
  return guarded([&] {
    need("type, shape and rank", type, sizes, rank);
    const OrtValue& tensor = tensor_in(value);
    *type = element_type_of(tensor.view.dtype);
    *sizes = tensor.view.shape.empty() ? nullptr : tensor.view.shape.data();
    *rank = tensor.view.shape.size();
  });
}
OrtStatus* GetTypeInfo(const OrtValue* value, OrtTypeInfo** out) noexcept {
  return guarded([&] {
    need("out", out);
    if (!deref(value, "value").is_tensor()) {
      *out = new OrtTypeInfo(type_of(*value->datum));
      return;
    }
    auto type = std::make_unique<OrtTypeInfo>();
    type->type = ONNX_TYPE_TENSOR;
    type->tensor = tensor_type(value->view.dtype, value->view.shape);
    *out = type.release();
  });
}
OrtStatus* GetValueType(const OrtValue* value, ONNXType* out) noexcept {
  return guarded(
      [&] { deref(out, "out") = deref(value, "value").is_tensor() ? ONNX_TYPE_TENSOR : type_of(*value->datum).type; });
}

OrtStatus* CopyTensors(const OrtEnv* env, const OrtValue* const* from, OrtValue* const* to, OrtSyncStream* /*stream*/,
                       std::size_t count) noexcept {
  return guarded([&] {
    need("environment, sources and targets", env, from, to);
    for (std::size_t i = 0; i < count; ++i) {
      const OrtValue& source = tensor_in(from[i]);
      OrtValue& target = tensor_in(to[i]);
      if (source.view.dtype != target.view.dtype || source.view.shape != target.view.shape)
        throw Failure(ORT_INVALID_ARGUMENT, "tensor " + std::to_string(i) + " differs from its target");
      if (source.view.dtype == DType::string) throw Failure(ORT_NOT_IMPLEMENTED, "tensors of strings are not copied");
      const std::size_t bytes = tensor_bytes(source.view.dtype, source.view.shape);
      if (bytes > 0) std::memmove(target.view.data, source.view.data, bytes);
    }
  });
}

}  // namespace colonnade::ort
