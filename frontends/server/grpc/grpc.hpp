// SPDX-License-Identifier: Apache-2.0
// The Open Inference Protocol over gRPC with Triton's extensions, and gRPC's health protocol.
#pragma once

#include <chrono>
#include <memory>

#include "frontends/server/options.hpp"
#include "frontends/server/service.hpp"

namespace colonnade::serve {

/// Listens and answers from its construction on. The service outlives the server.
class GrpcServer {
 public:
  /// Throws Failure when an option is wrong, the port taken or a certificate unusable.
  GrpcServer(Service& service, const GrpcOptions& options);
  /// As `stop` without patience.
  ~GrpcServer();

  int port() const;  ///< -1: none
  /// Accepts no calls from now on; returns when those under way are answered. What is left after `limit` is cancelled.
  void stop(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade::serve
