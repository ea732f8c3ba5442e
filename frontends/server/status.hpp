// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace colonnade::serve {

/// Why a request failed; every protocol has a number for each.
enum class Code {
  invalid_argument,    ///< HTTP 400, gRPC INVALID_ARGUMENT
  not_found,           ///< 404, NOT_FOUND: no such model, version, path
  unauthorized,        ///< 403, PERMISSION_DENIED: a restricted endpoint without its key
  too_large,           ///< 413, RESOURCE_EXHAUSTED: a request beyond the caps
  resource_exhausted,  ///< 503, RESOURCE_EXHAUSTED: the queue is full
  unavailable,         ///< 503, UNAVAILABLE: not loaded yet, unloading, shutting down
  deadline_exceeded,   ///< 504, DEADLINE_EXCEEDED
  cancelled,           ///< 499, CANCELLED: the client left
  unsupported,         ///< 501, UNIMPLEMENTED
  internal,            ///< 500, INTERNAL
};

/// One line, fit for a client: no paths of the host, no addresses.
struct Status {
  Code code = Code::internal;
  std::string message;
};

/// A Status on its way up.
class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const { return code_; }
  Status status() const { return {code_, what()}; }

 private:
  Code code_;
};

/// The request or the configuration is wrong.
[[noreturn]] inline void reject(const std::string& message) { throw Failure(Code::invalid_argument, message); }

}  // namespace colonnade::serve
