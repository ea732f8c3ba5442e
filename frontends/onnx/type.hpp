// SPDX-License-Identifier: Apache-2.0
// TypeProto -> ValueType.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/proto.hpp"
#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// What a model declares of a value; whatever it leaves out is unknown.
struct DeclaredType {
  ValueType type;
  std::vector<std::string> dim_names;  ///< of tensors with a shape
};

/// `where` starts messages. Throws Error{invalid_model} and Error{unsupported}.
DeclaredType declared_type(const onnx::TypeProto& proto, std::string_view where);

}  // namespace colonnade::onnx_import
