// SPDX-License-Identifier: Apache-2.0
// ONNX's messages as nodes and graphs.
#pragma once

#include <deque>

#include "frontends/onnx/node.hpp"
#include "frontends/onnx/proto.hpp"

namespace colonnade::onnx_import {

/// What an attribute holds; UNDEFINED for an empty list of an unknown type.
onnx::AttributeProto::AttributeType type_of(const onnx::AttributeProto& attribute);

/// The model's main graph, calls of model-local functions replaced by their bodies (nested ones too). `owned` keeps
/// attributes that the model stores in forms this build's schema does not know.
/// Throws Error{invalid_model} for recursion, doubled functions and attributes, malformed calls and names that nothing
/// defines.
OnnxGraph flatten(const onnx::ModelProto& model, std::deque<onnx::AttributeProto>& owned);

/// Opsets a list of imports names: of a doubled domain the highest counts.
Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports);

}  // namespace colonnade::onnx_import
