// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/message.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <new>

#include "colonnade/colonnade.hpp"
#include "frontends/server/http/json.hpp"

namespace colonnade::serve::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

/// Of the errors of the library only those that a request can cause are the client's to read.
Code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::invalid_input: return Code::invalid_argument;
    case ErrorCode::unsupported: return Code::unsupported;
    case ErrorCode::resource_limit: return Code::resource_exhausted;
    case ErrorCode::cancelled: return Code::cancelled;
    case ErrorCode::deadline: return Code::deadline_exceeded;
    case ErrorCode::invalid_model:
    case ErrorCode::io:
    case ErrorCode::internal: return Code::internal;
  }
  return Code::internal;
}

constexpr std::size_t kMostMessageBytes = 1000;

/// Names that clients sent are part of messages, whatever they are.
std::string one_line(std::string_view message) {
  std::string line(message.substr(0, kMostMessageBytes));
  if (line.size() < message.size()) line += " ...";
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return line;
}

Response hidden_error(const std::string& what) {
  Response response = error_response(500, "internal error");
  response.error = what;
  return response;
}

}  // namespace

int http_status(Code code) {
  switch (code) {
    case Code::invalid_argument: return 400;
    case Code::not_found: return 404;
    case Code::unauthorized: return 403;
    case Code::too_large: return 413;
    case Code::resource_exhausted:
    case Code::unavailable: return 503;
    case Code::deadline_exceeded: return 504;
    case Code::cancelled: return 499;
    case Code::unsupported: return 501;
    case Code::internal: return 500;
  }
  return 500;
}

const std::string* Request::field(std::string_view name) const {
  for (const Field& field : fields)
    if (equal_ignoring_case(field.name, name)) return &field.value;
  return nullptr;
}

std::optional<std::size_t> inference_header_length(const Request& request) {
  const std::string* text = request.field("Inference-Header-Content-Length");
  if (!text) return std::nullopt;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc() || end != text->data() + text->size() || text->empty())
    throw Problem(400, "Inference-Header-Content-Length: expected a number of bytes, found " + json_text(*text));
  return length;
}

std::size_t Response::body_size() const {
  std::size_t size = text.size();
  for (const auto& part : parts) size += part.size();
  return size;
}

Response json_response(std::string text, int status) {
  Response response;
  response.status = status;
  response.text = std::move(text);
  return response;
}

Response error_response(int status, std::string_view message) {
  std::string line = one_line(message);
  Response response = json_response("{\"error\":" + json_text(line) + "}", status);
  response.error = std::move(line);
  return response;
}

Response error_response_of_exception() {
  try {
    throw;
  } catch (const Problem& problem) {
    return error_response(problem.status(), problem.what());
  } catch (const Failure& failure) {
    return error_response(http_status(failure.code()), failure.what());
  } catch (const Error& error) {
    const Code code = code_of(error.code());
    return code == Code::internal ? hidden_error(error.what()) : error_response(http_status(code), error.what());
  } catch (const std::bad_alloc&) {
    return error_response(503, "out of memory");
  } catch (const std::exception& error) {
    return hidden_error(error.what());
  }
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) part.remove_prefix(1);
    while (!part.empty() && (part.back() == ' ' || part.back() == '\t')) part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace colonnade::serve::http
