// SPDX-License-Identifier: Apache-2.0
// Tensors of any type as numbers.
#pragma once

#include "evaluate.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import::testing {

using Numbers = std::vector<double>;

inline Tensor tensor(DType dtype, const Shape& shape, const Numbers& values) {
  return reference::tensor_of(dtype, shape, values);
}
inline Numbers numbers(const Tensor& tensor) { return reference::load_all<double>(tensor); }

}  // namespace colonnade::onnx_import::testing
