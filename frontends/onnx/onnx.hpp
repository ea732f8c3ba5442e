// SPDX-License-Identifier: Apache-2.0
// ONNX bytes or files -> Graph of core operators.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colonnade/custom.hpp"
#include "frontends/onnx/draft.hpp"
#include "frontends/onnx/files.hpp"
#include "frontends/onnx/import_options.hpp"
#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// A model that can be imported, again and again where its bytes last.
class Source {
 public:
  /// Reads a model file; see import_file.
  static std::shared_ptr<Source> file(const std::string& path);
  /// Bytes that are read when they are needed, as long as the source or a graph of it lives. External data is refused.
  static std::shared_ptr<Source> reader(Model::Reader read, std::uint64_t size);
  /// `what` is for messages. Without folders external data is refused.
  Source(std::string what, OpenBytes bytes, std::optional<ModelFolders> folders = std::nullopt)
      : what_(std::move(what)), bytes_(std::move(bytes)), files_(std::make_shared<Files>(std::move(folders))) {}

  /// Operators of the program, before the first import.
  void set_operators(std::vector<CustomOperator> operators) { operators_ = std::move(operators); }
  bool has_operators() const { return !operators_.empty(); }
  /// Safe from several threads.
  Graph import(const ImportOptions& options = {}) const;
  /// The model's messages, which lives no longer than this. Throws Error{invalid_argument} for bytes that do not last.
  Draft draft() const;
  /// Of the last import.
  ModelMetadata metadata() const;

  const std::shared_ptr<const Bytes>& bytes() const { return bytes_.bytes; }
  /// What imports opened besides; whoever opens more here makes imports find them.
  Files& files() const { return *files_; }

 private:
  std::string what_;
  OpenBytes bytes_;
  std::shared_ptr<Files> files_;
  std::vector<CustomOperator> operators_;
  mutable std::mutex mutex_;
  mutable ModelMetadata metadata_;
};

/// Reads a model file. External data is read from the file's folder only: relative paths without "..", regular files,
/// offset and length within the file; symbolic links as Files says.
/// Throws Error{invalid_model} when the file is malformed or contradicts itself, Error{unsupported} naming node,
/// operator, domain and opset when an operator is unknown, Error{io} when the file cannot be read. The file stays open:
/// large constants are read from it when they are needed.
Graph import_file(const std::string& path);

/// Parses ONNX bytes; external data is refused. Large constants are copied, unless the bytes `last` as long as the
/// graph.
Graph import_bytes(std::span<const std::byte> bytes, bool last = false);

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
