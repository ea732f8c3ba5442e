// SPDX-License-Identifier: Apache-2.0
// ONNX test data: tensors, sequences, optional values and maps.
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx-data_pb.h>

#include <algorithm>
#include <limits>

#include "frontends/onnx/onnx.hpp"
#include "frontends/onnx/proto.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {
namespace {

using Containers = std::span<const Container>;

std::string_view name_of_kind(Containers containers) {
  constexpr std::string_view kNames[] = {"SequenceProto", "OptionalProto", "MapProto", "MapProto"};
  return containers.empty() ? "TensorProto" : kNames[static_cast<std::size_t>(containers.front())];
}

template <class Message>
Message parsed(std::span<const std::byte> bytes, Containers containers) {
  Message message;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(ErrorCode::invalid_input, "not an ONNX {}: {} bytes", name_of_kind(containers), bytes.size());
  }
  return message;
}

Tensor tensor_of(const onnx::TensorProto& proto) {
  ExternalData none;
  return tensor_from(proto, fmt::format("tensor '{}'", printable(proto.name())), none);
}

Datum datum_of(const onnx::TensorProto& proto, Containers containers) {
  if (!containers.empty()) {
    fail(ErrorCode::invalid_input, "expected a {}, found a tensor", name_of_kind(containers));
  }
  return tensor_of(proto);
}

Datum datum_of(const onnx::SequenceProto& proto, Containers containers);
Datum datum_of(const onnx::OptionalProto& proto, Containers containers);
Datum datum_of(const onnx::MapProto& proto, Containers containers);

void check_container(Containers containers, Container expected, std::string_view name) {
  if (!containers.empty() && containers.front() == expected) return;
  fail(ErrorCode::invalid_input, "'{}': expected a {}, found a {}", printable(name), name_of_kind(containers),
       name_of_kind(Containers(&expected, 1)));
}

template <class Messages>
std::vector<Datum> data_of(const Messages& messages, Containers containers) {
  std::vector<Datum> data;
  for (const auto& message : messages) data.push_back(datum_of(message, containers));
  return data;
}

Datum datum_of(const onnx::SequenceProto& proto, Containers containers) {
  check_container(containers, Container::sequence, proto.name());
  const Containers inner = containers.subspan(1);
  std::vector<Datum> elements;
  switch (proto.elem_type()) {
    case onnx::SequenceProto::TENSOR: elements = data_of(proto.tensor_values(), inner); break;
    case onnx::SequenceProto::SEQUENCE: elements = data_of(proto.sequence_values(), inner); break;
    case onnx::SequenceProto::MAP: elements = data_of(proto.map_values(), inner); break;
    case onnx::SequenceProto::OPTIONAL: elements = data_of(proto.optional_values(), inner); break;
    case onnx::SequenceProto::UNDEFINED: break;
    default: fail(ErrorCode::unsupported, "'{}': elements of sequences are not sparse", printable(proto.name()));
  }
  const DType dtype = elements.empty() ? DType::undefined : elements.front().dtype();
  return Datum::sequence(std::move(elements), dtype);
}

Datum datum_of(const onnx::OptionalProto& proto, Containers containers) {
  check_container(containers, Container::optional, proto.name());
  const Containers inner = containers.subspan(1);
  if (proto.has_tensor_value()) return Datum::optional(datum_of(proto.tensor_value(), inner));
  if (proto.has_sequence_value()) return Datum::optional(datum_of(proto.sequence_value(), inner));
  if (proto.has_map_value()) return Datum::optional(datum_of(proto.map_value(), inner));
  if (proto.has_optional_value()) return Datum::optional(datum_of(proto.optional_value(), inner));
  return Datum::absent(DType::undefined);
}

Tensor keys_of(const onnx::MapProto& proto) {
  if (proto.key_type() == onnx::TensorProto::STRING) {
    Tensor keys(DType::string, {proto.string_keys_size()});
    std::copy(proto.string_keys().begin(), proto.string_keys().end(), keys.strings().begin());
    return keys;
  }
  Tensor keys(DType::i64, {proto.keys_size()});
  std::copy(proto.keys().begin(), proto.keys().end(), keys.values<std::int64_t>().begin());
  return keys;
}

/// One element a key.
Tensor values_of(const onnx::MapProto& proto, std::int64_t keys) {
  const auto& elements = proto.values().tensor_values();
  if (elements.size() == 1 && keys != 1) return tensor_of(elements.Get(0));
  if (elements.size() != keys) {
    fail(ErrorCode::invalid_input, "map '{}': {} values for {} keys", printable(proto.name()), elements.size(), keys);
  }
  Tensor values(elements.empty() ? DType::f32 : dtype_of(elements.Get(0).data_type(), "values of a map"), {keys});
  for (int i = 0; i < elements.size(); ++i) {
    const Tensor element = tensor_of(elements.Get(i));
    if (element.size() != 1 || element.dtype() != values.dtype()) {
      fail(ErrorCode::invalid_input, "map '{}': value {} is not one {}", printable(proto.name()), i,
           name_of(values.dtype()));
    }
    if (values.dtype() == DType::string) {
      values.strings()[static_cast<std::size_t>(i)] = element.strings().front();
    } else {
      std::copy_n(static_cast<const std::byte*>(element.data()), element.byte_size(),
                  static_cast<std::byte*>(values.data()) + static_cast<std::size_t>(i) * element.byte_size());
    }
  }
  return values;
}

