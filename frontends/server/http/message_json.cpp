// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/message_json.hpp"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <cmath>

#include "frontends/server/http/base64.hpp"
#include "frontends/server/http/json.hpp"

namespace colonnade::serve::http {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// One field of a message, or one element of a repeated one.
struct Value {
  const Message& message;
  const Reflection& reflection;
  const FieldDescriptor& field;
  int index = -1;  ///< of the element; -1: the field is not repeated

  template <class One, class Element>
  auto get(One one, Element element) const {
    return index < 0 ? (reflection.*one)(message, &field) : (reflection.*element)(message, &field, index);
  }
};

void append_text(std::string& out, const Value& value) {
  const std::string text = value.get(&Reflection::GetString, &Reflection::GetRepeatedString);
  append_json(out, value.field.type() == FieldDescriptor::TYPE_BYTES ? to_base64(text) : text);
}

template <class Number>
void append_number(std::string& out, Number number) {
  if constexpr (std::is_floating_point_v<Number>)
    if (!std::isfinite(number)) return static_cast<void>(out += "null");
  fmt::format_to(std::back_inserter(out), "{}", number);
}

const Message& submessage(const Value& value) {
  return value.index < 0 ? value.reflection.GetMessage(value.message, &value.field)
                         : value.reflection.GetRepeatedMessage(value.message, &value.field, value.index);
}

void append_value(std::string& out, const Value& value, Absent absent) {
  switch (value.field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return append_number(out, value.get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return append_number(out, value.get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return append_number(out, value.get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return append_number(out, value.get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return append_number(out, value.get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return append_number(out, value.get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_BOOL:
      out += value.get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true" : "false";
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      return append_json(out, value.get(&Reflection::GetEnum, &Reflection::GetRepeatedEnum)->name());
    case FieldDescriptor::CPPTYPE_STRING: return append_text(out, value);
    case FieldDescriptor::CPPTYPE_MESSAGE: return append_json(out, submessage(value), absent);
  }
}

/// Keys of JSON are strings, whatever they are in the map.
void append_key(std::string& out, const Value& key) {
  if (key.field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return append_text(out, key);
  out += '"';
  append_value(out, key, Absent::omitted);
  out += '"';
}

void append_map(std::string& out, const Value& map, Absent absent) {
  out += '{';
  const int count = map.reflection.FieldSize(map.message, &map.field);
  for (int i = 0; i < count; ++i) {
    const Message& entry = map.reflection.GetRepeatedMessage(map.message, &map.field, i);
    const auto* type = entry.GetDescriptor();
    if (i > 0) out += ',';
    append_key(out, {entry, *entry.GetReflection(), *type->map_key()});
    out += ':';
    append_value(out, {entry, *entry.GetReflection(), *type->map_value()}, absent);
  }
  out += '}';
}

void append_array(std::string& out, const Value& array, Absent absent) {
  out += '[';
  const int count = array.reflection.FieldSize(array.message, &array.field);
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    append_value(out, {array.message, array.reflection, array.field, i}, absent);
  }
  out += ']';
}

bool is_written(const Message& message, const FieldDescriptor& field, Absent absent) {
  if (field.is_repeated() || message.GetReflection()->HasField(message, &field)) return true;
  if (field.containing_oneof()) return false;
  return field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || absent == Absent::written;
}

}  // namespace

void append_json(std::string& out, const Message& message, Absent absent) {
  const auto* type = message.GetDescriptor();
  bool first = true;
  out += '{';
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor& field = *type->field(i);
    if (!is_written(message, field, absent)) continue;
    if (!first) out += ',';
    first = false;
    append_json(out, field.name());
    out += ':';
    const Value value{message, *message.GetReflection(), field};
    if (field.is_map())
      append_map(out, value, absent);
    else if (field.is_repeated())
      append_array(out, value, absent);
    else
      append_value(out, value, absent);
  }
  out += '}';
}

std::string json_of(const Message& message, Absent absent) {
  std::string out;
  append_json(out, message, absent);
  return out;
}

}  // namespace colonnade::serve::http
