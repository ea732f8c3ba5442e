// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/otlp.hpp"

#include <fmt/core.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "colonnade/colonnade.hpp"
#include "frontends/server/status.hpp"
#include "frontends/server/trace_context.hpp"

namespace colonnade::serve {
namespace {

using nlohmann::json;

constexpr int kInternal = 1, kServer = 2;  ///< kinds of spans
constexpr int kError = 2;                  ///< status of a span

json attribute(const char* key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}
json attribute(const char* key, std::int64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

json span_of(const RequestTrace& trace, const std::string& id, const std::string& parent, const char* name,
             std::int64_t begin, std::int64_t end) {
  json span = {{"traceId", trace.trace_id},
               {"spanId", id},
               {"name", name},
               {"kind", kInternal},
               {"startTimeUnixNano", std::to_string(begin)},
               {"endTimeUnixNano", std::to_string(std::max(begin, end))}};
  if (!parent.empty()) span["parentSpanId"] = parent;
  return span;
}

void add_spans(json& spans, const RequestTrace& trace) {
  json request = span_of(trace, trace.span_id, trace.parent_id, "request", trace.received, trace.ended);
  request["kind"] = kServer;
  request["attributes"] = {attribute("model", trace.model), attribute("network.protocol.name", trace.protocol)};
  if (trace.version > 0) request["attributes"].push_back(attribute("version", trace.version));
  request["attributes"].push_back(attribute("status", trace.problem.empty() ? "ok" : "error"));
  if (!trace.problem.empty()) request["status"] = {{"code", kError}, {"message", trace.problem}};
  spans.push_back(std::move(request));
  if (trace.began == 0) return;
  spans.push_back(span_of(trace, random_id(16), trace.span_id, "queue", trace.queued, trace.began));
  json compute = span_of(trace, random_id(16), trace.span_id, "compute", trace.began, trace.computed);
  compute["attributes"] = json::array({attribute("batch_size", trace.batch)});
  spans.push_back(std::move(compute));
}

/// Closed with this.
class Socket {
 public:
  explicit Socket(const addrinfo& place)
      : file_(::socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC, place.ai_protocol)) {
    const timeval patience{Collector::kPatience.count(), 0};
    ::setsockopt(file_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));  // connect's too
    ::setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (file_ >= 0) ::close(file_);
  }
  int file() const { return file_; }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  /// The first so many bytes of the answer, or fewer.
  std::string receive(std::size_t most) const {
    std::string text(most, '\0');
    std::size_t got = 0;
    while (got < most) {
      const ssize_t count = ::recv(file_, text.data() + got, most - got, 0);
      if (count <= 0) break;
      got += static_cast<std::size_t>(count);
    }
    text.resize(got);
    return text;
  }

 private:
  const int file_;
};

/// Of "HTTP/1.1 200".
bool is_success(std::string_view line) { return line.size() == 12 && line.starts_with("HTTP/1.") && line[9] == '2'; }

}  // namespace

CollectorAddress collector_address(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  const auto refuse = [&url]() { reject(fmt::format("traces: expected http://HOST[:PORT][/PATH], found '{}'", url)); };
  if (!url.starts_with(kScheme)) refuse();
  std::string rest = url.substr(kScheme.size());
  for (const unsigned char c : rest)
    if (c <= ' ' || c >= 0x7f) refuse();
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  CollectorAddress address{rest.substr(0, slash), "4318", rest.substr(slash)};
  const std::size_t bracket = address.host.find(']'), colon = address.host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    address.port = address.host.substr(colon + 1);
    address.host.resize(colon);
  }
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  if (address.path.empty() || address.path == "/") address.path = "/v1/traces";
  const bool is_number = address.port.find_first_not_of("0123456789") == std::string::npos;
  if (address.host.empty() || address.port.empty() || address.port.size() > 5 || !is_number) refuse();
  return address;
}

std::string otlp_json(std::span<const RequestTrace> traces) {
  json spans = json::array();
  for (const RequestTrace& trace : traces) add_spans(spans, trace);
  const json resource = {
      {"attributes", {attribute("service.name", "colonnade"), attribute("service.version", std::string(version()))}}};
  const json scope = {{"scope", {{"name", "colonnade.serve"}}}, {"spans", std::move(spans)}};
  const json message = {
      {"resourceSpans", json::array({{{"resource", resource}, {"scopeSpans", json::array({scope})}}})}};
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string Collector::post(const CollectorAddress& address, const std::string& body) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); error != 0)
    return ::gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(found, &::freeaddrinfo);
  std::string problem = "no address";
  for (const addrinfo* place = found; place != nullptr; place = place->ai_next) {
    const Socket socket(*place);
    const bool is_connected = use(socket.file()) && ::connect(socket.file(), place->ai_addr, place->ai_addrlen) == 0;
    problem = is_connected ? "" : std::strerror(errno);
    if (is_connected) {
      const bool is_sent =
          socket.send(fmt::format("POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\n"
                                  "Content-Length: {}\r\nConnection: close\r\n\r\n",
                                  address.path, address.host, address.port, body.size())) &&
          socket.send(body);
      const std::string line = is_sent ? socket.receive(12) : "";
      if (!is_success(line)) problem = line.empty() ? "no answer in time" : "answered '" + line + "'";
    }
    use(-1);
    if (is_connected) break;
  }
  return problem;
}

bool Collector::use(int socket) {
  const std::lock_guard lock(mutex_);
  socket_ = socket;
  return !is_interrupted_;
}

void Collector::interrupt() {
  const std::lock_guard lock(mutex_);
  is_interrupted_ = true;
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

}  // namespace colonnade::serve
