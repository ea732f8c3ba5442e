// SPDX-License-Identifier: Apache-2.0
// The environment: one a process, which programs may ask for several times. It says who hears of log lines.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "frontends/onnxruntime/memory.hpp"

/// Who hears of lines of the log, and from which level on.
struct OrtLogger {
  OrtLoggingFunction function = nullptr;  ///< null: standard error
  void* parameter = nullptr;
  std::string name;
  std::atomic<OrtLoggingLevel> level = ORT_LOGGING_LEVEL_WARNING;

  void log(OrtLoggingLevel severity, const char* place, const char* line) const;
};

struct OrtThreadingOptions {
  int threads = 0;  ///< of sessions without threads of their own
};

struct OrtArenaCfg {};
struct OrtPrepackedWeightsContainer {};

struct OrtEnv {
  OrtLogger logger;
  OrtThreadingOptions threading;
  std::map<std::string, std::string> entries;
  std::mutex mutex;
  std::vector<OrtAllocator*> allocators;  ///< that the program registered
};
