// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace colonnade::cli {
namespace {

/// Characters a terminal shows: UTF-8 continuation bytes take no column.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::int64_t parse_dimension(const std::string& digits, const std::string& text) {
  const bool plain =
      !digits.empty() && digits.size() <= 18 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!plain)
    throw Error(ErrorCode::invalid_argument, fmt::format("'{}' is not a shape; expected one like 1x3x224x224", text));
  return std::stoll(digits);
}

}  // namespace

std::string human_ms(double ms) {
  if (!std::isfinite(ms)) return "-";
  if (ms >= 1000) return fmt::format("{:.2f} s", ms / 1000);
  if (ms >= 100) return fmt::format("{:.1f} ms", ms);
  if (ms >= 1) return fmt::format("{:.3f} ms", ms);
  return fmt::format("{:.1f} us", ms * 1000);
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::size_t parse_bytes(const std::string& text) {
  constexpr std::string_view kSuffixes = "KMG";
  std::string digits = text;
  int shift = 0;
  if (digits.ends_with("iB")) digits.resize(digits.size() - 2);
  if (!digits.empty() && digits.back() == 'B') digits.pop_back();
  if (!digits.empty()) {
    const auto suffix = static_cast<char>(digits.back() >= 'a' ? digits.back() - 'a' + 'A' : digits.back());
    const std::size_t power = kSuffixes.find(suffix);
    if (power != std::string_view::npos) {
      shift = 10 * (static_cast<int>(power) + 1);
      digits.pop_back();
    }
  }
  const bool plain =
      !digits.empty() && digits.size() <= 15 && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!plain || std::stoull(digits) > (std::numeric_limits<std::size_t>::max() >> shift))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a size; expected one like 512K, 64M or 2G", text));
  return static_cast<std::size_t>(std::stoull(digits)) << shift;
}

Shape parse_shape(const std::string& text) {
  Shape shape;
  std::string digits;
  for (const char c : text) {
    if (c != 'x' && c != 'X' && c != ',') {
      digits += c;
      continue;
    }
    shape.push_back(parse_dimension(digits, text));
    digits.clear();
  }
  shape.push_back(parse_dimension(digits, text));
  return shape;
}

Json parse_json(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) throw Error(ErrorCode::internal, "the library returned malformed JSON");
  return value;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

std::string dump(const Json& value) { return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

bool is_undecided(const Json& description) {
  const Json duel = description.value("duel", Json());
  return duel.is_object() && text_in(duel, "state") != "won";
}

std::string duel_text(const Json& description) {
  const Json duel = description.value("duel", Json());
  if (!duel.is_object()) return "";
  const std::string plan = text_in(description, "outline");
  const std::string state = text_in(duel, "state");
  if (state == "waiting") return "";
  if (state == "open") return fmt::format("duel         {}, against another plan: not over yet\n", plan);
  return fmt::format("duel         {}, won a duel against {} by {:.0f} % ({:.0f} runs)\n", plan,
                     text_in(duel, "against"), 100 * number_in(duel, "gain"), number_in(duel, "runs"));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      const bool to_right = std::find(right.begin(), right.end(), i) != right.end();
      line += to_right ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string island_text(const Json& islands) {
  if (islands.empty()) return "\nislands: none\n";
  Table table;
  table.rows.push_back({"island", "type", "engine", "reason"});
  for (const Json& item : islands)
    table.rows.push_back(
        {shortened(text_in(item, "node"), 40), text_in(item, "op"), text_in(item, "engine"), text_in(item, "reason")});
  return fmt::format("\n{}", table.text(""));
}

}  // namespace colonnade::cli
