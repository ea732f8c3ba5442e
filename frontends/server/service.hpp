// SPDX-License-Identifier: Apache-2.0
// What a server does, whatever the protocol: HTTP and gRPC only translate to and from these calls.
#pragma once

#include <grpc_service.pb.h>  // made of frontends/server/proto: messages of the Open Inference Protocol
#include <model_config.pb.h>

#include <memory>
#include <string>

#include "frontends/server/clients.hpp"
#include "frontends/server/inference.hpp"
#include "frontends/server/options.hpp"
#include "frontends/server/shared_memory.hpp"

namespace colonnade::serve {

/// Threads that compute at the same time by default: one per physical core that the process may use.
int default_threads();

/// All calls may come from any thread at any time. Versions are as in URLs: "" is the newest that is served.
/// Failures are thrown (Failure), but for `infer`, which hands them to `done`.
class Service {
 public:
  /// Scans the repository and starts to load, at once or when `start` is called; `is_ready` tells when that is done.
  /// Throws Failure when a repository cannot be read.
  explicit Service(ServiceOptions options, bool start = true);
  /// Drains first.
  ~Service();

  void start();
  bool is_live() const;
  /// All models that should be loaded are, and the service is not draining.
  bool is_ready() const;
  bool is_ready(const std::string& model, const std::string& version) const;

  inference::ServerMetadataResponse metadata() const;
  inference::ModelMetadataResponse metadata(const std::string& model, const std::string& version) const;
  /// Of a loaded model, with all its instances.
  std::size_t needed_bytes(const std::string& model, const std::string& version) const;
  inference::ModelConfig config(const std::string& model, const std::string& version) const;
  /// Of all models when `model` is empty.
  inference::ModelStatisticsResponse statistics(const std::string& model, const std::string& version) const;
  inference::RepositoryIndexResponse index(bool ready_only) const;
  /// `Model::describe` of a loaded model, as JSON.
  std::string describe(const std::string& model, const std::string& version) const;

  /// Loads or reloads; blocks, for seconds, until the model answers or has failed to load. An old version serves until
  /// then, and on when loading fails. Parameters: `config` (JSON of a ModelConfig), `file:<version>/<name>` (content).
  void load(const std::string& model, const std::map<std::string, std::string>& parameters);
  /// New requests are refused at once; returns when those under way are answered.
  void unload(const std::string& model);

  /// Checks and queues the request; returns at once, or after some brief runs. Never throws. `done` may be called
  /// before it returns.
  void infer(InferenceRequest request, Done done);

  /// What clients have under way, over all protocols.
  Clients& clients();
  /// What clients share with the server.
  SharedMemory& shared_memory();

  /// Prometheus text.
  std::string metrics() const;

  /// Not ready from now on; returns when nothing is under way, or after `limit`, when what is left is cancelled.
  void drain(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade::serve
