// SPDX-License-Identifier: Apache-2.0
// What every part of the importer agrees on about the format. It names ONNX's messages and does not define them: the
// few files that read them include frontends/onnx/proto.hpp, which costs each a second or more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class SparseTensorProto;
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace colonnade::onnx_import {

inline constexpr std::string_view kOnnxDomain = "ai.onnx";
inline constexpr std::string_view kMlDomain = "ai.onnx.ml";
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";
inline constexpr std::int64_t kOldestOpset = 1;
inline constexpr std::int64_t kNewestOpset = 28;
inline constexpr std::int64_t kNewestMlOpset = 5;  ///< also of nodes whose model does not import the domain

/// "" and "ai.onnx" are the same domain; the answer is never empty.
inline std::string_view canonical_domain(std::string_view domain) { return domain.empty() ? kOnnxDomain : domain; }

/// Element type of a TensorProto data type number; throws Error{invalid_model} for numbers ONNX does not have. `where`
/// starts the message.
DType dtype_of(std::int64_t data_type, std::string_view where);
/// The TensorProto data type number of an element type.
int data_type_of(DType dtype);
/// The number of a data type by its name, as "FLOAT"; nothing where there is none.
std::optional<std::int64_t> data_type_named(const std::string& name);

}  // namespace colonnade::onnx_import
