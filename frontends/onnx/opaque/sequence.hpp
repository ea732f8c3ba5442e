// SPDX-License-Identifier: Apache-2.0
// Operators on sequences that others are lowered to.
#pragma once

#include "graph/graph.hpp"

namespace colonnade::onnx_import {

extern const Definition kSequenceAt, kSequenceInsert, kSequenceLength, kOptionalGetElement;
/// An empty sequence of tensors.
Opaque sequence_empty(DType dtype);

}  // namespace colonnade::onnx_import
