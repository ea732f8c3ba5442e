// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/devices.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "frontends/onnxruntime/lists.hpp"
#include "frontends/onnxruntime/memory.hpp"
#include "frontends/onnxruntime/options.hpp"

struct OrtHardwareDevice {
  OrtKeyValuePairs metadata;
};
struct OrtEpDevice {
  OrtHardwareDevice hardware;
  OrtKeyValuePairs metadata, options;
};
struct OrtExternalInitializerInfo {
  std::string path;
  std::int64_t offset = 0;
  std::size_t bytes = 0;
};

namespace colonnade::ort {
namespace {

/// Names that ONNX Runtime knows, short and long, of providers that are not in a build for CPUs.
constexpr std::array<std::string_view, 16> kOtherProviders = {
    "QNN", "OpenVINO", "SNPE",   "XNNPACK",       "WEBNN",    "WebNN", "WebGPU", "AZURE",
    "JS",  "VitisAI",  "CoreML", "NvTensorRtRtx", "MIGraphX", "DML",   "CUDA",   "TensorRT"};

OrtStatus* no_provider(const OrtSessionOptions* options, const char* name) noexcept {
  return guarded([&] {
    need("options", options);
    throw Failure(ORT_FAIL, std::string(name) + " execution provider is not enabled in this build, the CPU's is");
  });
}
OrtStatus* no_options_of(const char* name) noexcept {
  return made(ORT_FAIL, std::string(name) + " execution provider is not enabled in this build, the CPU's is");
}

void check_device(const OrtEpDevice* device) {
  if (&deref(device, "device") != &cpu_device()) throw Failure(ORT_INVALID_ARGUMENT, "there is no such device");
}

const OrtEpDevice* const* cpu_devices() {
  static const OrtEpDevice* const device = &cpu_device();
  return &device;
}

}  // namespace

const OrtEpDevice& cpu_device() noexcept {
  static const OrtEpDevice& device = [&]() -> const OrtEpDevice& {
    auto& made = *new OrtEpDevice;  // threads may outlive what is destroyed at exit
    made.metadata.set("version", kVersionString);
    return made;
  }();
  return device;
}

OrtStatus* SessionOptionsAppendExecutionProvider(OrtSessionOptions* options, const char* name, const char* const* keys,
                                                 const char* const* values, std::size_t count) noexcept {
  return guarded([&] {
    need("options and provider", options, name);
    if (count > 0) need("keys and values", keys, values);
    const std::string_view provider = name;
    if (provider == "CPU" || provider == kProvider) return;
    const bool is_known = std::any_of(kOtherProviders.begin(), kOtherProviders.end(), [&](std::string_view known) {
      return provider == known || provider == std::string(known) + "ExecutionProvider";
    });
    throw Failure(ORT_INVALID_ARGUMENT,
                  is_known ? "execution provider '" + std::string(provider) + "' is not in this build, the CPU's is"
                           : "there is no execution provider '" + std::string(provider) + "'");
  });
}

OrtStatus* SessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options,
                                                      const OrtCUDAProviderOptions* /*cuda*/) noexcept {
  return no_provider(options, "CUDA");
}
OrtStatus* SessionOptionsAppendExecutionProvider_CUDA_V2(OrtSessionOptions* options,
                                                         const OrtCUDAProviderOptionsV2* /*cuda*/) noexcept {
  return no_provider(options, "CUDA");
}
OrtStatus* SessionOptionsAppendExecutionProvider_ROCM(OrtSessionOptions* options,
                                                      const OrtROCMProviderOptions* /*rocm*/) noexcept {
  return no_provider(options, "ROCM");
}
OrtStatus* SessionOptionsAppendExecutionProvider_OpenVINO(OrtSessionOptions* options,
                                                          const OrtOpenVINOProviderOptions* /*openvino*/) noexcept {
  return no_provider(options, "OpenVINO");
}
OrtStatus* SessionOptionsAppendExecutionProvider_OpenVINO_V2(OrtSessionOptions* options, const char* const* /*keys*/,
                                                             const char* const* /*values*/,
                                                             std::size_t /*count*/) noexcept {
  return no_provider(options, "OpenVINO");
}
OrtStatus* SessionOptionsAppendExecutionProvider_VitisAI(OrtSessionOptions* options, const char* const* /*keys*/,
                                                         const char* const* /*values*/,
                                                         std::size_t /*count*/) noexcept {
  return no_provider(options, "VitisAI");
}
OrtStatus* SessionOptionsAppendExecutionProvider_TensorRT(OrtSessionOptions* options,
                                                          const OrtTensorRTProviderOptions* /*tensorrt*/) noexcept {
  return no_provider(options, "TensorRT");
}
OrtStatus* SessionOptionsAppendExecutionProvider_TensorRT_V2(
    OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2* /*tensorrt*/) noexcept {
  return no_provider(options, "TensorRT");
}
OrtStatus* SessionOptionsAppendExecutionProvider_MIGraphX(OrtSessionOptions* options,
                                                          const OrtMIGraphXProviderOptions* /*migraphx*/) noexcept {
  return no_provider(options, "MIGraphX");
}
OrtStatus* SessionOptionsAppendExecutionProvider_CANN(OrtSessionOptions* options,
                                                      const OrtCANNProviderOptions* /*cann*/) noexcept {
  return no_provider(options, "CANN");
}
OrtStatus* SessionOptionsAppendExecutionProvider_Dnnl(OrtSessionOptions* options,
                                                      const OrtDnnlProviderOptions* /*dnnl*/) noexcept {
  return no_provider(options, "oneDNN");
}

