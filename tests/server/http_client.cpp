// SPDX-License-Identifier: Apache-2.0
#include "http_client.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace colonnade::test {
namespace {

constexpr int kPatienceSeconds = 10;

Answer parse_head(std::string_view head) {
  Answer answer;
  answer.status = std::stoi(std::string(head.substr(9, 3)));
  for (std::size_t at = head.find("\r\n"); at + 2 < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at + 2), head.size());
    const std::string_view line = head.substr(at + 2, end - at - 2);
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) {
      std::string name(line.substr(0, colon));
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      answer.fields[name] = line.substr(colon + 2);
    }
    at = end;
  }
  return answer;
}

}  // namespace

std::string Answer::error() const {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  return json.is_object() && json.size() == 1 && json.contains("error") ? json["error"].get<std::string>() : "";
}

Client::Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    ADD_FAILURE() << "cannot connect to port " << port;
}

Client::~Client() { ::close(socket_); }

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Client::fill() {
  char block[65536];
  const ssize_t count = ::recv(socket_, block, sizeof(block), 0);
  if (count <= 0) return false;
  pending_.append(block, static_cast<std::size_t>(count));
  return true;
}

Answer Client::receive(std::string_view method) {
  std::size_t end = 0;
  while ((end = pending_.find("\r\n\r\n")) == std::string::npos)
    if (!fill()) return {};
  Answer answer = parse_head(std::string_view(pending_).substr(0, end));
  pending_.erase(0, end + 4);
  if (answer.status == 100) {
    ++continues_;
    return receive(method);
  }
  if (method == "HEAD" || !answer.fields.contains("content-length")) return answer;
  const std::size_t size = std::stoul(answer.fields["content-length"]);
  while (pending_.size() < size)
    if (!fill()) return {};
  answer.body = pending_.substr(0, size);
  pending_.erase(0, size);
  return answer;
}

Answer Client::ask(std::string_view method, std::string_view path, std::string_view body,
                   std::string_view more_fields) {
  send(request_text(method, path, body, more_fields));
  return receive(method);
}

bool Client::is_closed() {
  errno = 0;
  return pending_.empty() && !fill() && errno != EAGAIN;
}

void Client::end() { ::shutdown(socket_, SHUT_WR); }

void Client::reset() {
  const linger now{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  ::close(socket_);
  socket_ = -1;
}

std::string request_text(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view more_fields) {
  const bool has_length = !body.empty() || method == "POST";
  return fmt::format("{} {} HTTP/1.1\r\nHost: test\r\n{}{}\r\n{}", method, path, more_fields,
                     has_length ? fmt::format("Content-Length: {}\r\n", body.size()) : "", body);
}

std::string chunked_text(std::string_view path, std::string_view body, std::size_t chunk_bytes) {
  std::string text = fmt::format("POST {} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n", path);
  for (std::size_t at = 0; at < body.size(); at += chunk_bytes) {
    const std::string_view chunk = body.substr(at, chunk_bytes);
    text += fmt::format("{:x}\r\n{}\r\n", chunk.size(), chunk);
  }
  return text + "0\r\n\r\n";
}

}  // namespace colonnade::test
