// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "frontends/server/clients.hpp"

namespace colonnade::serve {

enum class ControlMode {
  none,       ///< all models of the repository, once
  poll,       ///< the repository is looked at again and again
  explicit_,  ///< what `load_models` names and clients ask for
};

/// Of one request; 0: none.
struct RequestLimits {
  std::size_t memory_bytes = 0;          ///< as Options::memory_limit_bytes
  std::int64_t loop_iterations = 0;      ///< as RunOptions::loop_limit
  std::chrono::milliseconds timeout{0};  ///< from its receipt to its answer, whatever it asks for
};

struct TraceOptions {
  std::string url;  ///< of a collector, http://HOST[:PORT][/PATH]; "": no traces
  double rate = 1;  ///< of requests that belong to no trace yet
};

struct ServiceOptions {
  std::vector<std::string>
      repositories;  ///< a model.onnx, a folder of .onnx files, or a Triton repository each; NAME=PATH
  ControlMode control = ControlMode::none;
  std::vector<std::string> load_models;  ///< "*": all
  std::chrono::seconds poll_every{15};
  bool strict_readiness = true;    ///< not ready while a model failed to load
  std::size_t max_queue = 1024;    ///< requests waiting for a model, where its configuration does not say
  std::size_t most_pending = 0;    ///< of all models together; 0: no limit
  std::size_t memory_limit = 0;    ///< that loaded models and requests may need together; 0: no limit
  bool unload_idle = false;        ///< unloads models that nobody asks for to make room, and loads them again
  std::size_t response_cache = 0;  ///< bytes for answers of models that ask for it; 0: none are kept
  RequestLimits limits;            ///< configurations of models may ask for less
  ClientLimits clients;
  TraceOptions trace;
  std::string shared_memory;            ///< how names of shared memory begin that clients may have tensors in; "": none
  int streams = 0;                      ///< runs at the same time; 0: as many as threads
  std::int32_t default_max_batch = 64;  ///< `max_batch_size` of models that can be batched and do not say
  bool warm_up = true;                  ///< run a model before it is called ready
  std::filesystem::path compiled_folder;  ///< where Options::compiled of each model is; "": nowhere
  Options model;                          ///< threads, plan cache, ... of every model
};

struct HttpOptions {
  std::string address = "0.0.0.0";
  int port = 8000;          ///< 0: any free one; -1: no HTTP
  int metrics_port = 8002;  ///< -1: /metrics on the port of HTTP only
  int threads = 0;
  std::size_t most_body_bytes = std::size_t{64} << 20;  ///< decompressed
  std::size_t most_chunks = 65536;
  int deepest_json = 100;
  std::chrono::seconds header_timeout{10}, body_timeout{60}, idle_timeout{120};
  std::size_t most_connections = 4096;
  std::map<std::string, std::string> restricted;   ///< endpoint category -> "header=key"
  std::string certificate, key, client_authority;  ///< PEM files: TLS when given
};

struct GrpcOptions {
  std::string address = "0.0.0.0";
  int port = 8001;                                         ///< 0: any free one; -1: no gRPC
  std::size_t most_message_bytes = std::size_t{64} << 20;  ///< decompressed
  int most_streams = 1024;                                 ///< calls at the same time on one connection
  std::map<std::string, std::string> restricted;           ///< category of calls -> "header=key"
  std::string certificate, key, client_authority;          ///< PEM files: TLS when given
};

}  // namespace colonnade::serve