// Options of these providers: none can be made, so there are none to change, read or release.
#define PROVIDER_OPTIONS(name, type)                                                                        \
  OrtStatus* Create##name##ProviderOptions(type** /*out*/) noexcept { return no_options_of(#name); }        \
  OrtStatus* Update##name##ProviderOptions(type* /*options*/, const char* const* /*keys*/,                  \
                                           const char* const* /*values*/, std::size_t /*count*/) noexcept { \
    return no_options_of(#name);                                                                            \
  }                                                                                                         \
  OrtStatus* Get##name##ProviderOptionsAsString(const type* /*options*/, OrtAllocator* /*allocator*/,       \
                                                char** /*out*/) noexcept {                                  \
    return no_options_of(#name);                                                                            \
  }                                                                                                         \
  void Release##name##ProviderOptions(type* /*options*/) noexcept {}
PROVIDER_OPTIONS(TensorRT, OrtTensorRTProviderOptionsV2)
PROVIDER_OPTIONS(CUDA, OrtCUDAProviderOptionsV2)
PROVIDER_OPTIONS(CANN, OrtCANNProviderOptions)
PROVIDER_OPTIONS(Dnnl, OrtDnnlProviderOptions)
PROVIDER_OPTIONS(ROCM, OrtROCMProviderOptions)
#undef PROVIDER_OPTIONS

OrtStatus* UpdateTensorRTProviderOptionsWithValue(OrtTensorRTProviderOptionsV2* /*options*/, const char* /*key*/,
                                                  void* /*value*/) noexcept {
  return no_options_of("TensorRT");
}
OrtStatus* GetTensorRTProviderOptionsByName(const OrtTensorRTProviderOptionsV2* /*options*/, const char* /*key*/,
                                            void** /*out*/) noexcept {
  return no_options_of("TensorRT");
}
OrtStatus* UpdateCUDAProviderOptionsWithValue(OrtCUDAProviderOptionsV2* /*options*/, const char* /*key*/,
                                              void* /*value*/) noexcept {
  return no_options_of("CUDA");
}
OrtStatus* GetCUDAProviderOptionsByName(const OrtCUDAProviderOptionsV2* /*options*/, const char* /*key*/,
                                        void** /*out*/) noexcept {
  return no_options_of("CUDA");
}
OrtStatus* SetCurrentGpuDeviceId(int /*device*/) noexcept { return no_options_of("CUDA"); }
OrtStatus* GetCurrentGpuDeviceId(int* /*device*/) noexcept { return no_options_of("CUDA"); }
OrtStatus* GetExecutionProviderApi(const char* name, std::uint32_t /*version*/, const void** out) noexcept {
  return guarded([&] {
    need("provider and out", name, out);
    throw Failure(ORT_INVALID_ARGUMENT, "execution provider '" + std::string(name) + "' has no interface of its own");
  });
}

OrtStatus* GetAvailableProviders(char*** out, int* count) noexcept {
  return guarded([&] {
    need("out and count", out, count);
    auto names = std::make_unique<char*[]>(1);
    names[0] = new char[std::strlen(kProvider) + 1];
    std::strcpy(names[0], kProvider);
    *out = names.release();
    *count = 1;
  });
}
OrtStatus* ReleaseAvailableProviders(char** names, int count) noexcept {
  for (int i = 0; names != nullptr && i < count; ++i) delete[] names[i];
  delete[] names;
  return nullptr;
}

OrtStatus* GetEpDevices(const OrtEnv* environment, const OrtEpDevice* const** out, std::size_t* count) noexcept {
  return guarded([&] {
    need("environment, out and count", environment, out, count);
    *out = cpu_devices();
    *count = 1;
  });
}
OrtStatus* SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions* options, OrtEnv* environment,
                                                    const OrtEpDevice* const* devices, std::size_t count,
                                                    const char* const* keys, const char* const* values,
                                                    std::size_t entries) noexcept {
  return guarded([&] {
    need("options and environment", options, environment);
    if (count == 0) throw Failure(ORT_INVALID_ARGUMENT, "expected at least one device");
    need("devices", devices);
    if (entries > 0) need("keys and values", keys, values);
    for (std::size_t i = 0; i < count; ++i) check_device(devices[i]);
  });
}
OrtStatus* SessionOptionsSetEpSelectionPolicy(OrtSessionOptions* options,
                                              OrtExecutionProviderDevicePolicy /*policy*/) noexcept {
  return guarded([&] { need("options", options); });
}
OrtStatus* SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions* options, EpSelectionDelegate /*delegate*/,
                                                      void* /*state*/) noexcept {
  return guarded([&] { need("options", options); });
}
OrtStatus* GetModelCompatibilityForEpDevices(const OrtEpDevice* const* devices, std::size_t count, const char* info,
                                             OrtCompiledModelCompatibility* out) noexcept {
  return guarded([&] {
    need("devices, information and out", devices, info, out);
    if (count == 0) throw Failure(ORT_INVALID_ARGUMENT, "expected at least one device");
    *out = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  });
}
OrtStatus* GetNumHardwareDevices(const OrtEnv* environment, std::size_t* out) noexcept {
  return guarded([&] {
    need("environment", environment);
    deref(out, "out") = 1;
  });
}
OrtStatus* GetHardwareDevices(const OrtEnv* environment, const OrtHardwareDevice** out, std::size_t count) noexcept {
  return guarded([&] {
    need("environment and out", environment, out);
    if (count > 0) out[0] = &cpu_device().hardware;
  });
}

