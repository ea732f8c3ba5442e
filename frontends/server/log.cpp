// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/log.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

constexpr std::size_t kMostQueued = std::size_t{8} << 20;
constexpr std::chrono::milliseconds kGatherFor{50};

std::atomic<LogLevel> least_level{LogLevel::info};

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: break;
  }
  return "error";
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// A JSON object that grows by fields, in order. Bytes that are no UTF-8 are replaced.
class LogLine {
 public:
  explicit LogLine(std::string& out) : out_(out) {
    const auto now = std::chrono::system_clock::now();
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    fmt::format_to(std::back_inserter(out_), "{{\"time\":\"{:%FT%T}.{:03}Z\"", fmt::gmtime(seconds), ms);
  }

  void add(std::string_view key, const LogValue& value) {
    out_ += ",\"";
    out_ += key;
    out_ += "\":";
    if (const auto* text = std::get_if<std::string_view>(&value)) {
      out_ += nlohmann::json(*text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    } else if (const auto* number = std::get_if<std::int64_t>(&value)) {
      fmt::format_to(std::back_inserter(out_), "{}", *number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      fmt::format_to(std::back_inserter(out_), "{:.6g}", *real);
    } else {
      out_ += std::get<bool>(value) ? "true" : "false";
    }
  }

  void end() { out_ += "}\n"; }

 private:
  std::string& out_;
};

/// Lines on their way to a file, written by a thread of their own.
class AccessLog {
 public:
  explicit AccessLog(int file) : file_(file), writer_([this] { work(); }) {}
  ~AccessLog() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    writer_.join();
    if (file_ != STDOUT_FILENO) ::close(file_);
  }

  void add(const Access& access) {
    const std::lock_guard lock(mutex_);
    if (queued_.size() > kMostQueued) {
      ++lost_;
      return;
    }
    if (queued_.empty()) changed_.notify_one();
    LogLine line(queued_);
    line.add("protocol", access.protocol);
    line.add("peer", access.peer);
    line.add("method", access.method);
    if (!access.path.empty()) line.add("path", access.path);
    line.add("status", std::int64_t{access.status});
    if (!access.id.empty()) line.add("id", access.id);
    line.add("bytes_in", static_cast<std::int64_t>(access.bytes_in));
    line.add("bytes_out", static_cast<std::int64_t>(access.bytes_out));
    line.add("ms", std::chrono::duration<double, std::milli>(access.took).count());
    line.end();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!ending_ || !queued_.empty()) {
      changed_.wait(lock, [&] { return ending_ || !queued_.empty(); });
      changed_.wait_for(lock, kGatherFor, [&] { return ending_; });
      std::string lines;
      lines.swap(queued_);
      const std::int64_t lost = lost_;
      lost_ = 0;
      lock.unlock();
      write_all(file_, lines);
      if (lost > 0) log(LogLevel::warning, "access log is too slow", {{"lost", lost}});
      lock.lock();
    }
  }

  const int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string queued_;
  std::int64_t lost_ = 0;
  bool ending_ = false;
  std::thread writer_;
};

std::atomic<AccessLog*> access_log{nullptr};
thread_local const LogAbout* about = nullptr;

}  // namespace

LogAbout::LogAbout(const std::string& model, std::int64_t version) : model_(model), version_(version), outer_(about) {
  about = this;
}

LogAbout::~LogAbout() { about = outer_; }

void set_log_level(LogLevel level) { least_level = level; }

void log(LogLevel level, std::string_view event, LogFields fields) {
  if (level < least_level.load(std::memory_order_relaxed)) return;
  std::string text;
  LogLine line(text);
  line.add("level", name_of(level));
  line.add("event", event);
  const bool names_model = std::any_of(fields.begin(), fields.end(), [](const auto& f) { return f.first == "model"; });
  if (about != nullptr && !names_model) {
    line.add("model", about->model_);
    line.add("version", about->version_);
  }
  for (const auto& [key, value] : fields) line.add(key, value);
  line.end();
  write_all(STDERR_FILENO, text);
}

void open_access_log(const std::string& path) {
  close_access_log();
  if (path.empty()) return;
  const int file = path == "-" ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) throw Failure(Code::invalid_argument, fmt::format("access log '{}': {}", path, std::strerror(errno)));
  access_log = new AccessLog(file);
}

bool has_access_log() { return access_log.load(std::memory_order_acquire) != nullptr; }

void log_access(const Access& access) {
  if (AccessLog* const target = access_log.load(std::memory_order_acquire)) target->add(access);
}

void close_access_log() { delete access_log.exchange(nullptr); }

}  // namespace colonnade::serve
