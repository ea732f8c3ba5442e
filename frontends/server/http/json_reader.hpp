// SPDX-License-Identifier: Apache-2.0
// Reading JSON strictly: every value is named in the message when it is not what was expected.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "frontends/server/http/message.hpp"
#include "frontends/server/inference.hpp"

namespace colonnade::serve::http {

using Json = simdjson::dom::element;

/// Parses the whole text and hands its root to `use`; what that keeps must be copied. The text must be followed by
/// Body::kPadding readable bytes. Throws Problem (400).
template <class Use>
void with_json(std::span<const std::byte> text, int deepest, Use&& use);

/// "a number", "an object", ...
std::string_view kind_of(const Json& value);
[[noreturn]] void fail_expected(std::string_view where, std::string_view expected, const Json& found);

/// `where` names the value in messages.
std::string_view string_of(const Json& value, std::string_view where);
bool bool_of(const Json& value, std::string_view where);
std::int64_t integer_of(const Json& value, std::string_view where);
simdjson::dom::array array_of(const Json& value, std::string_view where);
simdjson::dom::object object_of(const Json& value, std::string_view where);
/// An object of booleans, numbers and strings.
Parameters parameters_of(const Json& value, std::string_view where);

/// Keys that may appear once.
class Keys {
 public:
  explicit Keys(std::string_view where) : where_(where) {}
  /// Throws when this key has been met. `bit` numbers the keys of an object.
  void meet(unsigned bit, std::string_view key);
  bool has_met(unsigned bit) const { return (met_ >> bit) & 1u; }

 private:
  std::string where_;
  std::uint32_t met_ = 0;
};

/// One a thread: its memory is used again, unless it has become large.
class JsonParser {
 public:
  Json parse(std::span<const std::byte> text, int deepest);
  void trim();

 private:
  simdjson::dom::parser parser_;
};
JsonParser& thread_json_parser();

template <class Use>
void with_json(std::span<const std::byte> text, int deepest, Use&& use) {
  struct Trim {
    JsonParser& parser;
    ~Trim() { parser.trim(); }
  } trim{thread_json_parser()};
  use(trim.parser.parse(text, deepest));
}

}  // namespace colonnade::serve::http
