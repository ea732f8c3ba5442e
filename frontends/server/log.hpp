// SPDX-License-Identifier: Apache-2.0
// What the server says of itself: one JSON object a line. What clients sent is escaped, so no line can be forged.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "colonnade/colonnade.hpp"

namespace colonnade::serve {

using LogValue = std::variant<std::string_view, std::int64_t, double, bool>;
using LogFields = std::initializer_list<std::pair<std::string_view, LogValue>>;

/// One line on stderr: {"time", "level", "event", fields...}. Any thread; lines do not mix. Levels below `log_level`
/// are dropped.
void log(LogLevel level, std::string_view event, LogFields fields = {});
void set_log_level(LogLevel level);

/// While this lives, lines of this thread that name no model say that they are about this one.
class LogAbout {
 public:
  LogAbout(const std::string& model, std::int64_t version);
  ~LogAbout();
  LogAbout(const LogAbout&) = delete;
  LogAbout& operator=(const LogAbout&) = delete;

 private:
  friend void log(LogLevel level, std::string_view event, LogFields fields);
  const std::string& model_;
  const std::int64_t version_;
  const LogAbout* const outer_;
};

/// A request that was answered, for the access log.
struct Access {
  std::string_view protocol;  ///< "http" or "grpc"
  std::string_view peer;      ///< address of the client
  std::string_view method;    ///< "POST", "ModelInfer"
  std::string_view path;      ///< of the URL; "" for gRPC
  int status = 0;             ///< the protocol's number
  std::string_view id;        ///< the request's, "" when it has none
  std::uint64_t bytes_in = 0, bytes_out = 0;
  std::chrono::nanoseconds took{0};
};

/// Where requests are logged: a path, "-" for standard output, "" for nowhere (the default). Throws Failure when the
/// file cannot be opened.
void open_access_log(const std::string& path);
/// True when there is one; spare the work of an Access otherwise.
bool has_access_log();
/// Queues a line, never blocks on the disk; what does not fit is counted, and the count is logged.
void log_access(const Access& access);
/// Writes what is queued, at the end of the process.
void close_access_log();

}  // namespace colonnade::serve
