// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/write_head.hpp"

#include <fmt/format.h>

namespace colonnade::serve::http {
namespace {

/// Shorter bodies fit a packet anyway.
constexpr std::size_t kLeastCompressedBytes = 1400;

std::string_view reason_of(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

void compress_body(Response& response, Coding coding) {
  std::vector<std::span<const std::byte>> parts = {std::as_bytes(std::span(response.text))};
  parts.insert(parts.end(), response.parts.begin(), response.parts.end());
  response.text = compress(coding, parts);
  response.parts.clear();
  response.owners.clear();
  response.fields.emplace_back("Content-Encoding", name_of(coding));
}

}  // namespace

Accepting accepting_of(const Request& request) {
  const std::string* accepted = request.field("Accept-Encoding");
  return {accepted ? preferred_coding(*accepted) : Coding::identity};
}

void encode(Response& response, const Accepting& accepting) {
  if (std::exchange(response.is_encoded, true)) return;
  if (accepting.coding != Coding::identity && response.body_size() >= kLeastCompressedBytes)
    compress_body(response, accepting.coding);
}

std::string head_of(const Response& response, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  if (response.status != 204)
    fmt::format_to(std::back_inserter(head), "Content-Type: {}\r\nContent-Length: {}\r\n", response.type,
                   response.body_size());
  for (const auto& [name, value] : response.fields) fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
  fmt::format_to(std::back_inserter(head), "Connection: {}\r\n\r\n", keep_alive ? "keep-alive" : "close");
  return head;
}

}  // namespace colonnade::serve::http
