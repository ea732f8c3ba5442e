// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and tables as text, and the reverse.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::cli {

using Json = nlohmann::ordered_json;

/// "1.50 MiB"; exact below one KiB.
std::string human_bytes(double bytes);
/// "12.3 ms", "4.56 us" or "1.20 s".
std::string human_ms(double ms);
/// "3.47 G", "12.0 M"; plain below one thousand.
std::string human_count(double count);
/// "1x3x224x224", "?" for open dimensions, "scalar" for rank 0.
std::string shape_text(const Shape& shape);
/// Cut to `width` characters, the middle replaced by "..".
std::string shortened(std::string_view text, std::size_t width);
/// Line breaks and control characters become spaces.
std::string one_line(std::string_view text);

/// "64M" -> 67108864; suffixes K, M, G (powers of 1024). Throws Error{invalid_argument}.
std::size_t parse_bytes(const std::string& text);
/// "1x3x224x224" (commas work too). Throws Error{invalid_argument}.
Shape parse_shape(const std::string& text);

/// Members of an object as finite numbers or text, with a fallback for whatever is absent or of another type.
double number_in(const Json& object, const char* key, double otherwise = 0);
std::string text_in(const Json& object, const char* key, const std::string& otherwise = "");
/// The array under `key`; empty when absent.
const Json& array_in(const Json& object, const char* key);
/// "1x3x224x224" of the "shape" that an object of Model::describe holds, and its "columns" as a phrase.
std::string shape_in(const Json& object);
std::string columns_in(const Json& segment);
/// Parses JSON of the library. Throws Error{internal}.
Json parse_json(const std::string& text);
/// A JSON number, or null where there is no finite one.
Json finite(double value);
/// Indented, with invalid UTF-8 replaced.
std::string dump(const Json& value);

/// Columns of text: the first row is the header; `right` names the right-aligned columns.
struct Table {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> right;

  std::string text(std::string_view indent = "  ") const;
};

}  // namespace colonnade::cli
