// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes by themselves.
#include <cstring>

#include "frontends/onnxruntime/custom.hpp"

namespace colonnade::ort {
namespace {

template <class Type>
std::vector<Type> list_of(const void* data, int count) {
  const auto* const elements = static_cast<const Type*>(data);
  return {elements, elements + count};
}

CustomAttribute value_from(const void* data, int count, OrtOpAttrType type) {
  if (count < 0) throw Failure(ORT_INVALID_ARGUMENT, "a list has no negative length");
  switch (type) {
    case ORT_OP_ATTR_INT: return *static_cast<const std::int64_t*>(data);
    case ORT_OP_ATTR_INTS: return list_of<std::int64_t>(data, count);
    case ORT_OP_ATTR_FLOAT: return *static_cast<const float*>(data);
    case ORT_OP_ATTR_FLOATS: return list_of<float>(data, count);
    case ORT_OP_ATTR_STRING: return std::string(static_cast<const char*>(data));
    case ORT_OP_ATTR_STRINGS: {
      const auto texts = list_of<const char*>(data, count);
      return std::vector<std::string>(texts.begin(), texts.end());
    }
    case ORT_OP_ATTR_UNDEFINED:
    case ORT_OP_ATTR_GRAPH:
    case ORT_OP_ATTR_TENSOR: break;
  }
  throw Failure(ORT_INVALID_ARGUMENT, "attributes of this type are not made");
}

constexpr OrtOpAttrType kAttributeTypes[] = {ORT_OP_ATTR_INT,   ORT_OP_ATTR_FLOAT,  ORT_OP_ATTR_STRING,
                                             ORT_OP_ATTR_INTS,  ORT_OP_ATTR_FLOATS, ORT_OP_ATTR_STRINGS,
                                             ORT_OP_ATTR_TENSOR};

std::string bytes_of(const void* data, std::size_t bytes) { return {static_cast<const char*>(data), bytes}; }

/// The attribute as bytes; texts end with a zero each.
std::string bytes_in(const CustomAttribute& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return bytes_of(number, sizeof *number);
  if (const auto* number = std::get_if<float>(&value)) return bytes_of(number, sizeof *number);
  if (const auto* text = std::get_if<std::string>(&value)) return bytes_of(text->c_str(), text->size() + 1);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    return bytes_of(list->data(), list->size() * sizeof(std::int64_t));
  if (const auto* list = std::get_if<std::vector<float>>(&value))
    return bytes_of(list->data(), list->size() * sizeof(float));
  std::string bytes;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value))
    for (const std::string& text : *texts) bytes.append(text.c_str(), text.size() + 1);
  return bytes;
}

}  // namespace

OrtStatus* CreateOpAttr(const char* name, const void* data, int count, OrtOpAttrType type, OrtOpAttr** out) noexcept {
  return guarded([&] {
    need("name, data and out", name, data, out);
    *out = new OrtOpAttr{name, value_from(data, count, type)};
  });
}
void ReleaseOpAttr(OrtOpAttr* attribute) noexcept { delete attribute; }

OrtStatus* ReadOpAttr(const OrtOpAttr* attribute, OrtOpAttrType type, void* data, std::size_t room,
                      std::size_t* out) noexcept {
  return guarded([&] {
    need("out", out);
    if (kAttributeTypes[deref(attribute, "attribute").value.index()] != type || type == ORT_OP_ATTR_TENSOR)
      throw Failure(ORT_INVALID_ARGUMENT, "attribute '" + attribute->name + "' is of another type");
    const std::string bytes = bytes_in(attribute->value);
    *out = bytes.size();
    if (room < bytes.size()) throw Failure(ORT_INVALID_ARGUMENT, "there is no room for the attribute");
    if (!bytes.empty()) {
      need("data", data);
      std::memcpy(data, bytes.data(), bytes.size());
    }
  });
}
OrtStatus* OpAttr_GetType(const OrtOpAttr* attribute, OrtOpAttrType* out) noexcept {
  return guarded([&] { deref(out, "out") = kAttributeTypes[deref(attribute, "attribute").value.index()]; });
}
OrtStatus* OpAttr_GetName(const OrtOpAttr* attribute, const char** out) noexcept {
  return guarded([&] { deref(out, "out") = deref(attribute, "attribute").name.c_str(); });
}

}  // namespace colonnade::ort
