// SPDX-License-Identifier: Apache-2.0
// Tensor data in files beside the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/files.hpp"
#include "frontends/onnx/format.hpp"
#include "frontends/onnx/skeleton.hpp"

namespace colonnade::onnx_import {

/// Where in which file a tensor's bytes are.
struct ExternalLocation {
  std::string path;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

/// Reads the keys of TensorProto.external_data. Throws Error{invalid_model} for unknown, doubled or malformed keys.
ExternalLocation parse_location(const onnx::TensorProto& proto, std::string_view where);

/// Data outside the parsed message: ranges of the model's own bytes, and files.
class ExternalData {
 public:
  ExternalData() = default;
  ExternalData(OpenBytes model, std::vector<DataRange> ranges, std::shared_ptr<Files> files)
      : model_(std::move(model)), ranges_(std::move(ranges)), files_(std::move(files)) {}

  const OpenBytes& model() const { return model_; }
  /// Throws Error{invalid_model}.
  const DataRange& range(std::uint64_t number, std::string_view where) const;
  OpenBytes open(const ExternalLocation& location, std::string_view where) const {
    return files_->open(location.path, where);
  }

 private:
  OpenBytes model_;
  std::vector<DataRange> ranges_;
  std::shared_ptr<Files> files_ = std::make_shared<Files>();
};

}  // namespace colonnade::onnx_import
