// SPDX-License-Identifier: Apache-2.0
// A client of raw bytes, so that it can be as wrong as a test wants.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace colonnade::test {

struct Answer {
  int status = 0;                             ///< 0: the connection ended without an answer
  std::map<std::string, std::string> fields;  ///< names in lower case
  std::string body;

  /// What {"error": ...} says; "" when it does not.
  std::string error() const;
};

class Client {
 public:
  explicit Client(int port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False when the server has closed.
  bool send(std::string_view bytes);
  /// The next answer, after any `100 Continue`, which is counted.
  Answer receive(std::string_view method = "GET");
  /// All in one, on a connection that stays open.
  Answer ask(std::string_view method, std::string_view path, std::string_view body = "",
             std::string_view more_fields = "");
  /// True when the server closes within seconds without sending more.
  bool is_closed();
  /// Says that nothing more will be sent.
  void end();
  /// Closes so that the server sees a reset.
  void reset();
  int continues() const { return continues_; }

 private:
  bool fill();

  int socket_ = -1;
  int continues_ = 0;
  std::string pending_;
};

std::string request_text(std::string_view method, std::string_view path, std::string_view body = "",
                         std::string_view more_fields = "");
/// The same with the body in chunks of this many bytes.
std::string chunked_text(std::string_view path, std::string_view body, std::size_t chunk_bytes);

}  // namespace colonnade::test
