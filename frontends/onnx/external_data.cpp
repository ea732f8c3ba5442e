// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/external_data.hpp"

#include <charconv>
#include <set>
#include <utility>

#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {
namespace {

std::int64_t parse_count(const std::string& text, std::string_view key, std::string_view where) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0) {
    fail(ErrorCode::invalid_model, "{}: external data: {} must be a non-negative 64-bit integer, found '{}'", where,
         key, printable(text));
  }
  return value;
}

}  // namespace

ExternalLocation parse_location(const onnx::TensorProto& proto, std::string_view where) {
  ExternalLocation location;
  std::set<std::string_view> seen;
  for (const auto& entry : proto.external_data()) {
    const std::string& key = entry.key();
    if (!seen.insert(key).second) {
      fail(ErrorCode::invalid_model, "{}: external data: key '{}' occurs twice", where, printable(key));
    }
    if (key == "location") {
      location.path = entry.value();
    } else if (key == "offset") {
      location.offset = parse_count(entry.value(), key, where);
    } else if (key == "length") {
      location.length = parse_count(entry.value(), key, where);
    } else if (key != "checksum" && key != "basepath") {
      fail(ErrorCode::invalid_model, "{}: external data: unknown key '{}'", where, printable(key));
    }
  }
  if (location.path.empty()) fail(ErrorCode::invalid_model, "{}: external data: no location", where);
  return location;
}

const DataRange& ExternalData::range(std::uint64_t number, std::string_view where) const {
  if (number >= ranges_.size()) fail(ErrorCode::invalid_model, "{}: has a field that does not exist", where);
  return ranges_[number];
}

}  // namespace colonnade::onnx_import
