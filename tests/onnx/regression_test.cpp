// SPDX-License-Identifier: Apache-2.0
// Models that colonnade-fuzz found something with, as builders: each runs, or is refused in one line.
#include <cmath>
#include <limits>

#include "colonnade/colonnade.hpp"
#include "evaluate.hpp"
#include "graph/parameters.hpp"

namespace colonnade::onnx_import::testing {
namespace {

Model load(const ModelBuilder& builder, std::size_t memory_limit_bytes = 0) {
  const std::string bytes = builder.bytes();
  Options options;
  options.threads = 1;
  options.memory_limit_bytes = memory_limit_bytes;
  return Model::from_bytes(as_bytes(bytes), options);
}

/// The model on 0, 1, 2, ... by a session, which must agree with the reference.
Tensor run(const ModelBuilder& builder, const Shape& shape) {
  const Model model = load(builder);
  const Tensor input = counting(shape);
  const TensorView view(input);
  const Tensor found = Session(model).run({&view, 1}).front();
  const Tensor expected = model.evaluate_reference(std::span<const TensorView>(&view, 1)).front();
  expect_floats(found, expected.shape(), {expected.values<float>().begin(), expected.values<float>().end()});
  return found;
}

TEST(Regression, ATranspositionWithoutPermReversesTheAxes) {
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 3, 4}}) {
    ModelBuilder model;
    model.input("x", shape).output("y").node("Transpose", {"x"}, {"y"});
    EXPECT_EQ(run(model, shape).shape(), Shape(shape.rbegin(), shape.rend()));
  }
}

TEST(Regression, ASoftmaxOfOneNumberIsOne) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    ModelBuilder model;
    model.input("x", {}).output("y").node(op, {"x"}, {"y"});
    try {
      expect_floats(run(model, {}), {}, {op == std::string("Softmax") ? 1.0f : 0.0f});
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
    }
  }
}

TEST(Regression, SumsOfNothingAreZero) {
  ModelBuilder model;
  model.input("x", {3, 2, 0}).output("y").constant(float_tensor("w", {0, 5}, {}));
  model.node("Relu", {"x"}, {"r"}).node("MatMul", {"r", "w"}, {"y"});
  expect_floats(run(model, {3, 2, 0}), {3, 2, 5}, std::vector<float>(30, 0));
}

TEST(Regression, ScalesOfGatesHaveAxes) {
  for (const std::int64_t width : {1, 2}) {
    const std::vector<std::uint8_t> weights(static_cast<std::size_t>(4 * width));
    ModelBuilder model;
    model.import("com.microsoft", 1).input("x", {2, 1, width}).output("y");
    model.constant(raw_tensor("w", onnx::TensorProto::UINT8, {1, width, 4}, weights));
    model.constant(raw_tensor<std::uint8_t>("r", onnx::TensorProto::UINT8, {1, 1, 4}, {1, 2, 3, 4}));
    model.constant(float_tensor("scale", {}, {0.5f})).constant(float_tensor("scales", {1, 2}, {1, 1}));
    const char* const scale = width == 1 ? "scale" : "scales";
    model.node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", scale, "", scale, ""}, {"y"},
               {attribute("hidden_size", 1)}, "com.microsoft");
    try {
      load(model);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
    }
  }
}

TEST(Regression, AScaleOfLayerNormalizationMayBroadcast) {
  ModelBuilder model;
  model.input("x", {2, 3}).output("y").constant(float_tensor("w", {1}, {2})).constant(float_tensor("b", {1}, {1}));
  model.node("Relu", {"x"}, {"r"}).node("LayerNormalization", {"r", "w", "b"}, {"y"});
  const float side = std::sqrt(6.0f);
  expect_floats(run(model, {2, 3}), {2, 3}, {1 - side, 1, 1 + side, 1 - side, 1, 1 + side}, 1e-3f);
}

