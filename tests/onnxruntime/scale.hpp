// SPDX-License-Identifier: Apache-2.0
// An operator of a program that uses ONNX Runtime's C interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "frontends/onnxruntime/interface.h"

namespace colonnade::test::ort {

/// y = factor * x, where the factor is an attribute. Counts what the library does with it.
struct Scale : OrtCustomOp {
  const OrtApi* api = nullptr;
  std::atomic<int> made = 0, runs = 0, destroyed = 0;

  explicit Scale(const OrtApi& functions) : OrtCustomOp{}, api(&functions) {
    version = 22;
    GetName = [](const OrtCustomOp*) { return "Scale"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
    GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return 1; };
    GetInputType = [](const OrtCustomOp*, std::size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetOutputType = [](const OrtCustomOp*, std::size_t) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; };
    GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 0; };
    GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 0; };
    GetVariadicOutputMinArity = [](const OrtCustomOp*) { return 0; };
    GetVariadicOutputHomogeneity = [](const OrtCustomOp*) { return 0; };
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return 100; };
    CreateKernelV2 = create;
    KernelComputeV2 = compute;
    KernelDestroy = [](void* kernel) {
      const auto* const own = static_cast<Kernel*>(kernel);
      ++own->op->destroyed;
      delete own;
    };
  }
  void use_shapes() { InferOutputShapeFn = infer; }

 private:
  struct Kernel {
    Scale* op;
    float factor = 1;
  };

  static OrtStatus* create(const OrtCustomOp* self, const OrtApi* api, const OrtKernelInfo* info, void** kernel) {
    auto* const op = const_cast<Scale*>(static_cast<const Scale*>(self));
    auto made = std::make_unique<Kernel>(Kernel{op});
    if (OrtStatus* status = api->KernelInfoGetAttribute_float(info, "factor", &made->factor)) return status;
    ++op->made;
    *kernel = made.release();
    return nullptr;
  }
  static OrtStatus* compute(void* kernel, OrtKernelContext* context) {
    const Kernel& own = *static_cast<Kernel*>(kernel);
    const OrtApi& api = *own.op->api;
    if (own.factor < 0) return api.CreateStatus(ORT_EP_FAIL, "a factor below zero");
    const OrtValue* input = nullptr;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    std::size_t rank = 0, count = 0;
    if (OrtStatus* status = api.KernelContext_GetInput(context, 0, &input)) return status;
    if (OrtStatus* status = api.GetTensorTypeAndShape(input, &info)) return status;
    if (OrtStatus* status = api.GetDimensionsCount(info, &rank)) return status;
    std::vector<std::int64_t> sizes(rank);
    if (OrtStatus* status = api.GetDimensions(info, sizes.data(), rank)) return status;
    if (OrtStatus* status = api.GetTensorShapeElementCount(info, &count)) return status;
    api.ReleaseTensorTypeAndShapeInfo(info);
    OrtValue* output = nullptr;
    if (OrtStatus* status = api.KernelContext_GetOutput(context, 0, sizes.data(), rank, &output)) return status;
    float *x = nullptr, *y = nullptr;
    if (OrtStatus* status = api.GetTensorMutableData(const_cast<OrtValue*>(input), reinterpret_cast<void**>(&x)))
      return status;
    if (OrtStatus* status = api.GetTensorMutableData(output, reinterpret_cast<void**>(&y))) return status;
    for (std::size_t i = 0; i < count; ++i) y[i] = own.factor * x[i];
    ++own.op->runs;
    return nullptr;
  }
  static OrtStatus* infer(const OrtCustomOp* self, OrtShapeInferContext* context) {
    const OrtApi& api = *static_cast<const Scale*>(self)->api;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    if (OrtStatus* status = api.ShapeInferContext_GetInputTypeShape(context, 0, &info)) return status;
    return api.ShapeInferContext_SetOutputTypeShape(context, 0, info);
  }
};

}  // namespace colonnade::test::ort
