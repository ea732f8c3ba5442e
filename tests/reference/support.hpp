// SPDX-License-Identifier: Apache-2.0
// Small tensors in, one operator, numbers out.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/elements.hpp"
#include "reference/reference.hpp"

namespace colonnade::test {

using Numbers = std::vector<double>;

inline Tensor tensor(DType dtype, Shape shape, const Numbers& values) {
  return reference::tensor_of(dtype, std::move(shape), values);
}
inline Tensor f32(Shape shape, const Numbers& values) { return tensor(DType::f32, std::move(shape), values); }
inline Tensor i64(Shape shape, const Ints& values) {
  return reference::tensor_of(DType::i64, std::move(shape), values);
}
inline Tensor ints(const Ints& values) { return i64({static_cast<std::int64_t>(values.size())}, values); }
inline Tensor booleans(Shape shape, const Numbers& values) { return tensor(DType::boolean, std::move(shape), values); }
inline Tensor strings(Shape shape, std::vector<std::string> values) {
  Tensor result(DType::string, std::move(shape));
  result.strings() = std::move(values);
  return result;
}

/// Uniform in [-1, 1], the same in every run.
inline Tensor random(Shape shape, unsigned seed = 1, DType dtype = DType::f32) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Numbers values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = uniform(generator);
  return tensor(dtype, std::move(shape), values);
}

inline Numbers numbers(const Tensor& tensor) { return reference::load_all<double>(tensor); }

/// All outputs of one operator; null pointers are absent inputs.
inline std::vector<Tensor> outputs_of(Operator op, const std::vector<const Tensor*>& inputs, std::size_t outputs = 1) {
  Node node{std::move(op), {}, {}, "subject", "Test"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.inputs.push_back(inputs[i] == nullptr ? kAbsent : static_cast<ValueId>(i));
  }
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(inputs.size() + i));
  return reference::evaluate(node, inputs);
}

template <class... Inputs>
Tensor run(Operator op, const Inputs&... inputs) {
  return std::move(outputs_of(std::move(op), {&inputs...})[0]);
}

inline void expect_near(const Tensor& found, const Shape& shape, const Numbers& expected, double tolerance = 1e-6) {
  ASSERT_EQ(found.shape(), shape);
  const Numbers values = numbers(found);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool near = values[i] == expected[i] || std::abs(values[i] - expected[i]) <= tolerance;
    EXPECT_TRUE(near) << "element " << i << " is " << values[i] << ", expected " << expected[i];
  }
}

inline void expect_error(ErrorCode code, const Operator& op, const std::vector<const Tensor*>& inputs) {
  try {
    outputs_of(op, inputs);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    EXPECT_NE(std::string(error.what()).find("subject"), std::string::npos) << error.what();
  }
}

inline double dot(const Tensor& a, const Tensor& b) {
  const Numbers x = numbers(a), y = numbers(b);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace colonnade::test
