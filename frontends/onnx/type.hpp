// SPDX-License-Identifier: Apache-2.0
// TypeProto -> ValueType.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/format.hpp"
#include "graph/graph.hpp"

namespace colonnade::onnx_import {

struct OnnxGraph;

/// What a model declares of a value; whatever it leaves out is unknown.
struct DeclaredType {
  ValueType type;
  std::vector<std::string> dim_names;  ///< of tensors with a shape
};

/// `where` starts messages. Throws Error{invalid_model} and Error{unsupported}.
DeclaredType declared_type(const onnx::TypeProto& proto, std::string_view where);

/// The shape that a nested graph declares for one of its inputs; nothing where it declares none.
std::optional<Shape> declared_shape(const OnnxGraph& graph, std::size_t input);

}  // namespace colonnade::onnx_import
