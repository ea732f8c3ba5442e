// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.hpp"

#include <google/protobuf/descriptor.h>

#include <limits>

namespace colonnade::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

float real(Random& random) {
  static constexpr float kNumbers[] = {0.0f,
                                       -0.0f,
                                       1.0f,
                                       -1.0f,
                                       0.5f,
                                       2.0f,
                                       3.4e38f,
                                       1e-45f,
                                       1e9f,
                                       -1e9f,
                                       std::numeric_limits<float>::infinity(),
                                       -std::numeric_limits<float>::infinity(),
                                       std::numeric_limits<float>::quiet_NaN()};
  return random.one_in(3) ? static_cast<float>(random.integer()) : random.one_of(kNumbers);
}

/// A field of a message, or one element of a repeated field.
class Place {
 public:
  Place(Message& message, const FieldDescriptor& field, int index)
      : message_(message), field_(field), reflection_(*message.GetReflection()), index_(index) {}

  void set_int(std::int64_t value) const {
    switch (field_.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return set(&Reflection::SetInt32, &Reflection::SetRepeatedInt32, static_cast<std::int32_t>(value));
      case FieldDescriptor::CPPTYPE_INT64: return set(&Reflection::SetInt64, &Reflection::SetRepeatedInt64, value);
      case FieldDescriptor::CPPTYPE_UINT32:
        return set(&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, static_cast<std::uint32_t>(value));
      case FieldDescriptor::CPPTYPE_UINT64:
        return set(&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, static_cast<std::uint64_t>(value));
      case FieldDescriptor::CPPTYPE_BOOL: return set(&Reflection::SetBool, &Reflection::SetRepeatedBool, value != 0);
      default: return;
    }
  }
  void set_real(double value) const {
    if (field_.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE)
      return set(&Reflection::SetDouble, &Reflection::SetRepeatedDouble, value);
    set(&Reflection::SetFloat, &Reflection::SetRepeatedFloat, static_cast<float>(value));
  }
  void set_enum(int value) const { set(&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue, value); }
  void set_text(std::string value) const {
    if (field_.is_repeated())
      reflection_.SetRepeatedString(&message_, &field_, index_, std::move(value));
    else
      reflection_.SetString(&message_, &field_, std::move(value));
  }
  std::string text() const {
    return field_.is_repeated() ? reflection_.GetRepeatedString(message_, &field_, index_)
                                : reflection_.GetString(message_, &field_);
  }
  std::int64_t integer() const {
    const bool repeated = field_.is_repeated();
    if (field_.cpp_type() == FieldDescriptor::CPPTYPE_INT64)
      return repeated ? reflection_.GetRepeatedInt64(message_, &field_, index_)
                      : reflection_.GetInt64(message_, &field_);
    if (field_.cpp_type() == FieldDescriptor::CPPTYPE_INT32)
      return repeated ? reflection_.GetRepeatedInt32(message_, &field_, index_)
                      : reflection_.GetInt32(message_, &field_);
    return 0;
  }

 private:
  template <class One, class Element, class T>
  void set(One one, Element element, T value) const {
    if (field_.is_repeated())
      (reflection_.*element)(&message_, &field_, index_, value);
    else
      (reflection_.*one)(&message_, &field_, value);
  }

  Message& message_;
  const FieldDescriptor& field_;
  const Reflection& reflection_;
  int index_;
};

std::string other_text(const std::string& text, const FieldDescriptor& field, const Words& words, Random& random) {
  if (field.type() == FieldDescriptor::TYPE_BYTES) return damage(text, text, random);
  switch (random.below(8)) {
    case 0: return "";
    case 1: return damage(text, text, random);
    case 2: return text + text;
    default: return words.empty() ? "x" : random.one_of(words);
  }
}

void change_value(const Place& place, const FieldDescriptor& field, const Words& words, Random& random) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE: return place.set_real(real(random));
    case FieldDescriptor::CPPTYPE_ENUM:
      return place.set_enum(
          static_cast<int>(random.one_in(10) ? random.integer() : static_cast<int>(random.below(32))));
    case FieldDescriptor::CPPTYPE_STRING: return place.set_text(other_text(place.text(), field, words, random));
    case FieldDescriptor::CPPTYPE_MESSAGE: return;
    default: {
      // Wraps as the field does: any neighbour of any number may be asked for.
      const auto neighbour =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(place.integer()) + random.below(5) - std::uint64_t{2});
      return place.set_int(random.one_in(3) ? neighbour : random.integer());
    }
  }
}

