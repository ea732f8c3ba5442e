// SPDX-License-Identifier: Apache-2.0
// ONNX bytes or files -> Graph of core operators.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// Reads a model file. External data is read from the file's folder only: relative paths without "..", no symbolic
/// links, regular files, offset and length within the file.
/// Throws Error{invalid_model} when the file is malformed or contradicts itself, Error{unsupported} naming node,
/// operator, domain and opset when an operator is unknown, Error{io} when the file cannot be read. The file stays open:
/// large constants are read from it when they are needed.
Graph import_file(const std::string& path);

/// Parses ONNX bytes; external data is refused. Large constants are copied, unless the bytes `last` as long as the
/// graph.
Graph import_bytes(std::span<const std::byte> bytes, bool last = false);

/// The same of bytes that are read when they are needed, as long as the graph lives.
Graph import_reader(Model::Reader read, std::uint64_t size);

/// One TensorProto (ONNX test data).
Tensor parse_tensor(std::span<const std::byte> bytes);
std::string serialize_tensor(const Tensor& tensor, std::string_view name);

/// One TensorProto, SequenceProto, OptionalProto or MapProto (ONNX test data), as the outermost container says.
/// Throws Error{invalid_input} for anything else.
Datum parse_datum(std::span<const std::byte> bytes, std::span<const Container> containers);
/// The name in it; "" where there is none.
std::string datum_name(std::span<const std::byte> bytes, std::span<const Container> containers);
std::string serialize_datum(const Datum& datum, std::string_view name);

}  // namespace colonnade::onnx_import
