// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/json.hpp"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <cmath>
#include <cstring>

#include "frontends/server/datatype.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve::http {
namespace {

/// No number of any type is longer, its comma included.
constexpr std::size_t kLongestNumber = 32;

/// Length of the UTF-8 sequence at the front, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc0 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf8 ? 4
                                           : 0;
  return length != 0 && length <= text.size() && is_utf8(text.substr(0, length)) ? length : 0;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f; }

template <class T>
char* write_number(char* at, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::string_view text = value ? "true" : "false";
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
  } else if constexpr (std::is_floating_point_v<T>) {
    char* end = fmt::format_to(at, FMT_COMPILE("{}"), value);
    const bool is_whole = std::memchr(at, '.', static_cast<std::size_t>(end - at)) == nullptr &&
                          std::memchr(at, 'e', static_cast<std::size_t>(end - at)) == nullptr;
    if (!is_whole) return end;
    std::memcpy(end, ".0", 2);
    return end + 2;
  } else {
    return fmt::format_to(at, FMT_COMPILE("{}"), value);
  }
}

template <class T>
void append_numbers(std::string& out, const TensorView& tensor, std::string_view name) {
  const std::span<const T> values(static_cast<const T*>(tensor.data),
                                  static_cast<std::size_t>(element_count(tensor.shape)));
  if constexpr (std::is_floating_point_v<T>) {
    for (const T value : values)
      if (!std::isfinite(value))
        throw Failure(Code::unsupported,
                      fmt::format("output '{}' holds {}, which JSON cannot carry: ask for binary data", name,
                                  std::isnan(value) ? "NaN" : "an infinity"));
  }
  constexpr std::size_t kBlock = 256;
  char buffer[kBlock * kLongestNumber];
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    char* at = buffer;
    for (const T value : values.subspan(first, std::min(kBlock, values.size() - first))) {
      at = write_number(at, value);
      *at++ = ',';
    }
    out.append(buffer, at);
  }
  if (!values.empty()) out.pop_back();
}

void append_strings(std::string& out, const TensorView& tensor, std::string_view name) {
  const std::span<const std::string> values(static_cast<const std::string*>(tensor.data),
                                            static_cast<std::size_t>(element_count(tensor.shape)));
  for (const std::string& text : values) {
    if (!is_utf8(text))
      throw Failure(Code::unsupported,
                    fmt::format("output '{}' holds bytes that are no UTF-8: ask for binary data", name));
    append_json(out, text);
    out += ',';
  }
  if (!values.empty()) out.pop_back();
}

/// Half floats are written by the value they stand for.
void append_halves(std::string& out, const TensorView& tensor, std::string_view name) {
  Tensor halves(tensor.dtype, tensor.shape);
  if (halves.byte_size() > 0) std::memcpy(halves.data(), tensor.data, halves.byte_size());
  const Tensor floats = halves.converted(DType::f32);
  append_numbers<float>(out, floats, name);
}

}  // namespace

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text); }

void append_json(std::string& out, std::string_view text) {
  out += '"';
  const bool valid = is_utf8(text);
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = valid ? 1 : sequence_length(text.substr(i));
    if (length != 0 && !(length == 1 && needs_escape(text[i]))) {
      i += length;
      continue;
    }
    out.append(text.substr(plain, i - plain));
    if (length == 0)
      out += "\xef\xbf\xbd";
    else
      append_escaped(out, text[i]);
    plain = ++i;
  }
  out.append(text.substr(plain));
  out += '"';
}

std::string json_text(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

void append_json_elements(std::string& out, const TensorView& tensor, std::string_view name) {
  out += '[';
  switch (tensor.dtype) {
    case DType::f32: append_numbers<float>(out, tensor, name); break;
    case DType::f64: append_numbers<double>(out, tensor, name); break;
    case DType::i8: append_numbers<std::int8_t>(out, tensor, name); break;
    case DType::i16: append_numbers<std::int16_t>(out, tensor, name); break;
    case DType::i32: append_numbers<std::int32_t>(out, tensor, name); break;
    case DType::i64: append_numbers<std::int64_t>(out, tensor, name); break;
    case DType::u8: append_numbers<std::uint8_t>(out, tensor, name); break;
    case DType::u16: append_numbers<std::uint16_t>(out, tensor, name); break;
    case DType::u32: append_numbers<std::uint32_t>(out, tensor, name); break;
    case DType::u64: append_numbers<std::uint64_t>(out, tensor, name); break;
    case DType::boolean: append_numbers<bool>(out, tensor, name); break;
    case DType::string: append_strings(out, tensor, name); break;
    case DType::f16:
    case DType::bf16: append_halves(out, tensor, name); break;
    case DType::undefined:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::i4:
    case DType::u4:
    case DType::i2:
    case DType::u2:
    case DType::c64:
    case DType::c128:
    case DType::f6e2m3:
    case DType::f6e3m2:
      throw Failure(Code::unsupported,
                    fmt::format("output '{}' of type {} has no form in this protocol", name, name_of(tensor.dtype)));
  }
  out += ']';
}

}  // namespace colonnade::serve::http
