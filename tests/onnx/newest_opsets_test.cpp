// SPDX-License-Identifier: Apache-2.0
// What the newest opsets added to operators that are older, and the newest format.
#include <cmath>
#include <limits>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::newest_opsets {
namespace {

using Tensors = std::vector<Tensor>;
using Attributes = std::vector<onnx::AttributeProto>;

constexpr int kAny = onnx::TensorProto::UNDEFINED;

Tensor run(const std::string& op, const Tensors& inputs, const Attributes& attributes) {
  ModelBuilder model(28);
  Names names;
  for (const Tensor& input : inputs) {
    names.push_back("x" + std::to_string(names.size()));
    model.input(names.back(), input.shape(), data_type_of(input.dtype()));
  }
  model.output("y", kAny).node(op, names, {"y"}, attributes);
  return evaluate(model, inputs)[0];
}

template <class T>
Tensor row(DType dtype, const std::vector<T>& values) {
  Tensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<T>().begin());
  return tensor;
}

/// The onnx package writes this version since its 1.23.
TEST(NewestOpsets, FormatsUpToTheNewestAreRead) {
  for (const std::int64_t version : {3, 13, 14, 15}) {
    ModelBuilder model(28);
    model.input("x", {2}).output("y", kAny).node("Relu", {"x"}, {"y"});
    model.proto.set_ir_version(version);
    if (version < 15)
      expect_floats(evaluate(model, {floats({2}, {-1, 2})})[0], {2}, {0, 2});
    else
      EXPECT_THROW(model.import_graph(), Error);
  }
}

TEST(NewestOpsets, BlocksMayHaveTheirDepthLast) {
  const Tensor x = counting({1, 2, 2, 4});
  expect_floats(run("SpaceToDepth", {x}, {attribute("blocksize", 2)}), {1, 8, 1, 2},
                {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15});
  const Tensor last = run("SpaceToDepth", {x}, {attribute("blocksize", 2), attribute("mode", "CRD")});
  expect_floats(last, {1, 8, 1, 2}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15});
  expect_floats(run("DepthToSpace", {last}, {attribute("blocksize", 2), attribute("mode", "CRD")}), {1, 2, 2, 4},
                {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  EXPECT_THROW(run("SpaceToDepth", {x}, {attribute("blocksize", 2), attribute("mode", "RCD")}), Error);
}

template <class T>
void check_shifts(DType dtype) {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = std::numeric_limits<T>::max();
  constexpr auto kBits = static_cast<T>(8 * sizeof(T));
  const Tensors inputs = {row<T>(dtype, {1, -1, -100, 100, kLeast, kMost, -7, 7, -7, 7}),
                          row<T>(dtype, {3, 1, 2, 2, kBits - 1, 1, kBits, kBits, -1, -1})};
  const Tensor left = run("BitShift", inputs, {attribute("direction", "LEFT")});
  const Tensor right = run("BitShift", inputs, {attribute("direction", "RIGHT")});
  ASSERT_EQ(left.dtype(), dtype);
  ASSERT_EQ(right.dtype(), dtype);
  const auto all = [](const Tensor& tensor) {
    return std::vector<std::int64_t>(tensor.values<T>().begin(), tensor.values<T>().end());
  };
  EXPECT_EQ(all(left), (Ints{8, -2, static_cast<T>(-400), static_cast<T>(400), 0, -2, 0, 0, 0, 0}));
  EXPECT_EQ(all(right), (Ints{0, -1, -25, 25, -1, kMost / 2, -1, 0, -1, 0}));
}

TEST(NewestOpsets, NumbersWithASignAreShifted) {
  check_shifts<std::int8_t>(DType::i8);
  check_shifts<std::int16_t>(DType::i16);
  check_shifts<std::int32_t>(DType::i32);
  check_shifts<std::int64_t>(DType::i64);
}

TEST(NewestOpsets, RemaindersOfFloatsMayHaveTheDivisorsSign) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Tensor a = floats({10}, {5.5f, -5.5f, 5.5f, -5.5f, 0.0f, -0.0f, 4, 3, -3, kInfinity});
  const Tensor b = floats({10}, {2, 2, -2, -2, -3, 3, -2, kInfinity, kInfinity, 2});
  const float wanted[] = {1.5f, 0.5f, -0.5f, -1.5f, -0.0f, 0.0f, -0.0f, 3, kInfinity, std::nanf("")};
  const Tensor y = run("Mod", {a, b}, {});
  for (std::size_t i = 0; i < 10; ++i) {
    const float found = y.values<float>()[i];
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(found)) << i;
      continue;
    }
    EXPECT_EQ(found, wanted[i]) << i;
    EXPECT_EQ(std::signbit(found), std::signbit(wanted[i])) << i;
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::newest_opsets