TEST(Regression, PaddingOfNothingIsPadding) {
  ModelBuilder model;
  model.input("x", {1, 2, 0, 3}).output("y").constant(int_tensor("pads", {8}, {0, 0, 1, 0, 0, 0, 1, 0}));
  model.node("Relu", {"x"}, {"r"}).node("Pad", {"r", "pads"}, {"y"});
  expect_floats(run(model, {1, 2, 0, 3}), {1, 2, 2, 3}, std::vector<float>(12, 0));
}

TEST(Regression, ConcatenationsWithNothingAlongAnOuterAxis) {
  ModelBuilder model;
  model.input("x", {0, 3}).output("y").constant(float_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
  model.node("Concat", {"x", "w"}, {"y"}, {attribute("axis", -2)});
  expect_floats(run(model, {0, 3}), {2, 3}, {1, 2, 3, 4, 5, 6});
}

/// Axes of floats are not looked at by the shape rule: only the evaluation knows how many there are.
TEST(Regression, SlicesWhoseCountsDisagreeAreRefused) {
  ModelBuilder model;
  model.input("x", {3, 3, 3}).output("y");
  model.input("starts", {9}, onnx::TensorProto::INT64).input("ends", {3}, onnx::TensorProto::INT64);
  model.input("axes", {3}, onnx::TensorProto::FLOAT);
  model.node("Slice", {"x", "starts", "ends", "axes"}, {"y"});
  const Model loaded = Model::from_bytes(as_bytes(model.bytes()));
  const Tensor x(DType::f32, {3, 3, 3}), starts(DType::i64, {9}), ends(DType::i64, {3}), axes(DType::f32, {3});
  try {
    loaded.evaluate_reference(std::vector<TensorView>{x, starts, ends, axes});
    ADD_FAILURE() << "was evaluated";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("9 starts, 3 axes"), std::string::npos) << error.what();
  }
}

TEST(Regression, RowsBeyondAnyMemoryAreAnError) {
  constexpr std::int64_t kMany = 4294967295;
  ModelBuilder model;
  model.input("a", {1, 2, 4, 4}).input("v", {kMany, 2, 4, 8}).output("y");
  model.node("Tanh", {"a"}, {"t"}).node("MatMul", {"t", "v"}, {"y"});
  const Model loaded = Model::from_bytes(as_bytes(model.bytes()));
  EXPECT_THROW(Session(loaded).prepare(), Error);
}

TEST(Regression, ABlockOfScalesMayBeLongerThanAnyAxis) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  ModelBuilder model(21);
  model.input("x", {2, 2}).output("y").constant(float_tensor("scale", {1, 2}, {1, 2}));
  model.node("Relu", {"x"}, {"r"})
      .node("QuantizeLinear", {"r", "scale"}, {"q"}, {attribute("axis", 0), attribute("block_size", kMany)});
  model.node("DequantizeLinear", {"q", "scale"}, {"y"}, {attribute("axis", 0), attribute("block_size", kMany)});
  expect_floats(run(model, {2, 2}), {2, 2}, {0, 0, 2, 4});
}

TEST(Regression, MuchThatIsMadeOfNothingIsAnError) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  for (const char* op : {"ReduceProd", "ReduceLogSumExp"}) {
    ModelBuilder model(18);
    model.input("x", {kMany, 0}).input("axes", {1}, onnx::TensorProto::INT64).output("y");
    model.node(op, {"x", "axes"}, {"y"}, {attribute("keepdims", 1)});
    const Model loaded = load(model);
    Tensor x(DType::f32, {kMany, 0}), axes(DType::i64, {1});
    axes.values<std::int64_t>()[0] = 1;
    const std::vector<TensorView> inputs = {x, axes};
    for (const bool by_session : {false, true}) {
      try {
        static_cast<void>(by_session ? Session(loaded).run(inputs) : loaded.evaluate_reference(inputs));
        ADD_FAILURE() << op << " was evaluated";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::resource_limit) << error.what();
      }
    }
  }
}

