// SPDX-License-Identifier: Apache-2.0
// Bytes as the numbers they stand for: by scales of blocks, and resized.
#include "evaluate.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using Numbers = std::vector<double>;

Tensor tensor(DType dtype, const Shape& shape, const Numbers& values) {
  return reference::tensor_of(dtype, shape, values);
}
Numbers numbers(const Tensor& tensor) { return reference::load_all<double>(tensor); }

/// Along the first and the last axis and between them; the last block may be short.
TEST(DequantizeLinear, BlocksOfComputedNumbers) {
  const Shape shape{4, 3, 5};
  Numbers integers(60);
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<double>(i * 37 % 251) - 120;
  for (const std::size_t axis : {0u, 1u, 2u}) {
    Shape blocks = shape;
    blocks[axis] = (blocks[axis] + 1) / 2;
    std::vector<float> scale;
    Numbers zero;
    for (std::int64_t i = 0; i < element_count(blocks); ++i) {
      scale.push_back(0.25f * static_cast<float>(i + 1));
      zero.push_back(static_cast<double>(i) - 7);
    }
    ModelBuilder model(25);
    model.input("x", shape, onnx::TensorProto::INT8).input("s", blocks).input("z", blocks, onnx::TensorProto::INT8);
    model.output("y").node("DequantizeLinear", {"x", "s", "z"}, {"y"},
                           {attribute("axis", static_cast<int>(axis)), attribute("block_size", 2)});
    const Numbers found = numbers(
        evaluate(model, {tensor(DType::i8, shape, integers), floats(blocks, scale), tensor(DType::i8, blocks, zero)})
            .front());
    for (std::size_t i = 0; i < integers.size(); ++i) {
      std::size_t index[3] = {i / 15, i / 5 % 3, i % 5};
      index[axis] /= 2;
      const std::size_t row = index[0] * static_cast<std::size_t>(blocks[1]) + index[1];
      const std::size_t at = row * static_cast<std::size_t>(blocks[2]) + index[2];
      EXPECT_EQ(found[i], (integers[i] - zero[at]) * static_cast<double>(scale[at])) << axis << ", " << i;
    }
  }
}

/// A picture of one value keeps it, whatever its weights are; what lies between two values is cut off.
TEST(Resize, OfBytesIsThatOfNumbers) {
  for (const char* mode : {"linear", "cubic"}) {
    ModelBuilder model(13);
    model.input("x", {1, 1, 3, 3}, onnx::TensorProto::UINT8).output("y", onnx::TensorProto::UINT8);
    model.constant(int_tensor("sizes", {4}, {1, 1, 7, 11}));
    model.node("Resize", {"x", "", "", "sizes"}, {"y"}, {attribute("mode", mode)});
    for (int value = 0; value < 256; ++value) {
      const Numbers same(9, value);
      const Tensor y = std::move(evaluate(model, {tensor(DType::u8, {1, 1, 3, 3}, same)}).front());
      for (const double found : numbers(y)) ASSERT_EQ(found, value) << mode;
    }
  }
  ModelBuilder model(13);
  model.input("x", {1, 1, 1, 2}, onnx::TensorProto::UINT8).output("y", onnx::TensorProto::UINT8);
  model.constant(int_tensor("sizes", {4}, {1, 1, 1, 4}));
  model.node("Resize", {"x", "", "", "sizes"}, {"y"}, {attribute("mode", "linear")});
  const Tensor y = std::move(evaluate(model, {tensor(DType::u8, {1, 1, 1, 2}, {10, 13})}).front());
  EXPECT_EQ(numbers(y), (Numbers{10, 10, 12, 13}));
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
