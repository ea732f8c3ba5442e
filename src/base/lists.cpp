// SPDX-License-Identifier: Apache-2.0
#include "base/lists.hpp"

#include <algorithm>

namespace colonnade {

Tensor ints_tensor(const std::vector<std::int64_t>& values) {
  Tensor tensor(DType::i64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<std::int64_t>().begin());
  return tensor;
}

Tensor floats_tensor(std::span<const float> values, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}

}  // namespace colonnade
