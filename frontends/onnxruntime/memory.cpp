// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/memory.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "frontends/onnxruntime/lists.hpp"

namespace colonnade::ort {
namespace {

constexpr std::size_t kAlignment = 64;

void* allocate(OrtAllocator* /*self*/, std::size_t bytes) {
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  return whole < bytes ? nullptr : std::aligned_alloc(kAlignment, whole);
}
void release(OrtAllocator* /*self*/, void* memory) { std::free(memory); }
const OrtMemoryInfo* info(const OrtAllocator* /*self*/) { return &cpu_memory(); }
OrtStatus* stats(const OrtAllocator* /*self*/, OrtKeyValuePairs** out) {
  return guarded([&] {
    need("out", out);
    *out = new OrtKeyValuePairs;
  });
}
void* allocate_on_stream(OrtAllocator* self, std::size_t bytes, OrtSyncStream* /*stream*/) {
  return allocate(self, bytes);
}
OrtStatus* shrink(OrtAllocator* /*self*/) { return nullptr; }

OrtAllocator new_allocator() {
  return {kApiVersion, allocate, release, info, allocate, stats, allocate_on_stream, shrink};
}

/// Names of devices that the interface knows without saying more of them.
constexpr std::array kDevices = {"Cpu",           "Cuda",         "CudaPinned",   "Cann",         "CannPinned",
                                 "Dml",           "HIP",          "HipPinned",    "OpenVINO_CPU", "OpenVINO_GPU",
                                 "WebGPU_Buffer", "WebNN_Tensor", "QnnHtpShared", "OpenVINO_RT",  "OpenVINO_RT_NPU"};

}  // namespace

const OrtMemoryInfo& cpu_memory() noexcept {
  static const OrtMemoryInfo& memory = *new OrtMemoryInfo;  // threads may outlive what is destroyed at exit
  return memory;
}

OrtAllocator& default_allocator() noexcept {
  static OrtAllocator& allocator = *new OrtAllocator(new_allocator());
  return allocator;
}

OrtAllocator* new_cpu_allocator() { return new OrtAllocator(new_allocator()); }

void* allocated(OrtAllocator& allocator, std::size_t bytes) {
  void* const memory = allocator.Alloc(&allocator, bytes);
  if (memory == nullptr)
    throw Failure(ORT_RUNTIME_EXCEPTION, "the allocator has no " + std::to_string(bytes) + " bytes");
  return memory;
}

char* copied(OrtAllocator& allocator, const std::string& text) {
  auto* const memory = static_cast<char*>(allocated(allocator, text.size() + 1));
  std::memcpy(memory, text.c_str(), text.size() + 1);
  return memory;
}

void copy_text(const std::string& text, char* out, std::size_t& size) {
  const std::size_t room = size;
  size = text.size() + 1;
  if (out == nullptr) return;
  if (room < size) throw Failure(ORT_INVALID_ARGUMENT, "expected room for " + std::to_string(size) + " bytes");
  std::memcpy(out, text.c_str(), size);
}

OrtStatus* CreateMemoryInfo(const char* name, OrtAllocatorType type, int id, OrtMemType memory,
                            OrtMemoryInfo** out) noexcept {
  return guarded([&] {
    need("name and out", name, out);
    const auto known =
        std::find_if(kDevices.begin(), kDevices.end(), [&](const char* device) { return std::string(device) == name; });
    if (known == kDevices.end()) throw Failure(ORT_INVALID_ARGUMENT, "there is no device '" + std::string(name) + "'");
    const auto device = known == kDevices.begin() ? OrtMemoryInfoDeviceType_CPU : OrtMemoryInfoDeviceType_GPU;
    *out = new OrtMemoryInfo{name, type, id, memory, device};
  });
}

OrtStatus* CreateMemoryInfo_V2(const char* name, OrtMemoryInfoDeviceType device, std::uint32_t vendor,
                               std::int32_t device_id, OrtDeviceMemoryType memory, std::size_t /*alignment*/,
                               OrtAllocatorType type, OrtMemoryInfo** out) noexcept {
  return guarded([&] {
    need("name and out", name, out);
    *out = new OrtMemoryInfo{name, type, device_id, OrtMemTypeDefault, device, vendor, memory};
  });
}

OrtStatus* CreateCpuMemoryInfo(OrtAllocatorType type, OrtMemType memory, OrtMemoryInfo** out) noexcept {
  return CreateMemoryInfo("Cpu", type, 0, memory, out);
}

OrtStatus* CompareMemoryInfo(const OrtMemoryInfo* a, const OrtMemoryInfo* b, int* out) noexcept {
  return guarded([&] {
    need("out", out);
    *out = deref(a, "memory info") == deref(b, "memory info") ? 0 : -1;
  });
}

OrtStatus* MemoryInfoGetName(const OrtMemoryInfo* memory, const char** out) noexcept {
  return guarded([&] { deref(out, "out") = deref(memory, "memory info").name.c_str(); });
}
OrtStatus* MemoryInfoGetId(const OrtMemoryInfo* memory, int* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(memory, "memory info").id; });
}
OrtStatus* MemoryInfoGetMemType(const OrtMemoryInfo* memory, OrtMemType* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(memory, "memory info").memory; });
}
OrtStatus* MemoryInfoGetType(const OrtMemoryInfo* memory, OrtAllocatorType* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(memory, "memory info").allocator; });
}
void MemoryInfoGetDeviceType(const OrtMemoryInfo* memory, OrtMemoryInfoDeviceType* out) noexcept {
  if (memory != nullptr && out != nullptr) *out = memory->device;
}
OrtDeviceMemoryType MemoryInfoGetDeviceMemType(const OrtMemoryInfo* memory) noexcept {
  return memory == nullptr ? OrtDeviceMemoryType_DEFAULT : memory->device_memory;
}
std::uint32_t MemoryInfoGetVendorId(const OrtMemoryInfo* memory) noexcept {
  return memory == nullptr ? 0 : memory->vendor;
}
void ReleaseMemoryInfo(OrtMemoryInfo* memory) noexcept {
  if (memory != &cpu_memory()) delete memory;
}

