// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colonnade/model.hpp"

namespace colonnade::onnx_import {

/// How a model is read.
struct ImportOptions {
  bool schema = false;  ///< nodes are held to what ONNX says of their operators, but for those of the program
  DynamicScale dynamic_scale = DynamicScale::tensor;
};

}  // namespace colonnade::onnx_import
