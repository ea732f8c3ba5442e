// SPDX-License-Identifier: Apache-2.0
// The files beside a model. The model is untrusted, so its folder is a boundary.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frontends/onnx/beside.hpp"

namespace colonnade::onnx_import {

/// Bytes that hold tensors, and whether they can still be read after the import.
struct OpenBytes {
  std::shared_ptr<const Bytes> bytes;
  bool lasts = false;
};

/// The files of one model, opened as they are asked for. Without folders every file is refused.
class Files {
 public:
  Files() = default;
  explicit Files(std::optional<ModelFolders> folders) : folders_(std::move(folders)) {}

  /// As open_beside; throws Error{invalid_model} for paths too that are absolute, climb out or hold a NUL, a backslash
  /// or a drive. Many files do not last: a process may open only so many.
  OpenBytes open(const std::string& path, std::string_view where);
  /// Those that last, by path.
  const std::map<std::string, std::shared_ptr<const Bytes>>& lasting() const { return files_; }
  /// No file was opened that does not last.
  bool all_last() const { return all_last_; }

 private:
  std::optional<ModelFolders> folders_;
  std::map<std::string, std::shared_ptr<const Bytes>> files_;
  bool all_last_ = true;
};

}  // namespace colonnade::onnx_import