void add_element(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return reflection.AddInt32(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_INT64: return reflection.AddInt64(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_UINT32: return reflection.AddUInt32(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_UINT64: return reflection.AddUInt64(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_BOOL: return reflection.AddBool(&message, &field, false);
    case FieldDescriptor::CPPTYPE_FLOAT: return reflection.AddFloat(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_DOUBLE: return reflection.AddDouble(&message, &field, 0);
    case FieldDescriptor::CPPTYPE_ENUM: return reflection.AddEnumValue(&message, &field, 1);
    case FieldDescriptor::CPPTYPE_STRING: return reflection.AddString(&message, &field, "");
    case FieldDescriptor::CPPTYPE_MESSAGE: reflection.AddMessage(&message, &field); return;
  }
}

/// A message of the given type somewhere in `donor`; null when the walk meets none.
const Message* find_part(const Message& donor, const google::protobuf::Descriptor& type, Random& random) {
  const Message* current = &donor;
  for (int depth = 0; depth < 12; ++depth) {
    std::vector<const FieldDescriptor*> fields, nested;
    current->GetReflection()->ListFields(*current, &fields);
    for (const FieldDescriptor* field : fields)
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) nested.push_back(field);
    if (nested.empty()) return nullptr;
    const FieldDescriptor& field = *random.one_of(nested);
    const Reflection& reflection = *current->GetReflection();
    current =
        field.is_repeated()
            ? &reflection.GetRepeatedMessage(
                  *current, &field,
                  static_cast<int>(random.below(static_cast<std::size_t>(reflection.FieldSize(*current, &field)))))
            : &reflection.GetMessage(*current, &field);
    if (current->GetDescriptor() == &type) return current;
  }
  return nullptr;
}

void change_repeated(Message& message, const FieldDescriptor& field, const Message& donor, const Words& words,
                     Random& random) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (size == 0 || random.one_in(5)) {
    add_element(message, field);
    if (const Message* part = is_message ? find_part(donor, *field.message_type(), random) : nullptr)
      reflection.MutableRepeatedMessage(&message, &field, size)->CopyFrom(*part);
    if (!is_message) change_value(Place(message, field, size), field, words, random);
    return;
  }
  const int at = static_cast<int>(random.below(static_cast<std::size_t>(size)));
  const int other = static_cast<int>(random.below(static_cast<std::size_t>(size)));
  switch (random.below(is_message ? 4 : 8)) {
    case 0: return reflection.SwapElements(&message, &field, at, other);
    case 1: reflection.SwapElements(&message, &field, at, size - 1); return reflection.RemoveLast(&message, &field);
    case 2:
      if (random.one_in(4)) return reflection.ClearField(&message, &field);
      [[fallthrough]];
    case 3:
      if (is_message) {
        add_element(message, field);
        reflection.MutableRepeatedMessage(&message, &field, size)
            ->CopyFrom(reflection.GetRepeatedMessage(message, &field, at));
        return reflection.SwapElements(&message, &field, at, size);
      }
      [[fallthrough]];
    default: return change_value(Place(message, field, at), field, words, random);
  }
}

void change_field(Message& message, const FieldDescriptor& field, const Message& donor, const Words& words,
                  Random& random) {
  const Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return change_repeated(message, field, donor, words, random);
  if (random.one_in(8)) return reflection.ClearField(&message, &field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
    return change_value(Place(message, field, 0), field, words, random);
  if (const Message* part = find_part(donor, *field.message_type(), random))
    reflection.MutableMessage(&message, &field)->CopyFrom(*part);
}

}  // namespace

void mutate(Message& message, const Message& donor, const Words& words, Random& random) {
  Message* current = &message;
  while (true) {
    const Reflection& reflection = *current->GetReflection();
    const auto& descriptor = *current->GetDescriptor();
    if (random.one_in(12)) {  // any field, present or not
      const auto count = static_cast<std::size_t>(descriptor.field_count());
      if (count == 0) return;
      return change_field(*current, *descriptor.field(static_cast<int>(random.below(count))), donor, words, random);
    }
    std::vector<const FieldDescriptor*> fields;
    reflection.ListFields(*current, &fields);
    if (fields.empty()) return;
    // Fields of many elements are where a model's content is: nodes before metadata.
    std::vector<const FieldDescriptor*> weighted;
    for (const FieldDescriptor* field : fields) {
      const int size = field->is_repeated() ? reflection.FieldSize(*current, field) : 1;
      const bool is_graph = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated();
      weighted.insert(weighted.end(), is_graph ? 10 : static_cast<std::size_t>(std::min(size, 6)), field);
    }
    const FieldDescriptor& field = *random.one_of(weighted);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || random.one_in(8))
      return change_field(*current, field, donor, words, random);
    if (field.is_repeated()) {
      const auto size = static_cast<std::size_t>(reflection.FieldSize(*current, &field));
      current = reflection.MutableRepeatedMessage(current, &field, static_cast<int>(random.below(size)));
    } else {
      current = reflection.MutableMessage(current, &field);
    }
  }
}

}  // namespace colonnade::fuzz
