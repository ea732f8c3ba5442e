// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/environment.hpp"

#include <algorithm>
#include <cstdio>

#include "frontends/onnxruntime/lists.hpp"

void OrtLogger::log(OrtLoggingLevel severity, const char* place, const char* line) const {
  if (severity < level) return;
  if (function != nullptr)
    function(parameter, severity, "colonnade", name.c_str(), place, line);
  else
    std::fprintf(stderr, "%s: %s\n", name.empty() ? "colonnade" : name.c_str(), line);
}

namespace colonnade::ort {
namespace {

std::mutex process_mutex;
OrtEnv* process_environment = nullptr;  ///< while somebody holds it
int holders = 0;

OrtLoggingLevel level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return ORT_LOGGING_LEVEL_VERBOSE;
    case LogLevel::info: return ORT_LOGGING_LEVEL_INFO;
    case LogLevel::warning: return ORT_LOGGING_LEVEL_WARNING;
    case LogLevel::error: return ORT_LOGGING_LEVEL_ERROR;
  }
  return ORT_LOGGING_LEVEL_WARNING;
}

void check_level(int level) {
  if (level < ORT_LOGGING_LEVEL_VERBOSE || level > ORT_LOGGING_LEVEL_FATAL)
    throw Failure(ORT_INVALID_ARGUMENT, "there is no level of the log " + std::to_string(level));
}

struct Wanted {
  OrtLoggingFunction function = nullptr;
  void* parameter = nullptr;
  OrtLoggingLevel level = ORT_LOGGING_LEVEL_WARNING;
  const char* name = "";
  const OrtThreadingOptions* threading = nullptr;
  const OrtKeyValuePairs* entries = nullptr;
};

/// The process's environment, made as wanted where there is none.
OrtStatus* create(const Wanted& wanted, OrtEnv** out) noexcept {
  return guarded([&] {
    need("name and out", wanted.name, out);
    check_level(wanted.level);
    const std::scoped_lock lock(process_mutex);
    if (process_environment == nullptr) {
      auto environment = std::make_unique<OrtEnv>();
      environment->logger.function = wanted.function;
      environment->logger.parameter = wanted.parameter;
      environment->logger.name = wanted.name;
      environment->logger.level = wanted.level;
      if (wanted.threading != nullptr) environment->threading = *wanted.threading;
      if (wanted.entries != nullptr) environment->entries = wanted.entries->entries;
      set_log_handler([logger = &environment->logger](LogLevel level, std::string_view line) {
        logger->log(level_of(level), "", std::string(line).c_str());
      });
      process_environment = environment.release();
    }
    ++holders;
    *out = process_environment;
  });
}

}  // namespace

OrtStatus* CreateEnv(OrtLoggingLevel level, const char* name, OrtEnv** out) noexcept {
  return create({nullptr, nullptr, level, name}, out);
}
OrtStatus* CreateEnvWithCustomLogger(OrtLoggingFunction function, void* parameter, OrtLoggingLevel level,
                                     const char* name, OrtEnv** out) noexcept {
  return create({function, parameter, level, name}, out);
}
OrtStatus* CreateEnvWithGlobalThreadPools(OrtLoggingLevel level, const char* name, const OrtThreadingOptions* threading,
                                          OrtEnv** out) noexcept {
  return create({nullptr, nullptr, level, name, threading}, out);
}
OrtStatus* CreateEnvWithCustomLoggerAndGlobalThreadPools(OrtLoggingFunction function, void* parameter,
                                                         OrtLoggingLevel level, const char* name,
                                                         const OrtThreadingOptions* threading, OrtEnv** out) noexcept {
  return create({function, parameter, level, name, threading}, out);
}
OrtStatus* CreateEnvWithOptions(const OrtEnvCreationOptions* options, OrtEnv** out) noexcept {
  if (options == nullptr) return made(ORT_INVALID_ARGUMENT, "options must not be null");
  return create({options->custom_logging_function, options->custom_logging_param,
                 static_cast<OrtLoggingLevel>(options->logging_severity_level), options->log_id,
                 options->threading_options, options->config_entries},
                out);
}

