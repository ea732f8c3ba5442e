// SPDX-License-Identifier: Apache-2.0
// ONNX's protobuf messages, and what every part of the importer agrees on about them.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace colonnade::onnx_import {

inline constexpr std::string_view kOnnxDomain = "ai.onnx";
inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";
inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 28;

/// "" and "ai.onnx" are the same domain; the answer is never empty.
inline std::string_view canonical_domain(std::string_view domain) { return domain.empty() ? kOnnxDomain : domain; }

/// Element type of a TensorProto data type number; throws Error{invalid_model} for numbers ONNX does not have. `where`
/// starts the message.
DType dtype_of(std::int64_t data_type, std::string_view where);
/// The TensorProto data type number of an element type.
int data_type_of(DType dtype);

/// The text with control characters replaced and cut to a readable length: fit for a one-line message.
std::string printable(std::string_view text);

}  // namespace colonnade::onnx_import
