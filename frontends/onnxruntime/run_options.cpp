// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/options.hpp"

namespace colonnade::ort {

OrtStatus* CreateRunOptions(OrtRunOptions** out) noexcept {
  return guarded([&] { hand_out(out); });
}
void ReleaseRunOptions(OrtRunOptions* options) noexcept { release(options); }

OrtStatus* RunOptionsSetRunLogVerbosityLevel(OrtRunOptions* options, int level) noexcept {
  return guarded([&] { deref(options, "run options").log_verbosity = level; });
}
OrtStatus* RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions* options, int* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(options, "run options").log_verbosity; });
}
OrtStatus* RunOptionsSetRunLogSeverityLevel(OrtRunOptions* options, int level) noexcept {
  return guarded([&] { deref(options, "run options").log_level = level; });
}
OrtStatus* RunOptionsGetRunLogSeverityLevel(const OrtRunOptions* options, int* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(options, "run options").log_level; });
}
OrtStatus* RunOptionsSetRunTag(OrtRunOptions* options, const char* tag) noexcept {
  return guarded([&] { deref(options, "run options").tag = tag == nullptr ? "" : tag; });
}
OrtStatus* RunOptionsGetRunTag(const OrtRunOptions* options, const char** out) noexcept {
  return guarded([&] { deref(out, "out") = deref(options, "run options").tag.c_str(); });
}
OrtStatus* RunOptionsSetTerminate(OrtRunOptions* options) noexcept {
  return guarded([&] { deref(options, "run options").stop.request_stop(); });
}
OrtStatus* RunOptionsUnsetTerminate(OrtRunOptions* options) noexcept {
  return guarded([&] { deref(options, "run options").stop = std::stop_source(); });
}
OrtStatus* AddRunConfigEntry(OrtRunOptions* options, const char* key, const char* value) noexcept {
  return guarded([&] {
    need("key and value", key, value);
    if (*key == '\0') throw Failure(ORT_INVALID_ARGUMENT, "the key of an entry must not be empty");
    deref(options, "run options").entries[key] = value;
  });
}
const char* GetRunConfigEntry(const OrtRunOptions* options, const char* key) noexcept {
  if (options == nullptr || key == nullptr) return nullptr;
  const auto at = options->entries.find(key);
  return at == options->entries.end() ? nullptr : at->second.c_str();
}
OrtStatus* RunOptionsDisableProfiling(OrtRunOptions* options) noexcept {
  return guarded([&] { need("run options", options); });
}
void RunOptionsSetSyncStream(OrtRunOptions* /*options*/, OrtSyncStream* /*stream*/) noexcept {}

}  // namespace colonnade::ort
