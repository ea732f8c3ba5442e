// SPDX-License-Identifier: Apache-2.0
// What kernels of the program ask the library.
#include <algorithm>
#include <cstring>

#include "frontends/onnxruntime/custom.hpp"
#include "frontends/onnxruntime/element_types.hpp"
#include "frontends/onnxruntime/lists.hpp"

namespace colonnade::ort {
namespace {

/// The attribute, of this type.
template <class Type>
const Type& attribute(const OrtKernelInfo* info, const char* name) {
  need("name", name);
  const auto& attributes = deref(info, "kernel info").node.attributes;
  const auto at = attributes.find(std::string_view(name));
  if (at == attributes.end()) throw Failure(ORT_FAIL, "there is no attribute '" + std::string(name) + "'");
  if (const Type* const value = std::get_if<Type>(&at->second)) return *value;
  throw Failure(ORT_FAIL, "attribute '" + std::string(name) + "' is of another type");
}

/// Copies a list to where there is room: `size` is the room, then what is needed; a null `out` asks for that alone.
template <class Type>
void copy_list(const std::vector<Type>& list, Type* out, std::size_t& size) {
  const std::size_t room = size;
  size = list.size();
  if (out == nullptr) return;
  if (room < size) throw Failure(ORT_INVALID_ARGUMENT, "expected room for " + std::to_string(size) + " elements");
  std::copy(list.begin(), list.end(), out);
}

template <class List>
auto& part_at(List& list, std::size_t index, const char* what) {
  if (index >= list.size()) throw Failure(ORT_FAIL, "there is no " + std::string(what) + " " + std::to_string(index));
  return list[index];
}

OrtTypeInfo* new_type(const CustomType& type) {
  auto info = std::make_unique<OrtTypeInfo>();
  info->type = ONNX_TYPE_TENSOR;
  info->tensor = tensor_type(type.dtype, type.shape.value_or(Shape{}));
  info->tensor.has_shape = type.shape.has_value();
  return info.release();
}

OrtStatus* text_of(const OrtKernelInfo* info, const std::string CustomNode::*member, char* out,
                   std::size_t* size) noexcept {
  return guarded([&] { copy_text(deref(info, "kernel info").node.*member, out, deref(size, "size")); });
}

}  // namespace

OrtStatus* KernelInfoGetAttribute_float(const OrtKernelInfo* info, const char* name, float* out) noexcept {
  return guarded([&] { deref(out, "out") = attribute<float>(info, name); });
}
OrtStatus* KernelInfoGetAttribute_int64(const OrtKernelInfo* info, const char* name, std::int64_t* out) noexcept {
  return guarded([&] { deref(out, "out") = attribute<std::int64_t>(info, name); });
}
OrtStatus* KernelInfoGetAttribute_string(const OrtKernelInfo* info, const char* name, char* out,
                                         std::size_t* size) noexcept {
  return guarded([&] { copy_text(attribute<std::string>(info, name), out, deref(size, "size")); });
}
OrtStatus* KernelInfoGetAttributeArray_float(const OrtKernelInfo* info, const char* name, float* out,
                                             std::size_t* size) noexcept {
  return guarded([&] { copy_list(attribute<std::vector<float>>(info, name), out, deref(size, "size")); });
}
OrtStatus* KernelInfoGetAttributeArray_int64(const OrtKernelInfo* info, const char* name, std::int64_t* out,
                                             std::size_t* size) noexcept {
  return guarded([&] { copy_list(attribute<std::vector<std::int64_t>>(info, name), out, deref(size, "size")); });
}
OrtStatus* KernelInfoGetAttributeArray_string(const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                                              char*** out, std::size_t* size) noexcept {
  return guarded([&] {
    const auto& texts = attribute<std::vector<std::string>>(info, name);
    deref(size, "size") = texts.size();
    if (out == nullptr) return;
    *out = nullptr;
    if (texts.empty()) return;
    OrtAllocator& memory = deref(allocator, "allocator");
    auto** const list = static_cast<char**>(allocated(memory, texts.size() * sizeof(char*)));
    std::transform(texts.begin(), texts.end(), list, [&](const std::string& text) { return copied(memory, text); });
    *out = list;
  });
}
OrtStatus* KernelInfoGetAttribute_tensor(const OrtKernelInfo* info, const char* name, OrtAllocator* allocator,
                                         OrtValue** out) noexcept {
  return guarded([&] {
    need("allocator and out", allocator, out);
    *out = value_of(Tensor(*attribute<std::shared_ptr<const Tensor>>(info, name))).release();
  });
}

OrtStatus* KernelInfo_GetInputCount(const OrtKernelInfo* info, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(info, "kernel info").node.inputs.size(); });
}
OrtStatus* KernelInfo_GetOutputCount(const OrtKernelInfo* info, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(info, "kernel info").outputs.size(); });
}
OrtStatus* KernelInfo_GetInputName(const OrtKernelInfo* info, std::size_t index, char* out,
                                   std::size_t* size) noexcept {
  return guarded([&] {
    copy_text(part_at(deref(info, "kernel info").node.input_names, index, "input"), out, deref(size, "size"));
  });
}
OrtStatus* KernelInfo_GetOutputName(const OrtKernelInfo* info, std::size_t index, char* out,
                                    std::size_t* size) noexcept {
  return guarded([&] {
    copy_text(part_at(deref(info, "kernel info").node.output_names, index, "output"), out, deref(size, "size"));
  });
}
OrtStatus* KernelInfo_GetInputTypeInfo(const OrtKernelInfo* info, std::size_t index, OrtTypeInfo** out) noexcept {
  return guarded(
      [&] { deref(out, "out") = new_type(part_at(deref(info, "kernel info").node.inputs, index, "input")); });
}
OrtStatus* KernelInfo_GetOutputTypeInfo(const OrtKernelInfo* info, std::size_t index, OrtTypeInfo** out) noexcept {
  return guarded([&] { deref(out, "out") = new_type(part_at(deref(info, "kernel info").outputs, index, "output")); });
}
OrtStatus* KernelInfo_GetNodeName(const OrtKernelInfo* info, char* out, std::size_t* size) noexcept {
  return text_of(info, &CustomNode::name, out, size);
}
OrtStatus* KernelInfo_GetOperatorDomain(const OrtKernelInfo* info, char* out, std::size_t* size) noexcept {
  return text_of(info, &CustomNode::domain, out, size);
}
OrtStatus* KernelInfo_GetOperatorType(const OrtKernelInfo* info, char* out, std::size_t* size) noexcept {
  return text_of(info, &CustomNode::type, out, size);
}
OrtStatus* KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo* info, int* out) noexcept {
  return guarded([&] { deref(out, "out") = static_cast<int>(deref(info, "kernel info").node.opset); });
}
OrtStatus* KernelInfo_GetConfigEntries(const OrtKernelInfo* info, OrtKeyValuePairs** out) noexcept {
  return guarded([&] {
    need("out", out);
    auto pairs = std::make_unique<OrtKeyValuePairs>();
    pairs->entries = deref(info, "kernel info").entries;
    pairs->refresh();
    *out = pairs.release();
  });
}
OrtStatus* KernelInfo_GetLogger(const OrtKernelInfo* info, const OrtLogger** out) noexcept {
  return guarded([&] { deref(out, "out") = deref(info, "kernel info").logger; });
}
OrtStatus* KernelInfoGetConstantInput_tensor(const OrtKernelInfo* info, std::size_t index, int* is_constant,
                                             const OrtValue** out) noexcept {
  return guarded([&] {
    need("is_constant and out", is_constant, out);
    *out = part_at(deref(info, "kernel info").constants, index, "input").get();
    *is_constant = *out == nullptr ? 0 : 1;
  });
}
OrtStatus* KernelInfoGetAllocator(const OrtKernelInfo* info, OrtMemType /*memory*/, OrtAllocator** out) noexcept {
  return guarded([&] {
    need("kernel info", info);
    deref(out, "out") = new_cpu_allocator();
  });
}
OrtStatus* CopyKernelInfo(const OrtKernelInfo* info, OrtKernelInfo** out) noexcept {
  return guarded([&] { hand_out(out, deref(info, "kernel info")); });
}
void ReleaseKernelInfo(OrtKernelInfo* info) noexcept { delete info; }

