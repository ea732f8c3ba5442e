// SPDX-License-Identifier: Apache-2.0
// A collector of OpenTelemetry traces that keeps what it is told.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace colonnade::test {

class Collector {
 public:
  /// Answers so late with this status.
  explicit Collector(int status = 200, std::chrono::milliseconds delay = {}) : status_(status), delay_(delay) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_, 64);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// All spans, once there are so many; fewer after ten seconds.
  std::vector<nlohmann::json> spans(std::size_t count) {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (spans_.size() >= count) return spans_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const std::lock_guard lock(mutex_);
    return spans_;
  }
  std::string head() const {
    const std::lock_guard lock(mutex_);
    return head_;
  }

 private:
  void run() {
    while (!stopping_) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) continue;
      std::string text;
      char block[4096];
      std::size_t end = std::string::npos, wanted = 0;
      while (end == std::string::npos || text.size() < wanted) {
        const ssize_t count = ::recv(socket, block, sizeof(block), 0);
        if (count <= 0) break;
        text.append(block, static_cast<std::size_t>(count));
        if (end != std::string::npos || (end = text.find("\r\n\r\n")) == std::string::npos) continue;
        wanted = end + 4 + std::stoul(text.substr(text.find("Content-Length: ") + 16));
      }
      for (auto left = delay_; left.count() > 0 && !stopping_; left -= std::chrono::milliseconds(10))
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::string answer = "HTTP/1.1 " + std::to_string(status_) + " X\r\nContent-Length: 2\r\n\r\n{}";
      ::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(socket);
      take(text, end);
    }
  }
  void take(const std::string& text, std::size_t end) {
    if (end == std::string::npos) return;
    const auto message = nlohmann::json::parse(text.substr(end + 4), nullptr, false);
    const std::lock_guard lock(mutex_);
    head_ = text.substr(0, end);
    if (!message.is_object()) return;
    for (const auto& resource : message["resourceSpans"])
      for (const auto& scope : resource["scopeSpans"])
        for (const auto& span : scope["spans"]) spans_.push_back(span);
  }

  const int status_;
  const std::chrono::milliseconds delay_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  ///< of what follows
  std::vector<nlohmann::json> spans_;
  std::string head_;
  std::thread thread_;
};

}  // namespace colonnade::test
