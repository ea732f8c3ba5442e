// SPDX-License-Identifier: Apache-2.0
#include "frontends/picture/text.hpp"

#include <fmt/core.h>

#include <cmath>
#include <span>

namespace colonnade::picture {
namespace {

std::string scaled(double value, double base, std::span<const char* const> units) {
  std::size_t unit = 0;
  while (std::abs(value) >= base && unit + 1 < units.size()) {
    value /= base;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}{}", value, units[0]);
  return fmt::format("{:.{}f}{}", value, std::abs(value) < 10 ? 2 : std::abs(value) < 100 ? 1 : 0, units[unit]);
}

}  // namespace

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  return scaled(bytes, 1024, kUnits);
}

std::string human_count(double count) {
  static constexpr const char* kUnits[] = {"", " K", " M", " G", " T"};
  return scaled(count, 1000, kUnits);
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t dimension : shape) {
    if (!text.empty()) text += 'x';
    text += dimension < 0 ? "?" : std::to_string(dimension);
  }
  return text;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  const std::size_t tail = (width - 2) / 2;
  const std::size_t head = width - 2 - tail;
  return fmt::format("{}..{}", text.substr(0, head), text.substr(text.size() - tail));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

double number_in(const Json& object, const char* key, double otherwise) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return otherwise;
  const double value = object[key].get<double>();
  return std::isfinite(value) ? value : otherwise;
}

std::string text_in(const Json& object, const char* key, const std::string& otherwise) {
  if (!object.is_object() || !object.contains(key)) return otherwise;
  const Json& value = object[key];
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? otherwise : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& array_in(const Json& object, const char* key) {
  static const Json empty = Json::array();
  return object.is_object() && object.contains(key) && object[key].is_array() ? object[key] : empty;
}

std::string shape_in(const Json& object) {
  const Json& dimensions = array_in(object, "shape");
  if (dimensions.empty()) return text_in(object, "shape", "-") == "[]" ? "scalar" : text_in(object, "shape", "-");
  Shape shape;
  for (const Json& dimension : dimensions) shape.push_back(dimension.is_number() ? dimension.get<std::int64_t>() : -1);
  return shape_text(shape);
}

std::string columns_in(const Json& segment) {
  if (!segment.is_object() || !segment.contains("columns")) return "no columns";
  const Json& columns = segment["columns"];
  if (!columns.is_object()) return text_in(segment, "columns") + (columns == 1 ? " column" : " columns");
  std::string text;
  for (const auto& [key, value] : columns.items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, text_in(columns, key.c_str()));
  return text;
}

}  // namespace colonnade::picture
