// SPDX-License-Identifier: Apache-2.0
// What ONNX says of its operators: the attributes that each version has, and the types of its inputs.
#pragma once

#include <span>

#include "frontends/onnx/node.hpp"

namespace colonnade::onnx_import {

/// Throws Error{invalid_model} for a node that is older than its operator, has no outputs, or an attribute that its
/// operator has not. Other domains than ONNX's are not checked, nor operators that ONNX has not.
void check_form(const OnnxNode& node);

/// Throws Error{invalid_model} for an input of a type that the node's operator does not take. One without a type is
/// absent or not known.
void check_types(const OnnxNode& node, std::span<const ValueType* const> inputs);

}  // namespace colonnade::onnx_import