OrtStatus* KernelContext_GetInputCount(const OrtKernelContext* context, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(context, "context").inputs.size(); });
}
OrtStatus* KernelContext_GetOutputCount(const OrtKernelContext* context, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(context, "context").outputs.size(); });
}
OrtStatus* KernelContext_GetInput(const OrtKernelContext* context, std::size_t index, const OrtValue** out) noexcept {
  return guarded([&] { deref(out, "out") = part_at(deref(context, "context").inputs, index, "input").get(); });
}
OrtStatus* KernelContext_GetOutput(OrtKernelContext* context, std::size_t index, const std::int64_t* sizes,
                                   std::size_t rank, OrtValue** out) noexcept {
  return guarded([&] {
    need("out", out);
    auto& output = part_at(deref(context, "context").outputs, index, "output");
    if (!output) output = value_of(Tensor(context->types[index], checked_shape(sizes, rank)));
    *out = output.get();
  });
}
OrtStatus* KernelContext_GetPreallocatedOutput(const OrtKernelContext* context, std::size_t index,
                                               OrtValue** out) noexcept {
  return guarded([&] {
    part_at(deref(context, "context").outputs, index, "output");
    deref(out, "out") = nullptr;
  });
}
OrtStatus* KernelContext_GetLogger(const OrtKernelContext* context, const OrtLogger** out) noexcept {
  return guarded([&] { deref(out, "out") = deref(context, "context").info->logger; });
}
OrtStatus* KernelContext_GetAllocator(const OrtKernelContext* context, const OrtMemoryInfo* memory,
                                      OrtAllocator** out) noexcept {
  return guarded([&] {
    need("context and memory info", context, memory);
    deref(out, "out") = new_cpu_allocator();
  });
}
OrtStatus* KernelContext_GetScratchBuffer(const OrtKernelContext* context, const OrtMemoryInfo* memory,
                                          std::size_t bytes, void** out) noexcept {
  return guarded([&] {
    need("context, memory info and out", context, memory, out);
    *out = nullptr;
    if (bytes == 0) return;
    OrtAllocator& allocator = default_allocator();
    std::shared_ptr<const void> owner(allocated(allocator, bytes),
                                      [&allocator](void* block) { allocator.Free(&allocator, block); });
    *out = const_cast<void*>(owner.get());
    const_cast<OrtKernelContext*>(context)->scratch.push_back(std::move(owner));
  });
}
// The CPU has no streams.
OrtStatus* KernelContext_GetGPUComputeStream(const OrtKernelContext* context, void** out) noexcept {
  return guarded([&] {
    need("context", context);
    deref(out, "out") = nullptr;
  });
}
OrtStatus* KernelContext_GetSyncStream(const OrtKernelContext* context, OrtSyncStream** out) noexcept {
  return guarded([&] {
    need("context", context);
    deref(out, "out") = nullptr;
  });
}
OrtStatus* KernelContext_GetResource(const OrtKernelContext* context, int /*version*/, int /*resource*/,
                                     void** out) noexcept {
  return guarded([&] {
    need("context and out", context, out);
    throw Failure(ORT_INVALID_ARGUMENT, "the CPU has no resources to hand out");
  });
}
OrtStatus* KernelContext_ParallelFor(const OrtKernelContext* context, void (*work)(void*, std::size_t),
                                     std::size_t total, std::size_t /*batches*/, void* parameter) noexcept {
  return guarded([&] {
    need("context and work", context, reinterpret_cast<const void*>(work));
    for (std::size_t i = 0; i < total; ++i) work(parameter, i);
  });
}