TEST(Regression, MatricesMayHaveMoreRowsThanThirtyTwoBitsCount) {
  for (const std::int64_t rows : {std::int64_t{1} << 32, std::int64_t{1} << 31}) {
    ModelBuilder model;
    model.input("a", {rows, 10}).input("b", {10, 3}).output("y");
    model.node("Gemm", {"a", "b"}, {"y"}, {attribute("transB", 0)});
    Session session(load(model));
    EXPECT_NO_THROW(session.prepare());
    EXPECT_EQ(session.output_shapes(std::vector<Shape>{{rows, 10}, {10, 3}}).front(), (Shape{rows, 3}));
  }
}

TEST(Regression, ManyWindowsOfNothingAreNothing) {
  constexpr std::int64_t kWide = std::int64_t{1} << 36;
  ModelBuilder pool;
  pool.input("x", {1, 0, kWide}).output("y");
  pool.node("MaxPool", {"x"}, {"y"}, {attribute("kernel_shape", Ints{200}), attribute("strides", Ints{10})});
  ModelBuilder convolution;
  convolution.input("x", {0, 1, kWide}).input("w", {1, 1, 200}).output("y");
  convolution.node("Conv", {"x", "w"}, {"y"});
  const Tensor empty(DType::f32, {1, 0, kWide}), images(DType::f32, {0, 1, kWide}), weight(DType::f32, {1, 1, 200});
  for (const bool by_session : {false, true}) {
    const auto outputs = [&](const ModelBuilder& model, const std::vector<TensorView>& inputs) {
      const Model loaded = load(model);
      return by_session ? Session(loaded).run(inputs) : loaded.evaluate_reference(inputs);
    };
    EXPECT_EQ(outputs(pool, {empty}).at(0).shape(), (Shape{1, 0, (kWide - 200) / 10 + 1}));
    EXPECT_EQ(outputs(convolution, {images, weight}).at(0).shape(), (Shape{0, 1, kWide - 199}));
  }
}

TEST(Regression, AStepMayBeLongerThanAnyAxis) {
  for (const std::int64_t step : {std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::min()}) {
    const SliceRange one = slice_range(4, step > 0 ? 1 : 2, step > 0 ? 4 : -5, step);
    EXPECT_EQ(one, (SliceRange{step > 0 ? 1 : 2, 1, 1}));
    ModelBuilder model;
    model.input("x", {1, 4, 5, 6}).output("y");
    const std::int64_t begin = step > 0 ? 0 : -1, end = step > 0 ? 9 : -9;
    model.constant(int_tensor("starts", {2}, {begin, begin})).constant(int_tensor("ends", {2}, {end, end}));
    model.constant(int_tensor("axes", {2}, {2, 3})).constant(int_tensor("steps", {2}, {step, step}));
    model.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
    EXPECT_EQ(run(model, {1, 4, 5, 6}).shape(), (Shape{1, 4, 1, 1}));
  }
}

TEST(Regression, AMemoryLimitHoldsForNodesEvaluatedApart) {
  constexpr std::int64_t kMany = 1000;
  ModelBuilder model(18);
  model.input("x", {kMany, 0}).input("axes", {1}, onnx::TensorProto::INT64).output("y");
  model.node("ReduceProd", {"x", "axes"}, {"y"}, {attribute("keepdims", 1)});
  Tensor x(DType::f32, {kMany, 0}), axes(DType::i64, {1});
  axes.values<std::int64_t>()[0] = 1;
  const std::vector<TensorView> inputs = {x, axes};
  EXPECT_EQ(Session(load(model, kMany * 8)).run(inputs).at(0).shape(), (Shape{kMany, 1}));
  try {
    static_cast<void>(Session(load(model, kMany * 8 - 1)).run(inputs));
    FAIL() << "a tensor beyond the limit was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::resource_limit);
    EXPECT_NE(std::string(error.what()).find("(Reduce)"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("memory limit is 7999"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
