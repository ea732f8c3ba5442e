// SPDX-License-Identifier: Apache-2.0
// Sends one HTTP request again and again over some connections, and prints throughput and latencies as JSON.
//
// Closed loop: each connection sends when it was answered. Open loop (--rate): requests are due at times of that rate,
// random (--arrivals poisson) or evenly spaced (constant), whatever the server does, and latency counts from the due
// time. One thread a processor it may run on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
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
  bool is_even = false;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(errno != 0 ? what + ": " + std::strerror(errno) : what);
}

/// A request at a time, without blocking: `advance` sends and receives what can be at once.
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
    ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
    buffer_.resize(std::size_t{1} << 16);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { ::close(socket_); }

  int socket() const { return socket_; }
  Clock::time_point due() const { return due_; }
  bool is_busy() const { return is_busy_; }

  /// `request` must outlive the answer.
  void start(std::string_view request, Clock::time_point due) {
    unsent_ = request;
    due_ = due;
    got_ = 0;
    total_ = 0;
    is_busy_ = true;
  }

  /// The status of the answer when it is complete, else 0.
  int advance() {
    while (!unsent_.empty()) {
      const ssize_t count = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) return 0;
      if (count <= 0) fail("send");
      unsent_.remove_prefix(static_cast<std::size_t>(count));
    }
    while (total_ == 0 || got_ < total_) {
      // What a body says is of no interest: it is written over.
      const std::size_t at = total_ == 0 ? got_ : 0;
      const ssize_t count = ::recv(socket_, buffer_.data() + at, buffer_.size() - at, 0);
      if (count < 0 && errno == EAGAIN) return 0;
      if (count <= 0) fail(at == buffer_.size() ? "the answer's head is too long" : "the server closed the connection");
      got_ += static_cast<std::size_t>(count);
      if (total_ == 0) read_head();
    }
    is_busy_ = false;
    return status_;
  }

 private:
  void read_head() {
    const std::string_view text(buffer_.data(), got_);
    const std::size_t head = text.find("\r\n\r\n");
    if (head == std::string_view::npos) return;
    total_ = head + 4 + content_length(text.substr(0, head));
    status_ = std::atoi(buffer_.data() + std::strlen("HTTP/1.1 "));
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
  std::string_view unsent_;
  Clock::time_point due_;
  std::size_t got_ = 0, total_ = 0;  ///< bytes of the answer; in total 0 until its head is there
  int status_ = 0;
  bool is_busy_ = false;
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

/// When requests are due: at random or even times of a rate, or at once when there is none.
class Schedule {
 public:
  Schedule(double rate, bool is_even, Clock::time_point start, std::uint64_t seed)
      : rate_(rate), is_even_(is_even), next_(start), generator_(seed) {}
  bool is_open() const { return rate_ > 0; }
  /// The next due time, if that is not after `now`.
  std::optional<Clock::time_point> take(Clock::time_point now) {
    if (!is_open()) return now;
    if (next_ > now) return std::nullopt;
    const std::chrono::duration<double> gap((is_even_ ? 1 : -std::log(1 - uniform_(generator_))) / rate_);
    return std::exchange(next_, next_ + std::chrono::duration_cast<Clock::duration>(gap));
  }

 private:
  double rate_;
  bool is_even_;
  Clock::time_point next_;
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> uniform_{0, 1};
};

struct Result {
  std::vector<double> milliseconds;
  std::map<int, int> statuses;
};

struct Window {
  Clock::time_point from, until;  ///< of the due times that count
};

/// One thread's connections. With a rate it polls without sleeping, as waking up would be part of what is measured: it
/// should have a processor of its own.
class Sender {
 public:
  Sender(const Settings& settings, const std::string& request, int connections, Schedule schedule)
      : request_(request), schedule_(std::move(schedule)), poll_(::epoll_create1(0)) {
    if (poll_ < 0) fail("epoll_create1");
    for (int i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<Connection>(settings.port));
      idle_.push_back(connections_.back().get());
      epoll_event event{EPOLLIN | EPOLLOUT | EPOLLET, {.ptr = idle_.back()}};
      if (::epoll_ctl(poll_, EPOLL_CTL_ADD, idle_.back()->socket(), &event) != 0) fail("epoll_ctl");
    }
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() { ::close(poll_); }

  Result run(const Window& window) {
    while (true) {
      start_due(window);
      if (is_over_ && idle_.size() == connections_.size()) return std::move(result_);
      std::array<epoll_event, 64> events;
      const int count =
          ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), schedule_.is_open() ? 0 : -1);
      if (count < 0 && errno != EINTR) fail("epoll_wait");
      for (int i = 0; i < count; ++i)
        advance(*static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr), window);
    }
  }

 private:
  void start_due(const Window& window) {
    while (!idle_.empty() && !is_over_) {
      const std::optional<Clock::time_point> due = schedule_.take(Clock::now());
      if (!due) return;
      is_over_ = *due >= window.until;
      if (is_over_) return;
      Connection& connection = *idle_.back();
      idle_.pop_back();
      connection.start(request_, *due);
      advance(connection, window);
    }
  }

  void advance(Connection& connection, const Window& window) {
    if (!connection.is_busy()) return;
    const int status = connection.advance();
    if (status == 0) return;
    idle_.push_back(&connection);
    if (connection.due() < window.from) return;
    ++result_.statuses[status];
    result_.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - connection.due()).count());
  }

  const std::string& request_;
  Schedule schedule_;
  int poll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> idle_;
  bool is_over_ = false;
  Result result_;
};

/// Part `index` of `count` things that `parts` share evenly.
int share(int count, int parts, int index) { return count / parts + (index < count % parts ? 1 : 0); }

int allowed_processors() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

nlohmann::json measure(const Settings& settings) {
  const std::string request = request_of(settings);
  const Clock::time_point start = Clock::now();
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
  };
  const Clock::time_point from = start + seconds(settings.warm_up_seconds), until = from + seconds(settings.seconds);
  const int senders = std::clamp(allowed_processors(), 1, settings.connections);
  std::vector<Result> results(static_cast<std::size_t>(senders));
  std::mutex mutex;
  std::string failure;
  std::vector<std::thread> threads;
  for (int i = 0; i < senders; ++i)
    threads.emplace_back([&, i] {
      try {
        const Clock::time_point first = settings.rate > 0 ? start + seconds(i / settings.rate) : start;
        Schedule schedule(settings.rate / senders, settings.is_even, first, static_cast<std::uint64_t>(i));
        Sender sender(settings, request, share(settings.connections, senders, i), std::move(schedule));
        results[static_cast<std::size_t>(i)] = sender.run({from, until});
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
    else if (key == "--arrivals" && (value == "poisson" || value == "constant"))
      settings.is_even = value == "constant";
    else
      throw std::runtime_error("unknown option " + key + " " + value);
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