OrtStatus* ShapeInferContext_GetInputCount(const OrtShapeInferContext* context, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(context, "context").inputs.size(); });
}
OrtStatus* ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext* context, std::size_t index,
                                               OrtTensorTypeAndShapeInfo** out) noexcept {
  return guarded([&] {
    deref(out, "out") =
        const_cast<OrtTensorTypeAndShapeInfo*>(&part_at(deref(context, "context").inputs, index, "input"));
  });
}
OrtStatus* ShapeInferContext_GetAttribute(const OrtShapeInferContext* context, const char* name,
                                          const OrtOpAttr** out) noexcept {
  return guarded([&] {
    need("name and out", name, out);
    for (const OrtOpAttr& attribute : deref(context, "context").attributes) {
      if (attribute.name != name) continue;
      *out = &attribute;
      return;
    }
    throw Failure(ORT_INVALID_ARGUMENT, "there is no attribute '" + std::string(name) + "'");
  });
}
OrtStatus* ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext* context, std::size_t index,
                                                const OrtTensorTypeAndShapeInfo* info) noexcept {
  return guarded([&] {
    need("type and shape", info);
    CustomType& output = part_at(const_cast<OrtShapeInferContext&>(deref(context, "context")).outputs, index, "output");
    if (info->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) output.dtype = declared_dtype(info->type);
    output.shape = info->shape;
  });
}

}  // namespace colonnade::ort
