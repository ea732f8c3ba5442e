// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/serve.hpp"

#include <fmt/core.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <thread>

#include "frontends/server/grpc/grpc.hpp"
#include "frontends/server/http/server.hpp"
#include "frontends/server/log.hpp"
#include "frontends/server/service.hpp"

namespace colonnade::serve {
namespace {

constexpr int kSignalled = 128;
constexpr int kExitTimedOut = 3;
/// What is cancelled at the end has this long to notice; then the process ends whatever still runs.
constexpr std::chrono::seconds kAfterExitTimeout{1};

/// SIGTERM and SIGINT, for whoever waits for them: all threads that are started from now on inherit the mask.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int wait() const {
    int signal = 0;
    while (sigwait(&set_, &signal) != 0) {
    }
    return signal;
  }

  void exit_on_next() const {
    std::thread([set = set_] {
      int signal = 0;
      if (sigwait(&set, &signal) == 0) ::_exit(kSignalled + signal);
    }).detach();
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

/// Ends the process at a time, unless it is destroyed before.
class ExitTimer {
 public:
  explicit ExitTimer(Clock::time_point end) : thread_([this, end] { wait(end); }) {}
  ExitTimer(const ExitTimer&) = delete;
  ExitTimer& operator=(const ExitTimer&) = delete;
  ~ExitTimer() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  void wait(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, end, [this] { return is_over_; })) return;
    log(LogLevel::error, "exit", {{"reason", "what was cancelled has not ended"}});
    ::_exit(kExitTimedOut);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

std::string address_of(const std::string& host, int port) {
  if (port < 0) return "none";
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

class AccessLogFile {
 public:
  explicit AccessLogFile(const std::string& path) { open_access_log(path); }
  AccessLogFile(const AccessLogFile&) = delete;
  AccessLogFile& operator=(const AccessLogFile&) = delete;
  ~AccessLogFile() { close_access_log(); }
};

}  // namespace

void serve(const ServeOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  const Signals signals;
  set_log_level(options.verbose ? LogLevel::debug : LogLevel::info);
  const AccessLogFile access_log(options.access_log);
  set_log_handler([](LogLevel level, std::string_view line) { log(level, "library", {{"message", line}}); });
  std::optional<ExitTimer> timer;  // outlives all that may have to be waited for
  Service service(options.service, /*start=*/false);
  HttpServer http(service, options.http);
  GrpcServer grpc(service, options.grpc);
  log(LogLevel::info, "listening",
      {{"http", address_of(options.http.address, http.port())},
       {"grpc", address_of(options.grpc.address, grpc.port())},
       {"metrics", address_of(options.http.address, http.metrics_port())},
       {"version", version()}});
  service.start();
  const int signal = signals.wait();
  const Clock::time_point limit = Clock::now() + options.exit_timeout;
  signals.exit_on_next();
  log(LogLevel::info, "draining", {{"signal", std::int64_t{signal}}, {"limit_s", options.exit_timeout.count()}});
  const auto left = [&] {
    return std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(limit - Clock::now()));
  };
  timer.emplace(limit + kAfterExitTimeout);
  service.drain(left());
  grpc.stop(left());
  http.stop(left());
  log(LogLevel::info, "stopped");
}

}  // namespace colonnade::serve
