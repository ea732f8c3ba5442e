// SPDX-License-Identifier: Apache-2.0
// What the library has not: tables of functions that are null, as in builds of ONNX Runtime that leave them out, and
// objects that are never made.
#include <string>

#include "colonnade/colonnade.hpp"
#include "frontends/onnxruntime/functions.hpp"

namespace colonnade::ort {

const OrtTrainingApi* GetTrainingApi(std::uint32_t /*version*/) noexcept { return nullptr; }
const OrtModelEditorApi* GetModelEditorApi() noexcept { return nullptr; }
const OrtCompileApi* GetCompileApi() noexcept { return nullptr; }
const OrtInteropApi* GetInteropApi() noexcept { return nullptr; }
const OrtModelPackageApi* GetModelPackageApi() noexcept { return nullptr; }
const OrtEpApi* GetEpApi() noexcept { return nullptr; }
OrtExperimentalFnPtr GetExperimentalFunction(const char* /*name*/) noexcept { return nullptr; }

void* SyncStream_GetHandle(OrtSyncStream* /*stream*/) noexcept { return nullptr; }
void ReleaseSyncStream(OrtSyncStream* /*none*/) noexcept {}
void ReleaseLoraAdapter(OrtLoraAdapter* /*none*/) noexcept {}
void ReleaseValueInfo(OrtValueInfo* /*none*/) noexcept {}
void ReleaseNode(OrtNode* /*none*/) noexcept {}
void ReleaseGraph(OrtGraph* /*none*/) noexcept {}
void ReleaseModel(OrtModel* /*none*/) noexcept {}
void ReleaseOp(OrtOp* /*none*/) noexcept {}
void ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails* /*none*/) noexcept {}

const char* GetBuildInfoString() noexcept {
  static const std::string& text = *new std::string("Colonnade " + std::string(version()) + ", with the interface of " +
                                                    "ONNX Runtime " + kVersionString);
  return text.c_str();
}

}  // namespace colonnade::ort
