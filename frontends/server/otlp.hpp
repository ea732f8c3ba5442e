// SPDX-License-Identifier: Apache-2.0
// The OpenTelemetry protocol over HTTP, in JSON: what a collector is told, and how.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

namespace colonnade::serve {

struct CollectorAddress {
  std::string host, port, path;
};
/// Of "http://HOST[:PORT][/PATH]"; the port is 4318 and the path /v1/traces where it says none. Throws Failure.
CollectorAddress collector_address(const std::string& url);

/// Times in nanoseconds since 1970.
struct RequestTrace {
  std::string trace_id, span_id, parent_id;  ///< hexadecimal; `parent_id` "": none
  std::string model, protocol;
  std::int64_t version = 0;
  std::int64_t received = 0, ended = 0;
  std::int64_t queued = 0, began = 0, computed = 0;  ///< 0: it did not run
  std::int64_t batch = 0;                            ///< samples of the run
  std::string problem;                               ///< "": it was answered
};

/// An ExportTraceServiceRequest: spans "request", and below it "queue" and "compute" where it ran.
std::string otlp_json(std::span<const RequestTrace> traces);

/// One connection a message.
class Collector {
 public:
  static constexpr std::chrono::seconds kPatience{5};

  /// Why it was not taken; "" when it was. One thread.
  std::string post(const CollectorAddress& address, const std::string& body);
  /// Ends a post under way. Any thread.
  void interrupt();

 private:
  /// False when it was interrupted.
  bool use(int socket);

  std::mutex mutex_;  ///< of what follows
  int socket_ = -1;
  bool is_interrupted_ = false;
};

}  // namespace colonnade::serve
