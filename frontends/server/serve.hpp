// SPDX-License-Identifier: Apache-2.0
// The server as a process.
#pragma once

#include <string>

#include "frontends/server/options.hpp"

namespace colonnade::serve {

struct ServeOptions {
  ServiceOptions service;
  HttpOptions http;
  GrpcOptions grpc;
  std::chrono::seconds exit_timeout{30};  ///< for what is under way when the process is asked to end
  std::string access_log;                 ///< a path, "-" for standard output, "" for none
  bool verbose = false;
};

/// Serves until SIGTERM or SIGINT, then answers what is under way and returns; a second signal ends the process at
/// once. The first line of the log names the addresses. Throws Failure when it cannot start.
void serve(const ServeOptions& options);

}  // namespace colonnade::serve
