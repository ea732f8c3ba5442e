// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>

namespace colonnade {
namespace {

/// Never destroyed: the last lines are written while the process ends.
struct Log {
  std::recursive_mutex mutex;  ///< a handler may use the library, which may log
  LogHandler handler;
  std::atomic<LogLevel> least{LogLevel::warning};
};

Log& process_log() {
  static Log& log = *new Log;
  return log;
}

void write_to_stderr(LogLevel level, const std::string& line) {
  std::fprintf(stderr, "colonnade: %s: %s\n", level == LogLevel::error ? "error" : "warning", line.c_str());
}

}  // namespace

bool is_logged(LogLevel level) noexcept { return level >= process_log().least.load(std::memory_order_relaxed); }

void write_log(LogLevel level, std::string line) noexcept {
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  Log& log = process_log();
  const std::scoped_lock lock(log.mutex);
  try {
    if (log.handler) {
      log.handler(level, line);
    } else if (level >= LogLevel::warning) {
      write_to_stderr(level, line);
    }
  } catch (...) {  // a handler's own trouble is none of the caller's
  }
}

void set_log_handler(LogHandler handler) {
  Log& log = process_log();
  const std::scoped_lock lock(log.mutex);
  log.handler = std::move(handler);
  log.least = log.handler ? LogLevel::debug : LogLevel::warning;
}

}  // namespace colonnade
