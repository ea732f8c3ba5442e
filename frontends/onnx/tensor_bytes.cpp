// SPDX-License-Identifier: Apache-2.0
// A TensorProto by itself, as bytes.
#include <fmt/format.h>

#include <limits>

#include "frontends/onnx/onnx.hpp"
#include "frontends/onnx/packing.hpp"
#include "frontends/onnx/proto.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {

Tensor parse_tensor(std::span<const std::byte> bytes) {
  onnx::TensorProto proto;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(ErrorCode::invalid_input, "not an ONNX TensorProto: {} bytes", bytes.size());
  }
  try {
    ExternalData none;
    return tensor_from(proto, fmt::format("tensor '{}'", printable(proto.name())), none);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_model) throw;
    throw Error(ErrorCode::invalid_input, error.what());
  }
}

namespace {

std::string raw_data_of(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data());
  if (!is_packed(tensor.dtype())) return {reinterpret_cast<const char*>(bytes), tensor.byte_size()};
  std::string packed(static_cast<std::size_t>(packed_bytes(tensor.dtype(), tensor.size())), '\0');
  pack(tensor.dtype(), {bytes, tensor.byte_size()}, std::as_writable_bytes(std::span(packed)));
  return packed;
}

}  // namespace

std::string serialize_tensor(const Tensor& tensor, std::string_view name) {
  onnx::TensorProto proto;
  proto.set_name(std::string(name));
  proto.set_data_type(data_type_of(tensor.dtype()));
  for (const std::int64_t dim : tensor.shape()) proto.add_dims(dim);
  if (tensor.dtype() == DType::string) {
    for (const auto& text : tensor.strings()) proto.add_string_data(text);
  } else {
    if (tensor.byte_size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) - 4096) {
      fail(ErrorCode::unsupported, "tensor '{}': {} bytes do not fit a protobuf message", printable(name),
           tensor.byte_size());
    }
    proto.set_raw_data(raw_data_of(tensor));
  }
  return proto.SerializeAsString();
}

}  // namespace colonnade::onnx_import
