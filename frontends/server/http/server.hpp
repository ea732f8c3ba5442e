// SPDX-License-Identifier: Apache-2.0
// The Open Inference Protocol over HTTP/1.1, with Triton's extensions.
#pragma once

#include <chrono>
#include <memory>

#include "frontends/server/options.hpp"
#include "frontends/server/service.hpp"

namespace colonnade::serve {

/// Listens and answers from its construction on. Metrics have a port of their own besides their path on the other; TLS
/// is for both, and its files are read again when they change. The service outlives the server.
class HttpServer {
 public:
  /// Throws Failure when an option is wrong, a port taken or a certificate unusable.
  HttpServer(Service& service, const HttpOptions& options);
  /// As `stop` without patience.
  ~HttpServer();

  int port() const;          ///< -1: none
  int metrics_port() const;  ///< -1: none
  /// Accepts no connections from now on, closes those that are idle, and the others when they are answered; what is
  /// left after `limit` is cancelled.
  void stop(std::chrono::milliseconds limit);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade::serve
