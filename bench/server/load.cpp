// SPDX-License-Identifier: Apache-2.0
// Sends one HTTP request again and again over some connections, and prints throughput and latencies as JSON.
//
// Closed loop: each connection sends when it was answered. Open loop (--rate): requests are due at random times of that
// rate whatever the server does, and latency counts from the due time.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  int port = 8000;
  std::string path = "/";
  std::string body_file;
  std::vector<std::string> headers;
  int connections = 8;
  double seconds = 3;
  double warm_up_seconds = 1;
  double rate = 0;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(errno != 0 ? what + ": " + std::strerror(errno) : what);
}

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (socket_ < 0) fail("socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
    const int yes = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    buffer_.resize(std::size_t{1} << 16);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  /// The status of the answer.
  int exchange(const std::string& request) {
    send_all(request);
    std::size_t got = 0;
    std::string_view text;
    std::size_t head = std::string_view::npos;
    while (head == std::string_view::npos) {
      got += receive(got);
      text = {buffer_.data(), got};
      head = text.find("\r\n\r\n");
    }
    const std::size_t total = head + 4 + content_length(text.substr(0, head));
    const int status = std::atoi(buffer_.data() + std::strlen("HTTP/1.1 "));
    while (got < total) got += receive(0);  // what the body says is of no interest
    return status;
  }

 private:
  void send_all(const std::string& bytes) const {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) fail("send");
      sent += static_cast<std::size_t>(count);
    }
  }

  std::size_t receive(std::size_t at) {
    if (at == buffer_.size()) fail("the answer's head is too long");
    const ssize_t count = ::recv(socket_, buffer_.data() + at, buffer_.size() - at, 0);
    if (count <= 0) fail("the server closed the connection");
    return static_cast<std::size_t>(count);
  }

  static std::size_t content_length(std::string_view head) {
    std::string lower(head);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string key = "\r\ncontent-length:";
    const std::size_t at = lower.find(key);
    if (at == std::string::npos) fail("no content-length in the answer");
    return std::strtoull(lower.c_str() + at + key.size(), nullptr, 10);
  }

  int socket_;
  std::vector<char> buffer_;
};

std::string request_of(const Settings& settings) {
  std::ifstream file(settings.body_file, std::ios::binary);
  if (!file) fail("cannot read " + settings.body_file);
  std::stringstream body;
  body << file.rdbuf();
  std::string request = "POST " + settings.path +
                        " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.str().size()) + "\r\n";
  for (const std::string& header : settings.headers) request += header + "\r\n";
  return request + "\r\n" + body.str();
}

/// Times that are due, shared by all connections; at once when there is no rate.
class Schedule {
 public:
  Schedule(double rate, Clock::time_point start) : rate_(rate), next_(start) {}
  Clock::time_point next() {
    if (rate_ <= 0) return Clock::now();
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> gap(-std::log(1 - uniform_(generator_)) / rate_);
    return next_ += std::chrono::duration_cast<Clock::duration>(gap);
  }

 private:
  double rate_;
  Clock::time_point next_;
  std::mutex mutex_;
  std::mt19937_64 generator_{1};
  std::uniform_real_distribution<double> uniform_{0, 1};
};

struct Result {
  std::vector<double> milliseconds;
  std::map<int, int> statuses;
};

Result send_some(const Settings& settings, const std::string& request, Schedule& schedule, Clock::time_point from,
                 Clock::time_point until) {
  Result result;
  Connection connection(settings.port);
  for (Clock::time_point due = schedule.next(); due < until; due = schedule.next()) {
    std::this_thread::sleep_until(due);
    const int status = connection.exchange(request);
    if (due < from) continue;
    ++result.statuses[status];
    result.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - due).count());
  }
  return result;
}

nlohmann::json measure(const Settings& settings) {
  const std::string request = request_of(settings);
  const Clock::time_point start = Clock::now();
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  };
  const Clock::time_point from = start + seconds(settings.warm_up_seconds), until = from + seconds(settings.seconds);
  Schedule schedule(settings.rate, start);
  std::vector<Result> results(static_cast<std::size_t>(settings.connections));
  std::mutex mutex;
  std::string failure;
  std::vector<std::thread> threads;
  for (Result& result : results)
    threads.emplace_back([&] {
      try {
        result = send_some(settings, request, schedule, from, until);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        failure = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw std::runtime_error(failure);
  std::vector<double> all;
  std::map<std::string, int> statuses;
  for (const Result& result : results) {
    all.insert(all.end(), result.milliseconds.begin(), result.milliseconds.end());
    for (const auto& [status, count] : result.statuses) statuses[std::to_string(status)] += count;
  }
  if (all.empty()) throw std::runtime_error("no request was answered in time");
  std::sort(all.begin(), all.end());
  const auto quantile = [&](double q) {
    return all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))];
  };
  return {{"requests", all.size()},
          {"seconds", settings.seconds},
          {"requests_per_second", static_cast<double>(all.size()) / settings.seconds},
          {"statuses", statuses},
          {"p50_ms", quantile(0.5)},
          {"p90_ms", quantile(0.9)},
          {"p99_ms", quantile(0.99)},
          {"max_ms", all.back()}};
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--port")
      settings.port = std::stoi(value);
    else if (key == "--path")
      settings.path = value;
    else if (key == "--body")
      settings.body_file = value;
    else if (key == "--header")
      settings.headers.push_back(value);
    else if (key == "--connections")
      settings.connections = std::stoi(value);
    else if (key == "--seconds")
      settings.seconds = std::stod(value);
    else if (key == "--warm-up")
      settings.warm_up_seconds = std::stod(value);
    else if (key == "--rate")
      settings.rate = std::stod(value);
    else
      throw std::runtime_error("unknown option " + key);
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::puts(measure(parse(argc, argv)).dump().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "colonnade-load: %s\n", error.what());
    return 1;
  }
}