Datum datum_of(const onnx::MapProto& proto, Containers containers) {
  Tensor keys = keys_of(proto);
  const bool strings = keys.dtype() == DType::string;
  check_container(containers, strings ? Container::map_of_string : Container::map_of_int64, proto.name());
  const std::int64_t count = keys.size();
  return Datum::map(std::move(keys), values_of(proto, count));
}

void write(const Datum& datum, onnx::TensorProto& proto) {
  if (!proto.ParseFromString(serialize_tensor(datum.tensor(), ""))) fail(ErrorCode::internal, "a tensor is not parsed");
}

void write(const Datum& datum, onnx::MapProto& proto) {
  const Tensor& keys = datum.keys();
  proto.set_key_type(data_type_of(keys.dtype()));
  if (keys.dtype() == DType::string) {
    for (const auto& key : keys.strings()) proto.add_string_keys(key);
  } else {
    for (const std::int64_t key : keys.values<std::int64_t>()) proto.add_keys(key);
  }
  proto.mutable_values()->set_elem_type(onnx::SequenceProto::TENSOR);
  write(datum.tensor(), *proto.mutable_values()->add_tensor_values());
}

void write(const Datum& datum, onnx::OptionalProto& proto);

void write(const Datum& datum, onnx::SequenceProto& proto) {
  for (const Datum& element : datum.elements()) {
    switch (element.kind()) {
      case Datum::Kind::tensor:
        proto.set_elem_type(onnx::SequenceProto::TENSOR);
        write(element, *proto.add_tensor_values());
        break;
      case Datum::Kind::sequence:
        proto.set_elem_type(onnx::SequenceProto::SEQUENCE);
        write(element, *proto.add_sequence_values());
        break;
      case Datum::Kind::map:
        proto.set_elem_type(onnx::SequenceProto::MAP);
        write(element, *proto.add_map_values());
        break;
      case Datum::Kind::optional:
        proto.set_elem_type(onnx::SequenceProto::OPTIONAL);
        write(element, *proto.add_optional_values());
        break;
    }
  }
}

void write(const Datum& datum, onnx::OptionalProto& proto) {
  if (datum.elements().empty()) return;
  const Datum& element = datum.elements().front();
  switch (element.kind()) {
    case Datum::Kind::tensor:
      proto.set_elem_type(onnx::OptionalProto::TENSOR);
      write(element, *proto.mutable_tensor_value());
      break;
    case Datum::Kind::sequence:
      proto.set_elem_type(onnx::OptionalProto::SEQUENCE);
      write(element, *proto.mutable_sequence_value());
      break;
    case Datum::Kind::map:
      proto.set_elem_type(onnx::OptionalProto::MAP);
      write(element, *proto.mutable_map_value());
      break;
    case Datum::Kind::optional:
      proto.set_elem_type(onnx::OptionalProto::OPTIONAL);
      write(element, *proto.mutable_optional_value());
      break;
  }
}

template <class Message>
std::string serialized(const Datum& datum, std::string_view name) {
  Message proto;
  proto.set_name(std::string(name));
  write(datum, proto);
  return proto.SerializeAsString();
}

}  // namespace

Datum parse_datum(std::span<const std::byte> bytes, Containers containers) {
  if (containers.empty()) return parse_tensor(bytes);
  try {
    switch (containers.front()) {
      case Container::sequence: return datum_of(parsed<onnx::SequenceProto>(bytes, containers), containers);
      case Container::optional: return datum_of(parsed<onnx::OptionalProto>(bytes, containers), containers);
      case Container::map_of_int64:
      case Container::map_of_string: break;
    }
    return datum_of(parsed<onnx::MapProto>(bytes, containers), containers);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_model) throw;
    throw Error(ErrorCode::invalid_input, error.what());
  }
}

std::string datum_name(std::span<const std::byte> bytes, Containers containers) {
  const auto name_of = [&](auto message) {
    const google::protobuf::LogSilencer silencer;
    const bool good = message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()));
    return good ? message.name() : std::string();
  };
  if (containers.empty()) return name_of(onnx::TensorProto());
  if (containers.front() == Container::sequence) return name_of(onnx::SequenceProto());
  if (containers.front() == Container::optional) return name_of(onnx::OptionalProto());
  return name_of(onnx::MapProto());
}

std::string serialize_datum(const Datum& datum, std::string_view name) {
  switch (datum.kind()) {
    case Datum::Kind::tensor: return serialize_tensor(datum.tensor(), name);
    case Datum::Kind::sequence: return serialized<onnx::SequenceProto>(datum, name);
    case Datum::Kind::optional: return serialized<onnx::OptionalProto>(datum, name);
    case Datum::Kind::map: break;
  }
  return serialized<onnx::MapProto>(datum, name);
}

}  // namespace colonnade::onnx_import
