// SPDX-License-Identifier: Apache-2.0
// What travels over HTTP, without sockets.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/server/http/body.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve::http {

/// HTTP's number for a Code.
int http_status(Code code);

/// Why a request is refused, where HTTP has a number of its own for it (405, 413, ...) or none of Code's fits.
class Problem : public std::runtime_error {
 public:
  Problem(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

struct Field {
  std::string name, value;
};

struct Request {
  std::string method;
  std::string target;  ///< as sent: percent-encoded, with its query
  std::vector<Field> fields;
  bool keep_alive = true;
  Body body;

  /// The first field of this name, whatever its case; null when there is none.
  const std::string* field(std::string_view name) const;
};

/// `Inference-Header-Content-Length`: how long the JSON before binary tensors is. Throws Problem.
std::optional<std::size_t> inference_header_length(const Request& request);

struct Response {
  int status = 200;
  std::string type = "application/json";
  std::vector<std::pair<std::string_view, std::string>> fields;
  std::string text;                                 ///< first in the body
  std::vector<std::span<const std::byte>> parts;    ///< what follows it
  std::vector<std::shared_ptr<const void>> owners;  ///< of the parts
  std::string error;                                ///< for the log
  std::string id;                                   ///< of the inference, for the log
  bool is_encoded = false;                          ///< nothing is left to compress

  std::size_t body_size() const;
};

Response json_response(std::string text, int status = 200);
/// {"error": message}, cut to one line of readable length.
Response error_response(int status, std::string_view message);
/// For the exception under way; what is not meant for clients is named in the log only.
Response error_response_of_exception();

bool equal_ignoring_case(std::string_view a, std::string_view b);
/// The elements of a comma-separated list, trimmed.
std::vector<std::string_view> split_list(std::string_view text);

}  // namespace colonnade::serve::http
