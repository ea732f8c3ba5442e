// SPDX-License-Identifier: Apache-2.0
#include "npy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "numbers.hpp"
#include "text.hpp"
#include "zip.hpp"

namespace colonnade::cli {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kLargestRank = 64;

struct ElementType {
  std::string_view code;
  DType dtype;
};
constexpr ElementType kElementTypes[] = {
    {"b1", DType::boolean}, {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32},   {"i8", DType::i64},
    {"u1", DType::u8},      {"u2", DType::u16}, {"u4", DType::u32}, {"u8", DType::u64},   {"f2", DType::f16},
    {"f4", DType::f32},     {"f8", DType::f64}, {"c8", DType::c64}, {"c16", DType::c128},
};

/// What the Python dictionary in the header says.
struct Header {
  bool big_endian = false;
  char kind = 'f';  ///< 'U' or 'S' for strings
  std::size_t element_bytes = 4;
  DType dtype = DType::f32;
  bool fortran_order = false;
  Shape shape;
};

[[noreturn]] void fail(const std::string& where, std::string_view what) {
  throw Error(ErrorCode::invalid_input, one_line(fmt::format("'{}' is not a usable .npy file: {}", where, what)));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// The text behind 'key': in the dictionary.
std::string_view value_of(std::string_view dictionary, std::string_view key, const std::string& where) {
  for (const char quote : {'\'', '"'}) {
    const std::size_t at = dictionary.find(fmt::format("{0}{1}{0}", quote, key));
    if (at == std::string_view::npos) continue;
    std::string_view rest = trimmed(dictionary.substr(at + key.size() + 2));
    if (rest.empty() || rest.front() != ':') break;
    return trimmed(rest.substr(1));
  }
  fail(where, fmt::format("its header has no '{}'", key));
}

std::optional<std::int64_t> whole_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

void read_type(std::string_view text, Header& header, const std::string& where) {
  if (text.empty() || (text.front() != '\'' && text.front() != '"')) fail(where, "structured types are not supported");
  const std::size_t end = text.find(text.front(), 1);
  if (end == std::string_view::npos || end < 4) fail(where, "malformed type");
  const std::string_view descriptor = text.substr(1, end - 1);
  const std::string_view code = descriptor.substr(1);
  if (std::string_view("<>|=").find(descriptor.front()) == std::string_view::npos) fail(where, "malformed type");
  header.big_endian = descriptor.front() == '>';
  header.kind = code.front();
  if (header.kind == 'U' || header.kind == 'S') {
    const auto length = whole_number(code.substr(1));
    if (!length || *length > (std::int64_t{1} << 30)) fail(where, "malformed string type");
    header.dtype = DType::string;
    header.element_bytes = static_cast<std::size_t>(*length) * (header.kind == 'U' ? 4 : 1);
    return;
  }
  for (const ElementType& type : kElementTypes) {
    if (type.code != code) continue;
    header.dtype = type.dtype;
    header.element_bytes = size_of(type.dtype);
    if (header.big_endian && header.kind == 'c') fail(where, "big-endian complex numbers are not supported");
    return;
  }
  fail(where, fmt::format("type '{}' is not supported", descriptor));
}

Shape read_shape(std::string_view text, const std::string& where) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) fail(where, "malformed shape");
  std::string_view rest = trimmed(text.substr(1, end - 1));
  Shape shape;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view digits = trimmed(rest.substr(0, comma));
    if (!digits.empty() && digits.back() == 'L') digits.remove_suffix(1);
    const auto dimension = whole_number(digits);
    if (!dimension || shape.size() == kLargestRank) fail(where, "malformed shape");
    shape.push_back(*dimension);
    rest = comma == rest.size() ? std::string_view() : trimmed(rest.substr(comma + 1));
  }
  return shape;
}

/// Parses the preamble and leaves `text` at the elements.
Header read_header(std::string_view& text, const std::string& where) {
  if (text.size() < 10 || !text.starts_with(kMagic)) fail(where, "no .npy signature");
  const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t version = byte_at(6);
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3) fail(where, fmt::format("format {} is unknown", version));
  if (text.size() < 8 + length_bytes) fail(where, "truncated header");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte_at(8 + i) << (8 * i);
  if (length > text.size() - 8 - length_bytes) fail(where, "truncated header");
  const std::string_view dictionary = text.substr(8 + length_bytes, length);
  text.remove_prefix(8 + length_bytes + length);
  Header header;
  read_type(value_of(dictionary, "descr", where), header, where);
  const std::string_view order = value_of(dictionary, "fortran_order", where);
  header.fortran_order = order.starts_with("True");
  if (!header.fortran_order && !order.starts_with("False")) fail(where, "malformed fortran_order");
  header.shape = read_shape(value_of(dictionary, "shape", where), where);
  return header;
}

std::size_t checked_elements(const Header& header, std::size_t available_bytes, const std::string& where) {
  std::int64_t count = 0;
  try {
    count = element_count(header.shape);
  } catch (const Error&) {
    fail(where, "its shape overflows");
  }
  const std::size_t element_bytes = std::max<std::size_t>(header.element_bytes, 1);
  if (static_cast<std::uint64_t>(count) > available_bytes / element_bytes)
    fail(where, fmt::format("its shape needs {} elements of {} bytes, the file has {} bytes of them", count,
                            header.element_bytes, available_bytes));
  return static_cast<std::size_t>(count);
}

