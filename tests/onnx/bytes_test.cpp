// SPDX-License-Identifier: Apache-2.0
// Bytes as the numbers they stand for: by scales of blocks, and resized.
#include <span>

#include "colonnade/colonnade.hpp"
#include "numbers.hpp"

namespace colonnade::onnx_import::testing {
namespace {

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

/// By the reference, and by float32 kernels.
std::vector<Numbers> both(const ModelBuilder& model, const Tensor& x) {
  const std::string bytes = model.proto.SerializeAsString();
  Session session(Model::from_bytes(std::as_bytes(std::span(bytes))));
  return {numbers(evaluate(model, {x}).front()), numbers(session.run(std::vector<TensorView>{x}).front())};
}

ModelBuilder resize(const char* mode, const Shape& from, const Shape& to) {
  ModelBuilder model(13);
  model.input("x", from, onnx::TensorProto::UINT8).output("y", onnx::TensorProto::UINT8);
  model.constant(int_tensor("sizes", {4}, to));
  model.node("Resize", {"x", "", "", "sizes"}, {"y"}, {attribute("mode", mode)});
  return model;
}

/// A picture of one value keeps it, whatever its weights are.
TEST(Resize, OfBytesKeepsOneValue) {
  Numbers given, expected;
  for (int value = 0; value < 256; ++value) {
    given.insert(given.end(), 9, value);
    expected.insert(expected.end(), 77, value);
  }
  for (const char* mode : {"linear", "cubic"})
    for (const Numbers& found :
         both(resize(mode, {256, 1, 3, 3}, {256, 1, 7, 11}), tensor(DType::u8, {256, 1, 3, 3}, given)))
      EXPECT_EQ(found, expected) << mode;
}

TEST(Resize, OfBytesCutsOff) {
  for (const Numbers& found :
       both(resize("linear", {1, 1, 1, 2}, {1, 1, 1, 4}), tensor(DType::u8, {1, 1, 1, 2}, {10, 13})))
    EXPECT_EQ(found, (Numbers{10, 10, 12, 13}));
}

/// Scales that do not fit are refused, whatever their number.
TEST(DequantizeLinear, BlocksOfAnotherShape) {
  for (const Shape& blocks : {Shape{2, 5, 3}, Shape{3, 3, 5}, Shape{4, 5}}) {
    ModelBuilder model(25);
    model.input("x", {4, 3, 5}, onnx::TensorProto::INT8).input("s", blocks);
    model.output("y").node("DequantizeLinear", {"x", "s"}, {"y"}, {attribute("axis", 0), attribute("block_size", 2)});
    const Tensor x = tensor(DType::i8, {4, 3, 5}, Numbers(60, 1));
    const std::vector<float> scale(static_cast<std::size_t>(element_count(blocks)), 1);
    EXPECT_THROW(evaluate(model, {x, floats(blocks, scale)}), Error) << blocks.front();
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