OrtStatus* GetAllocatorWithDefaultOptions(OrtAllocator** out) noexcept {
  return guarded([&] { deref(out, "out") = &default_allocator(); });
}

OrtStatus* CreateAllocator(const OrtSession* session, const OrtMemoryInfo* memory, OrtAllocator** out) noexcept {
  return guarded([&] {
    need("session and out", session, out);
    if (deref(memory, "memory info").device != OrtMemoryInfoDeviceType_CPU)
      throw Failure(ORT_INVALID_ARGUMENT, "there is no allocator for '" + memory->name + "'");
    *out = new_cpu_allocator();
  });
}

void ReleaseAllocator(OrtAllocator* allocator) noexcept {
  if (allocator != nullptr && allocator != &default_allocator() && allocator->Alloc == allocate) delete allocator;
}

OrtStatus* AllocatorAlloc(OrtAllocator* allocator, std::size_t bytes, void** out) noexcept {
  return guarded([&] { deref(out, "out") = allocated(deref(allocator, "allocator"), bytes); });
}
OrtStatus* AllocatorFree(OrtAllocator* allocator, void* memory) noexcept {
  return guarded([&] { deref(allocator, "allocator").Free(allocator, memory); });
}
OrtStatus* AllocatorGetInfo(const OrtAllocator* allocator, const OrtMemoryInfo** out) noexcept {
  return guarded([&] { deref(out, "out") = deref(allocator, "allocator").Info(allocator); });
}
OrtStatus* AllocatorGetStats(const OrtAllocator* allocator, OrtKeyValuePairs** out) noexcept {
  constexpr std::uint32_t kSinceStats = 23;
  if (allocator != nullptr && allocator->version >= kSinceStats && allocator->GetStats != nullptr)
    return allocator->GetStats(allocator, out);
  return guarded([&] {
    need("allocator and out", allocator, out);
    throw Failure(ORT_NOT_IMPLEMENTED, "this allocator counts nothing");
  });
}

}  // namespace colonnade::ort
