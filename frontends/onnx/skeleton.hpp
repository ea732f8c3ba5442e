// SPDX-License-Identifier: Apache-2.0
// A model's message without its large tensor data: what protobuf parses. protobuf would copy the data, and a model is
// mostly data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontends/onnx/bytes.hpp"

namespace colonnade::onnx_import {

/// Where the elements of a tensor are in the model's bytes.
struct DataRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  bool is_float_data = false;  ///< else raw_data
};

/// The field of a TensorProto that holds, instead of its data, the number of a range. ONNX has no such field: a model
/// that uses it names a range of its own bytes, which is as harmless as holding them.
inline constexpr int kRangeField = 536'870'911;

/// Messages within messages; who nests deeper is refused.
inline constexpr int kDeepestMessage = 100;

struct Skeleton {
  std::string message;
  std::vector<DataRange> ranges;
};

/// Cuts the data of large initializers and tensor attributes out of a serialised ModelProto. What is malformed or
/// unusual stays in as it is, for protobuf to judge. Throws Error{io}.
Skeleton skeleton_of(const Bytes& model);

}  // namespace colonnade::onnx_import