void ReleaseEnv(OrtEnv* environment) noexcept {
  if (environment == nullptr) return;
  const std::scoped_lock lock(process_mutex);
  if (environment != process_environment || --holders > 0) return;
  set_log_handler({});
  process_environment = nullptr;
  delete environment;
}

// Nothing is ever sent.
OrtStatus* EnableTelemetryEvents(const OrtEnv* environment) noexcept {
  return guarded([&] { need("environment", environment); });
}
OrtStatus* DisableTelemetryEvents(const OrtEnv* environment) noexcept {
  return guarded([&] { need("environment", environment); });
}
OrtStatus* SetLanguageProjection(const OrtEnv* environment, OrtLanguageProjection /*language*/) noexcept {
  return guarded([&] { need("environment", environment); });
}
OrtStatus* UpdateEnvWithCustomLogLevel(OrtEnv* environment, OrtLoggingLevel level) noexcept {
  return guarded([&] {
    check_level(level);
    deref(environment, "environment").logger.level = level;
  });
}

OrtStatus* Logger_LogMessage(const OrtLogger* logger, OrtLoggingLevel level, const char* message, const char* file,
                             int line, const char* function) noexcept {
  return guarded([&] {
    need("logger and message", logger, message);
    const std::string place = std::string(file == nullptr ? "" : file) + ":" + std::to_string(line) + " " +
                              (function == nullptr ? "" : function);
    logger->log(level, place.c_str(), message);
  });
}
OrtStatus* Logger_GetLoggingSeverityLevel(const OrtLogger* logger, OrtLoggingLevel* out) noexcept {
  return guarded([&] { deref(out, "out") = deref(logger, "logger").level; });
}

OrtStatus* CreateThreadingOptions(OrtThreadingOptions** out) noexcept {
  return guarded([&] { hand_out(out); });
}
void ReleaseThreadingOptions(OrtThreadingOptions* options) noexcept { delete options; }
OrtStatus* SetGlobalIntraOpNumThreads(OrtThreadingOptions* options, int threads) noexcept {
  return guarded([&] { deref(options, "options").threads = std::max(0, threads); });
}
// All sessions of a process share one set of threads, which wait without spinning for long, and subnormal numbers count
// as zero anyway: the rest is accepted.
OrtStatus* SetGlobalInterOpNumThreads(OrtThreadingOptions* options, int /*threads*/) noexcept {
  return guarded([&] { need("options", options); });
}
OrtStatus* SetGlobalSpinControl(OrtThreadingOptions* options, int spin) noexcept {
  return guarded([&] {
    need("options", options);
    if (spin != 0 && spin != 1)
      throw Failure(ORT_INVALID_ARGUMENT, "spinning is 0 or 1, found " + std::to_string(spin));
  });
}
OrtStatus* SetGlobalDenormalAsZero(OrtThreadingOptions* options) noexcept {
  return guarded([&] { need("options", options); });
}
OrtStatus* SetGlobalIntraOpThreadAffinity(OrtThreadingOptions* options, const char* affinity) noexcept {
  return guarded([&] {
    need("options and affinity", options, affinity);
    if (*affinity == '\0') throw Failure(ORT_INVALID_ARGUMENT, "the affinity must not be empty");
  });
}
OrtStatus* SetGlobalCustomCreateThreadFn(OrtThreadingOptions* options, OrtCustomCreateThreadFn /*create*/) noexcept {
  return guarded([&] { need("options", options); });
}
OrtStatus* SetGlobalCustomThreadCreationOptions(OrtThreadingOptions* options, void* /*creation*/) noexcept {
  return guarded([&] { need("options", options); });
}
OrtStatus* SetGlobalCustomJoinThreadFn(OrtThreadingOptions* options, OrtCustomJoinThreadFn /*join*/) noexcept {
  return guarded([&] { need("options", options); });
}

