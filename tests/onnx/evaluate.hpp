// SPDX-License-Identifier: Apache-2.0
// Imports a model, verifies the graph and evaluates it by the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "builder.hpp"
#include "reference/reference.hpp"
#include "support/folder.hpp"

namespace colonnade::onnx_import::testing {

inline Tensor floats(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(DType::f32, shape);
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}
inline Tensor integers(const Shape& shape, const Ints& values) {
  Tensor tensor(DType::i64, shape);
  std::copy(values.begin(), values.end(), tensor.values<std::int64_t>().begin());
  return tensor;
}
/// 0, 1, 2, ...
inline Tensor counting(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  std::iota(tensor.values<float>().begin(), tensor.values<float>().end(), 0.0f);
  return tensor;
}

inline std::vector<Tensor> evaluate(const ModelBuilder& model, const std::vector<Tensor>& inputs) {
  const Graph graph = model.import_graph();
  verify(graph);
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  return reference::evaluate(graph, views);
}

inline void expect_floats(const Tensor& actual, const Shape& shape, const std::vector<float>& expected,
                          float tolerance = 1e-5f) {
  ASSERT_EQ(actual.dtype(), DType::f32);
  ASSERT_EQ(actual.shape(), shape);
  ASSERT_EQ(actual.values<float>().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual.values<float>()[i], expected[i], tolerance) << "at " << i;
}
inline void expect_ints(const Tensor& actual, const Shape& shape, const Ints& expected) {
  ASSERT_EQ(actual.dtype(), DType::i64);
  ASSERT_EQ(actual.shape(), shape);
  EXPECT_EQ(Ints(actual.values<std::int64_t>().begin(), actual.values<std::int64_t>().end()), expected);
}

using test::TemporaryFolder;

}  // namespace colonnade::onnx_import::testing