/// Position in Fortran order of the element at every position in C order.
std::vector<std::size_t> fortran_positions(const Shape& shape, std::size_t count) {
  std::vector<std::size_t> positions(count);
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) strides[d] = strides[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    std::size_t position = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const std::size_t dimension = static_cast<std::size_t>(shape[d]);
      position += (rest % dimension) * strides[d];
      rest /= dimension;
    }
    positions[i] = position;
  }
  return positions;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) return put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
  if (c < 0x10000) return put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  put(0xf0 | ((c >> 18) & 7)), put(0x80 | ((c >> 12) & 0x3f)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
}

std::string read_string(std::string_view raw, const Header& header) {
  std::string text;
  if (header.kind == 'S') {
    text = raw;
    text.resize(std::min(text.size(), text.find_last_not_of('\0') + 1));
    return text;
  }
  for (std::size_t at = 0; at + 4 <= raw.size(); at += 4) {
    std::uint32_t c = 0;
    for (std::size_t i = 0; i < 4; ++i)
      c |= static_cast<std::uint32_t>(static_cast<unsigned char>(raw[at + i])) << (8 * (header.big_endian ? 3 - i : i));
    if (c != 0) append_utf8(text, c);
  }
  return text;
}

/// UTF-8 as code points; bytes that are not UTF-8 stand for themselves.
std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> points;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    std::uint32_t point = length == 1 ? lead : lead & (0x7fu >> length);
    bool valid = i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xc0) == 0x80;
      point = (point << 6) | (next & 0x3f);
    }
    points.push_back(valid ? point : lead);
    i += valid ? length : 1;
  }
  return points;
}

std::string preamble(std::string_view descriptor, const Shape& shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", descriptor);
  for (const std::int64_t dimension : shape) dictionary += fmt::format("{}, ", dimension);
  if (shape.size() > 1) dictionary.resize(dictionary.size() - 2);
  if (shape.size() == 1) dictionary.pop_back();
  dictionary += "), }";
  constexpr std::size_t kAlignment = 64;
  const std::size_t unpadded = 10 + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';
  std::string out(kMagic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(dictionary.size() & 0xff);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary;
}

std::string format_strings(const Tensor& tensor) {
  std::vector<std::vector<std::uint32_t>> rows;
  std::size_t longest = 1;
  for (const std::string& text : tensor.strings()) {
    rows.push_back(code_points(text));
    longest = std::max(longest, rows.back().size());
  }
  std::string out = preamble(fmt::format("<U{}", longest), tensor.shape());
  for (std::vector<std::uint32_t>& row : rows) {
    row.resize(longest, 0);
    for (const std::uint32_t c : row)
      for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>((c >> shift) & 0xff);
  }
  return out;
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& where) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Header header = read_header(text, where);
  const std::size_t count = checked_elements(header, text.size(), where);
  const std::size_t width = header.element_bytes;
  const bool permuted = header.fortran_order && header.shape.size() > 1;
  const auto positions = permuted ? fortran_positions(header.shape, count) : std::vector<std::size_t>();
  const auto source = [&](std::size_t i) { return text.substr((permuted ? positions[i] : i) * width, width); };
  Tensor tensor(header.dtype, header.shape);
  if (header.dtype == DType::string) {
    for (std::size_t i = 0; i < count; ++i) tensor.strings()[i] = read_string(source(i), header);
    return tensor;
  }
  auto* out = static_cast<char*>(tensor.data());
  if (!permuted && count > 0) std::memcpy(out, text.data(), count * width);
  for (std::size_t i = 0; permuted && i < count; ++i) std::memcpy(out + i * width, source(i).data(), width);
  for (std::size_t i = 0; header.big_endian && i < count; ++i) std::reverse(out + i * width, out + (i + 1) * width);
  for (std::size_t i = 0; header.dtype == DType::boolean && i < count; ++i) out[i] = out[i] != 0;
  return tensor;
}

std::string format_npy(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) return format_strings(tensor);
  for (const ElementType& type : kElementTypes) {
    if (type.dtype != tensor.dtype()) continue;
    std::string out = preamble(fmt::format("{}{}", size_of(type.dtype) == 1 ? '|' : '<', type.code), tensor.shape());
    if (tensor.size() > 0) out.append(static_cast<const char*>(tensor.data()), tensor.byte_size());
    return out;
  }
  if (is_float(tensor.dtype())) return format_npy(converted(tensor, DType::f32));
  if (is_integer(tensor.dtype())) return format_npy(converted(tensor, DType::i8));  // fewer bits than a byte
  throw Error(ErrorCode::io, fmt::format("type {} has no .npy form", name_of(tensor.dtype())));
}

std::vector<NamedTensor> parse_npz(std::span<const std::byte> bytes, const std::string& where) {
  std::vector<NamedTensor> tensors;
  for (const ZipEntry& entry : parse_zip(bytes, where)) {
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const auto content = std::as_bytes(std::span(entry.bytes.data(), entry.bytes.size()));
    tensors.push_back({name, parse_npy(content, fmt::format("{}:{}", where, entry.name))});
  }
  return tensors;
}

std::string format_npz(std::span<const TensorReference> tensors) {
  std::vector<ZipEntry> entries;
  for (const TensorReference& item : tensors) entries.push_back({item.name + ".npy", format_npy(*item.tensor)});
  return format_zip(entries);
}

}  // namespace colonnade::cli