// A plan has one block of memory of the size that it needs: arenas are accepted and have no effect.
OrtStatus* CreateArenaCfg(std::size_t /*max*/, int /*extend*/, int /*initial*/, int /*dead*/,
                          OrtArenaCfg** out) noexcept {
  return guarded([&] { hand_out(out); });
}
OrtStatus* CreateArenaCfgV2(const char* const* keys, const std::size_t* values, std::size_t count,
                            OrtArenaCfg** out) noexcept {
  return guarded([&] {
    if (count > 0) need("keys and values", keys, values);
    hand_out(out);
  });
}
void ReleaseArenaCfg(OrtArenaCfg* arena) noexcept { delete arena; }
OrtStatus* CreateAndRegisterAllocator(OrtEnv* environment, const OrtMemoryInfo* memory,
                                      const OrtArenaCfg* /*arena*/) noexcept {
  return guarded([&] { need("environment and memory info", environment, memory); });
}
OrtStatus* CreateAndRegisterAllocatorV2(OrtEnv* environment, const char* provider, const OrtMemoryInfo* memory,
                                        const OrtArenaCfg* /*arena*/, const char* const* /*keys*/,
                                        const char* const* /*values*/, std::size_t /*count*/) noexcept {
  return guarded([&] {
    need("environment, provider and memory info", environment, provider, memory);
    if (std::string(provider) != "CPUExecutionProvider")
      throw Failure(ORT_FAIL, "there is no provider '" + std::string(provider) + "', only the CPU");
  });
}

/// The place of the allocator for this memory among those of the program.
static auto registered(OrtEnv& environment, const OrtMemoryInfo& memory) {
  return std::find_if(environment.allocators.begin(), environment.allocators.end(),
                      [&](const OrtAllocator* allocator) { return *allocator->Info(allocator) == memory; });
}

OrtStatus* RegisterAllocator(OrtEnv* environment, OrtAllocator* allocator) noexcept {
  return guarded([&] {
    need("environment and allocator", environment, allocator);
    const std::scoped_lock lock(environment->mutex);
    if (registered(*environment, deref(allocator->Info(allocator), "memory info")) != environment->allocators.end())
      throw Failure(ORT_INVALID_ARGUMENT, "an allocator of this memory is registered already");
    environment->allocators.push_back(allocator);
  });
}
OrtStatus* UnregisterAllocator(OrtEnv* environment, const OrtMemoryInfo* memory) noexcept {
  return guarded([&] {
    need("environment and memory info", environment, memory);
    const std::scoped_lock lock(environment->mutex);
    const auto at = registered(*environment, *memory);
    if (at == environment->allocators.end())
      throw Failure(ORT_INVALID_ARGUMENT, "no allocator of this memory is registered");
    environment->allocators.erase(at);
  });
}
OrtStatus* GetSharedAllocator(OrtEnv* environment, const OrtMemoryInfo* memory, OrtAllocator** out) noexcept {
  return guarded([&] {
    need("environment, memory info and out", environment, memory, out);
    const std::scoped_lock lock(environment->mutex);
    const auto at = registered(*environment, *memory);
    *out = at != environment->allocators.end()             ? *at
           : memory->device == OrtMemoryInfoDeviceType_CPU ? &default_allocator()
                                                           : nullptr;
  });
}
OrtStatus* CreateSharedAllocator(OrtEnv* environment, const OrtEpDevice* device, OrtDeviceMemoryType /*memory*/,
                                 OrtAllocatorType /*type*/, const OrtKeyValuePairs* /*options*/,
                                 OrtAllocator** out) noexcept {
  return guarded([&] {
    need("environment and device", environment, device);
    if (out != nullptr) *out = &default_allocator();
  });
}
OrtStatus* ReleaseSharedAllocator(OrtEnv* environment, const OrtEpDevice* device,
                                  OrtDeviceMemoryType /*memory*/) noexcept {
  return guarded([&] { need("environment and device", environment, device); });
}

// Packed weights are shared by all sessions of a model; between models there is nothing to share.
OrtStatus* CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer** out) noexcept {
  return guarded([&] { hand_out(out); });
}
void ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer* container) noexcept { delete container; }

}  // namespace colonnade::ort