const char* EpDevice_EpName(const OrtEpDevice* /*device*/) noexcept { return kProvider; }
const char* EpDevice_EpVendor(const OrtEpDevice* /*device*/) noexcept { return "Colonnade"; }
const OrtKeyValuePairs* EpDevice_EpMetadata(const OrtEpDevice* device) noexcept {
  return device == nullptr ? nullptr : &device->metadata;
}
const OrtKeyValuePairs* EpDevice_EpOptions(const OrtEpDevice* device) noexcept {
  return device == nullptr ? nullptr : &device->options;
}
const OrtHardwareDevice* EpDevice_Device(const OrtEpDevice* device) noexcept {
  return device == nullptr ? nullptr : &device->hardware;
}
const OrtMemoryInfo* EpDevice_MemoryInfo(const OrtEpDevice* /*device*/, OrtDeviceMemoryType memory) noexcept {
  return memory == OrtDeviceMemoryType_DEFAULT ? &cpu_memory() : nullptr;
}
OrtHardwareDeviceType HardwareDevice_Type(const OrtHardwareDevice* /*device*/) noexcept {
  return OrtHardwareDeviceType_CPU;
}
std::uint32_t HardwareDevice_VendorId(const OrtHardwareDevice* /*device*/) noexcept { return 0; }
const char* HardwareDevice_Vendor(const OrtHardwareDevice* /*device*/) noexcept { return ""; }
std::uint32_t HardwareDevice_DeviceId(const OrtHardwareDevice* /*device*/) noexcept { return 0; }
const OrtKeyValuePairs* HardwareDevice_Metadata(const OrtHardwareDevice* device) noexcept {
  return device == nullptr ? nullptr : &device->metadata;
}

OrtStatus* CreateExternalInitializerInfo(const char* path, std::int64_t offset, std::size_t bytes,
                                         OrtExternalInitializerInfo** out) noexcept {
  return guarded([&] {
    need("path and out", path, out);
    *out = new OrtExternalInitializerInfo{path, offset, bytes};
  });
}
void ReleaseExternalInitializerInfo(OrtExternalInitializerInfo* info) noexcept { delete info; }
const char* ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo* info) noexcept {
  return info == nullptr ? nullptr : info->path.c_str();
}
std::int64_t ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo* info) noexcept {
  return info == nullptr ? 0 : info->offset;
}
std::size_t ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo* info) noexcept {
  return info == nullptr ? 0 : info->bytes;
}

}  // namespace colonnade::ort
