// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/json_reader.hpp"

#include <fmt/core.h>

#include "frontends/server/http/json.hpp"

namespace colonnade::serve::http {
namespace {

using simdjson::dom::element_type;

/// The parser's memory is several times the text's; beyond this it is given back after each request.
constexpr std::size_t kMostKeptBytes = std::size_t{4} << 20;

static_assert(Body::kPadding >= simdjson::SIMDJSON_PADDING);

/// The first word outside of strings that JSON does not know (NaN, Infinity, None), and where; "" when there is none.
std::pair<std::string_view, std::size_t> unknown_word(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_string = !is_string;
    if (is_string) i += text[i] == '\\' ? 1 : 0;
    if (is_string || !is_letter(text[i])) continue;
    const std::size_t begin = i;
    while (i + 1 < text.size() && is_letter(text[i + 1])) ++i;
    const std::string_view word = text.substr(begin, i + 1 - begin);
    const bool is_exponent = begin > 0 && (word == "e" || word == "E");
    if (!is_exponent && word != "true" && word != "false" && word != "null") return {word, begin};
  }
  return {};
}

[[noreturn]] void fail_syntax(std::string_view text, simdjson::error_code error) {
  constexpr std::size_t kMostShown = 20;
  const auto [word, at] = unknown_word(text);
  if (word.empty() && error == simdjson::NUMBER_ERROR)
    throw Problem(400, "invalid JSON: a number is malformed or out of range");
  if (word.empty()) throw Problem(400, fmt::format("invalid JSON: {}", simdjson::error_message(error)));
  const bool is_number = word == "NaN" || word == "Infinity" || word == "nan" || word == "inf" || word == "Inf";
  throw Problem(400, fmt::format("invalid JSON: found '{}' at byte {}{}", word.substr(0, kMostShown), at,
                                 is_number ? "; JSON has no such number, binary data has" : ""));
}

}  // namespace

JsonParser& thread_json_parser() {
  thread_local JsonParser parser;
  return parser;
}

Json JsonParser::parse(std::span<const std::byte> text, int deepest) {
  if (text.empty()) throw Problem(400, "expected JSON, found an empty body");
  const auto depth = static_cast<std::size_t>(deepest);
  if ((parser_.max_depth() != depth || parser_.capacity() < text.size()) &&
      parser_.allocate(std::max<std::size_t>(text.size(), 65536), depth) != simdjson::SUCCESS)
    throw std::bad_alloc();
  Json root;
  const auto error = parser_.parse(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), false).get(root);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error == simdjson::DEPTH_ERROR) throw Problem(400, fmt::format("the JSON is nested deeper than {}", deepest));
  if (error != simdjson::SUCCESS) fail_syntax({reinterpret_cast<const char*>(text.data()), text.size()}, error);
  return root;
}

void JsonParser::trim() {
  if (parser_.capacity() > kMostKeptBytes) parser_ = simdjson::dom::parser();
}

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case element_type::ARRAY: return "an array";
    case element_type::OBJECT: return "an object";
    case element_type::INT64:
    case element_type::UINT64: return "an integer";
    case element_type::DOUBLE: return "a number with a fraction or exponent";
    case element_type::STRING: return "a string";
    case element_type::BOOL: return "a boolean";
    case element_type::NULL_VALUE: return "null";
  }
  return "something else";
}

void fail_expected(std::string_view where, std::string_view expected, const Json& found) {
  throw Problem(400, fmt::format("{}: expected {}, found {}", where, expected, kind_of(found)));
}

std::string_view string_of(const Json& value, std::string_view where) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) fail_expected(where, "a string", value);
  return text;
}

bool bool_of(const Json& value, std::string_view where) {
  bool flag = false;
  if (value.get(flag) != simdjson::SUCCESS) fail_expected(where, "true or false", value);
  return flag;
}

std::int64_t integer_of(const Json& value, std::string_view where) {
  std::int64_t number = 0;
  const auto error = value.get(number);
  if (error == simdjson::NUMBER_OUT_OF_RANGE) throw Problem(400, fmt::format("{}: the integer is too large", where));
  if (error != simdjson::SUCCESS) fail_expected(where, "an integer", value);
  return number;
}

simdjson::dom::array array_of(const Json& value, std::string_view where) {
  simdjson::dom::array array;
  if (value.get(array) != simdjson::SUCCESS) fail_expected(where, "an array", value);
  return array;
}

simdjson::dom::object object_of(const Json& value, std::string_view where) {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) fail_expected(where, "an object", value);
  return object;
}

Parameters parameters_of(const Json& value, std::string_view where) {
  Parameters parameters;
  for (const auto& [key, each] : object_of(value, where)) {
    Parameter parameter;
    switch (each.type()) {
      case element_type::BOOL: parameter = bool_of(each, where); break;
      case element_type::INT64: parameter = integer_of(each, where); break;
      case element_type::UINT64:
      case element_type::DOUBLE: {
        double number = 0;
        if (each.get(number) != simdjson::SUCCESS) fail_expected(where, "a number", each);
        parameter = number;
        break;
      }
      case element_type::STRING: parameter = std::string(string_of(each, where)); break;
      default: fail_expected(fmt::format("{}: {}", where, json_text(key)), "a boolean, number or string", each);
    }
    if (!parameters.emplace(key, std::move(parameter)).second)
      throw Problem(400, fmt::format("{}: {} appears twice", where, json_text(key)));
  }
  return parameters;
}

void Keys::meet(unsigned bit, std::string_view key) {
  if (has_met(bit)) throw Problem(400, fmt::format("{}: \"{}\" appears twice", where_, key));
  met_ |= 1u << bit;
}

}  // namespace colonnade::serve::http
