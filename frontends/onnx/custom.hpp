// SPDX-License-Identifier: Apache-2.0
// Nodes that run operators of the program.
#pragma once

#include <vector>

#include "colonnade/custom.hpp"
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

using CustomOperators = std::vector<CustomOperator>;

/// The program's operator that the node names; null where there is none.
const CustomOperator* find_custom(const CustomOperators& operators, const OnnxNode& node);
/// The node with the program's kernel for it.
Values lower_custom(Lowering& low, const CustomOperator& custom);
/// All attributes as the model has them. Throws Error{invalid_model} for graphs, types and lists of tensors.
Attributes plain_attributes_of(const OnnxNode& node, ExternalData& external);

}  // namespace colonnade::onnx_import
