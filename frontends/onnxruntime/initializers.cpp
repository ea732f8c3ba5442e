// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnxruntime/initializers.hpp"

#include <cstring>
#include <filesystem>
#include <numeric>

#include "frontends/onnxruntime/element_types.hpp"

namespace colonnade::ort {

struct Header {
  std::string name;
  std::uint64_t data_type = 0;
  Shape dims;
  std::map<std::string, std::string> external;
};

namespace {

using fields::kGraph, fields::kInitializer, fields::kName;
constexpr std::uint64_t kDims = 1, kDataType = 2, kStringData = 6, kRawData = 9, kExternalData = 13;
constexpr std::uint64_t kEntryKey = 1, kEntryValue = 2;

using Out = std::vector<std::byte>;

void put(Out& out, ByteSpan bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }
void put_varint(Out& out, std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  for (; value >= kMore; value >>= 7) out.push_back(static_cast<std::byte>((value & (kMore - 1)) | kMore));
  out.push_back(static_cast<std::byte>(value));
}
void put_number(Out& out, std::uint64_t field, std::uint64_t value) {
  put_varint(out, field << 3);
  put_varint(out, value);
}
void put_bytes(Out& out, std::uint64_t field, ByteSpan bytes) {
  put_varint(out, field << 3 | 2);
  put_varint(out, bytes.size());
  put(out, bytes);
}
ByteSpan bytes_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

void read_dims(const Field& field, Shape& dims) {
  if (!field.is_bytes) {
    dims.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  // Packed numbers are fields without keys: a key in front of each makes a message of them.
  Out message;
  for (const std::byte byte : field.content) {
    if (message.empty() || static_cast<unsigned>(message.back()) < 0x80U) message.push_back(std::byte{kDims << 3});
    message.push_back(byte);
  }
  each_field(message, [&](const Field& part) { dims.push_back(static_cast<std::int64_t>(part.value)); });
}

Header header_of(ByteSpan tensor) {
  Header header;
  each_field(tensor, [&](const Field& field) {
    if (field.number == kDims) read_dims(field, header.dims);
    if (field.number == kDataType && !field.is_bytes) header.data_type = field.value;
    if (field.number == kName && field.is_bytes) header.name = field.text();
    if (field.number != kExternalData || !field.is_bytes) return;
    std::string key, value;
    each_field(field.content, [&](const Field& part) {
      if (part.number == kEntryKey && part.is_bytes) key = part.text();
      if (part.number == kEntryValue && part.is_bytes) value = part.text();
    });
    header.external[key] = value;
  });
  return header;
}

/// A tensor of the message with the header's name, type and shape; its elements follow.
Out begun(const Header& header) {
  Out tensor;
  for (const std::int64_t size : header.dims) put_number(tensor, kDims, static_cast<std::uint64_t>(size));
  put_number(tensor, kDataType, header.data_type);
  put_bytes(tensor, kName, bytes_of(header.name));
  return tensor;
}

Out tensor_of(const Header& header, const OrtValue& value) {
  const auto type = static_cast<std::uint64_t>(element_type_of(value.view.dtype));
  if (type != header.data_type || value.view.shape != header.dims)
    throw Failure(ORT_INVALID_ARGUMENT, "initializer '" + header.name + "': the value's type or shape is another");
  Out tensor = begun(header);
  const auto count = static_cast<std::size_t>(element_count(value.view.shape));
  if (value.view.dtype == DType::string) {
    for (const std::string& text : std::span(static_cast<const std::string*>(value.view.data), count))
      put_bytes(tensor, kStringData, bytes_of(text));
  } else {
    put_bytes(tensor, kRawData,
              {static_cast<const std::byte*>(value.view.data), tensor_bytes(value.view.dtype, value.view.shape)});
  }
  return tensor;
}

std::size_t number_in(const Header& header, const char* key, std::size_t fallback) {
  const auto at = header.external.find(key);
  if (at == header.external.end()) return fallback;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(at->second.c_str(), &end, 10);
  if (end == at->second.c_str() || *end != '\0')
    throw Failure(ORT_INVALID_GRAPH, "initializer '" + header.name + "': '" + key + "' is no number");
  return static_cast<std::size_t>(value);
}

/// The part of a file that the header names.
ByteSpan part_of(const Header& header, ByteSpan file) {
  const std::size_t offset = number_in(header, "offset", 0);
  const std::size_t rest = offset <= file.size() ? file.size() - offset : 0;
  const std::size_t length = number_in(header, "length", rest);
  if (offset > file.size() || length > rest)
    throw Failure(ORT_INVALID_GRAPH, "initializer '" + header.name + "': its file ends before it");
  return file.subspan(offset, length);
}

std::string path_beside(const Header& header, const std::string& folder, const std::string& location) {
  const auto top = std::filesystem::weakly_canonical(folder);
  const auto path = std::filesystem::weakly_canonical(top / location);
  const auto relative = path.lexically_relative(top);
  if (std::filesystem::path(location).is_absolute() || relative.empty() || *relative.begin() == "..")
    throw Failure(ORT_FAIL,
                  "initializer '" + header.name + "': its file '" + location + "' lies outside of the model's folder");
  return path.string();
}

}  // namespace

Out Changes::elements_within(const Header& header) const {
  const auto place = header.external.find("location");
  const std::string location = place == header.external.end() ? "" : place->second;
  Out tensor = begun(header);
  if (const auto file = files.find(location); file != files.end()) {
    put_bytes(tensor, kRawData, part_of(header, file->second));
  } else {
    const MappedFile mapped(path_beside(header, folder, location));
    put_bytes(tensor, kRawData, part_of(header, mapped.bytes()));
  }
  return tensor;
}

Out Changes::changed(const Field& field, std::set<std::string>& seen) const {
  const Header header = header_of(field.content);
  Out out;
  if (removed.contains(header.name)) return out;
  const auto given = values.find(header.name);
  const auto outside = external.find(header.name);
  if (outside != external.end() && header.external.empty())
    throw Failure(ORT_INVALID_ARGUMENT, "initializer '" + header.name + "' is none of external data");
  if (given != values.end() || outside != external.end()) {
    seen.insert(header.name);
    put_bytes(out, kInitializer, tensor_of(header, given != values.end() ? *given->second : *outside->second));
  } else if (header.external.empty()) {
    put(out, field.whole);
  } else {
    put_bytes(out, kInitializer, elements_within(header));
  }
  return out;
}

std::vector<std::byte> Changes::applied(ByteSpan model) const {
  std::set<std::string> seen;
  Out result;
  each_field(model, [&](const Field& field) {
    if (field.number != kGraph || !field.is_bytes) return put(result, field.whole);
    Out graph;
    each_field(field.content, [&](const Field& part) {
      if (part.number == kInitializer && part.is_bytes)
        put(graph, changed(part, seen));
      else
        put(graph, part.whole);
    });
    put_bytes(result, kGraph, graph);
  });
  for (const auto& [name, value] : external)
    if (!seen.contains(name))
      throw Failure(ORT_INVALID_ARGUMENT, "the model has no external initializer '" + name + "'");
  return result;
}

}  // namespace colonnade::ort
