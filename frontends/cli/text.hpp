// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and tables as text, and the reverse.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/picture/text.hpp"

namespace colonnade::cli {

using picture::array_in;
using picture::columns_in;
using picture::escaped;
using picture::human_bytes;
using picture::human_count;
using picture::Json;
using picture::number_in;
using picture::shape_in;
using picture::shape_text;
using picture::shortened;
using picture::text_in;

/// "12.3 ms", "4.56 us" or "1.20 s".
std::string human_ms(double ms);
/// Line breaks and control characters become spaces.
std::string one_line(std::string_view text);

/// "64M" -> 67108864; suffixes K, M, G (powers of 1024). Throws Error{invalid_argument}.
std::size_t parse_bytes(const std::string& text);
/// "1x3x224x224" (commas work too). Throws Error{invalid_argument}.
Shape parse_shape(const std::string& text);

/// Parses JSON of the library. Throws Error{internal}.
Json parse_json(const std::string& text);
/// A JSON number, or null where there is no finite one.
Json finite(double value);
/// Indented, with invalid UTF-8 replaced.
std::string dump(const Json& value);

/// Runs may still decide which plan is kept.
bool is_undecided(const Json& description);

/// The description's plan in a line, with how its duel stands; "" where it has none.
std::string duel_text(const Json& description);

/// Columns of text: the first row is the header; `right` names the right-aligned columns.
struct Table {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> right;

  std::string text(std::string_view indent = "  ") const;
};

/// The operators that run as islands, and why, of a description's "islands".
std::string island_text(const Json& islands);

}  // namespace colonnade::cli
