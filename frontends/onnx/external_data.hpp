// SPDX-License-Identifier: Apache-2.0
// Tensor data in files beside the model. The model is untrusted, so its folder is a boundary.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/proto.hpp"
#include "frontends/onnx/skeleton.hpp"

namespace colonnade::onnx_import {

/// Where in which file a tensor's bytes are.
struct ExternalLocation {
  std::string path;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

/// Reads the keys of TensorProto.external_data. Throws Error{invalid_model} for unknown, doubled or malformed keys and
/// for paths that are absolute, climb out or hold a NUL, a backslash or a drive.
ExternalLocation parse_location(const onnx::TensorProto& proto, std::string_view where);

/// Bytes that hold tensors, and whether they can still be read after the import.
struct OpenBytes {
  std::shared_ptr<const Bytes> bytes;
  bool lasts = false;
};

/// Data outside the parsed message: ranges of the model's own bytes, and the files of one folder. Nothing outside the
/// folder is opened, no symbolic link is followed, only regular files with one hard link are read. Without a folder
/// every file is refused.
class ExternalData {
 public:
  ExternalData() = default;
  ExternalData(OpenBytes model, std::vector<DataRange> ranges, std::optional<std::string> folder)
      : model_(std::move(model)), ranges_(std::move(ranges)), folder_(std::move(folder)) {}

  const OpenBytes& model() const { return model_; }
  /// Throws Error{invalid_model}.
  const DataRange& range(std::uint64_t number, std::string_view where) const;
  /// Throws Error{invalid_model} or Error{io}. Many files do not last: a process may open only so many.
  OpenBytes open(const ExternalLocation& location, std::string_view where);

 private:
  OpenBytes model_;
  std::vector<DataRange> ranges_;
  std::optional<std::string> folder_;
  std::map<std::string, std::shared_ptr<const Bytes>> files_;
};

}  // namespace colonnade::onnx_import
