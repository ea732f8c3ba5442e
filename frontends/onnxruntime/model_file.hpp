// SPDX-License-Identifier: Apache-2.0
// What the engine does not keep of a model file: names and denotations of open dimensions, which initializers are
// inputs too. Fields are read where they lie; weights are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnxruntime/types.hpp"

namespace colonnade::ort {

using ByteSpan = std::span<const std::byte>;

/// Numbers of fields of ONNX's messages: of a model, a graph, a tensor.
namespace fields {
inline constexpr std::uint64_t kGraph = 7, kInitializer = 5, kName = 8;
}

/// One field of a protobuf message.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  ///< of a number
  ByteSpan content;         ///< of bytes
  ByteSpan whole;           ///< with key and length
  bool is_bytes = false;

  std::string text() const { return {reinterpret_cast<const char*>(content.data()), content.size()}; }
};
/// Calls `use` with each field in turn. Throws Failure ORT_INVALID_PROTOBUF for what is no message.
void each_field(ByteSpan message, const std::function<void(const Field&)>& use);

/// The bytes of a file, as long as this lives.
class MappedFile {
 public:
  /// Throws Failure ORT_NO_SUCHFILE, and ORT_INVALID_PROTOBUF for what is no file.
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  ByteSpan bytes() const { return bytes_; }

 private:
  ByteSpan bytes_;
};

/// An input of the graph, with the denotations of its dimensions.
struct ModelInput {
  std::string name;
  OrtTensorTypeAndShapeInfo type;
  std::vector<std::string> denotations;
};

struct ModelFile {
  std::int64_t ir_version = 0;
  std::int64_t version = INT64_MAX;  ///< of the model; the largest number where the file has none
  bool has_graph = false;
  std::vector<ModelInput> inputs;
  std::set<std::string> initializers;

  /// Inputs with a default, which runs may leave out.
  std::vector<ModelInput> overridable() const;
};
/// Throws Failure ORT_INVALID_PROTOBUF for what is no model, ORT_INVALID_ARGUMENT for one without a graph.
ModelFile read_model(ByteSpan bytes);

}  // namespace colonnade::ort
