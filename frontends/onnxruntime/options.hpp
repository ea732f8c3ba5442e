// SPDX-License-Identifier: Apache-2.0
// How sessions are made and how they run.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "frontends/onnxruntime/environment.hpp"
#include "frontends/onnxruntime/value.hpp"

struct OrtCustomOpDomain {
  std::string name;
  std::vector<const OrtCustomOp*> operators;
};

/// Threads, free dimensions, initializers, profiles, operators of the program and the entries "colonnade.*" have an
/// effect; what steers ONNX Runtime's own optimiser, arena and second thread pool is kept and has none.
struct OrtSessionOptions {
  [[no_unique_address]] colonnade::ort::Alive alive;
  std::map<std::string, std::string> entries;
  int threads = 0;
  bool own_threads = true;
  std::map<std::string, std::int64_t> dimensions;           ///< sizes of open dimensions by symbol
  std::map<std::string, std::int64_t> denotations;          ///< the same by denotation
  std::map<std::string, const OrtValue*> initializers;      ///< in place of those of the model; the program's
  std::map<std::string, const OrtValue*> external;          ///< elements of initializers that lie in other files
  std::map<std::string, std::span<const std::byte>> files;  ///< those files, the program's memory
  std::string optimized_path;
  bool profiles = false;
  std::string profile_prefix;
  bool is_cancelled = false;
  ExecutionMode execution = ORT_SEQUENTIAL;
  bool memory_pattern = true;
  std::string log_name;
  int log_level = -1;  ///< -1: the environment's
  OrtLoggingFunction log_function = nullptr;
  void* log_parameter = nullptr;
  std::vector<const OrtCustomOpDomain*> domains;
  std::vector<std::shared_ptr<void>> libraries;  ///< whose operators these are
};

struct OrtRunOptions {
  [[no_unique_address]] colonnade::ort::Alive alive;
  std::stop_source stop;
  std::map<std::string, std::string> entries;
  std::string tag;
  int log_level = -1;
  int log_verbosity = 0;
};

namespace colonnade::ort {

/// Throws Failure ORT_INVALID_ARGUMENT for what is no number of at least 0.
std::int64_t number_in_entry(const std::string& key, const std::string& text);
/// The library's options for a session.
Options model_options(const OrtSessionOptions& options, const OrtEnv& environment);

}  // namespace colonnade::ort
