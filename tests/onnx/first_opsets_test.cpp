// SPDX-License-Identifier: Apache-2.0
// What opsets 1 to 6 wrote in another way, and operators that were removed since.
#include <cmath>
#include <limits>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::first_opsets {
namespace {

using Attributes = std::vector<onnx::AttributeProto>;
using Tensors = std::vector<Tensor>;

constexpr int kInt64 = onnx::TensorProto::INT64, kAny = onnx::TensorProto::UNDEFINED;

Names names_of(const Tensors& inputs) {
  Names names;
  for (std::size_t i = 0; i < inputs.size(); ++i) names.push_back("x" + std::to_string(i));
  return names;
}

/// One operator on inputs of the tensors' types and shapes.
ModelBuilder model_of(std::int64_t opset, const std::string& op, const Tensors& inputs, const Attributes& attributes,
                      const Names& outputs = {"y"}) {
  ModelBuilder model(opset);
  const Names names = names_of(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    model.input(names[i], inputs[i].shape(), data_type_of(inputs[i].dtype()));
  for (const auto& output : outputs) model.output(output, kAny);
  model.node(op, names, outputs, attributes);
  return model;
}

Tensors run(std::int64_t opset, const std::string& op, const Tensors& inputs, const Attributes& attributes = {},
            const Names& outputs = {"y"}) {
  return evaluate(model_of(opset, op, inputs, attributes, outputs), inputs);
}

void expect_refused(const ModelBuilder& model, const std::string& text) {
  try {
    model.import_graph();
    ADD_FAILURE() << "the model is accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(FirstOpsets, BroadcastingIsAskedForAndMayNameItsAxis) {
  const Tensors inputs = {counting({1, 2, 3}), floats({2}, {10, 20})};
  const auto along = run(6, "Add", inputs, {attribute("broadcast", 1), attribute("axis", 1)});
  expect_floats(along[0], {1, 2, 3}, {10, 11, 12, 23, 24, 25});
  const auto negative = run(6, "Sub", inputs, {attribute("broadcast", 1), attribute("axis", -2)});
  expect_floats(negative[0], {1, 2, 3}, {-10, -9, -8, -17, -16, -15});
  const auto last = run(1, "Mul", {counting({2, 3}), floats({3}, {1, 2, 3})}, {attribute("broadcast", 1)});
  expect_floats(last[0], {2, 3}, {0, 2, 6, 3, 8, 15});
  const auto scalar = run(6, "Pow", {counting({3}), floats({}, {2})}, {attribute("broadcast", 1)});
  expect_floats(scalar[0], {3}, {0, 1, 4});
}

TEST(FirstOpsets, WithoutBroadcastingShapesAreTheSame) {
  expect_refused(model_of(6, "Add", {counting({2, 3}), counting({3})}, {}), "expected inputs of one shape");
  expect_refused(model_of(6, "Sum", {counting({2, 3}), counting({2, 1})}, {}), "expected inputs of one shape");
  expect_refused(
      model_of(6, "Add", {counting({2, 3}), counting({3})}, {attribute("broadcast", 1), attribute("axis", 0)}),
      "node 'y' (Add)");
  expect_refused(
      model_of(6, "Add", {counting({2, 3}), counting({2, 3})}, {attribute("broadcast", 1), attribute("axis", 1)}),
      "exceed rank 2");
  expect_floats(run(6, "Mean", {counting({2}), floats({2}, {3, 5})})[0], {2}, {1.5f, 3});
  expect_floats(run(6, "Max", {counting({2}), floats({2}, {3, 0})})[0], {2}, {3, 1});
}

TEST(FirstOpsets, ComparisonsBroadcastToo) {
  const auto outputs =
      run(1, "Less", {counting({2, 2}), floats({2}, {1, 2})}, {attribute("broadcast", 1), attribute("axis", 0)});
  ASSERT_EQ(outputs[0].dtype(), DType::boolean);
  EXPECT_EQ(std::vector<bool>(outputs[0].values<bool>().begin(), outputs[0].values<bool>().end()),
            (std::vector<bool>{true, false, false, false}));
}

TEST(FirstOpsets, SlopesBelongToChannels) {
  const Tensor x = floats({1, 2, 2}, {-1, 1, -2, -3});
  expect_floats(run(6, "PRelu", {x, floats({2}, {10, 100})})[0], {1, 2, 2}, {-10, 1, -200, -300});
  expect_floats(run(6, "PRelu", {x, floats({2, 1}, {10, 100})})[0], {1, 2, 2}, {-10, 1, -200, -300});
  expect_floats(run(6, "PRelu", {x, floats({1}, {2})})[0], {1, 2, 2}, {-2, 1, -4, -6});
}

TEST(FirstOpsets, TypesAreText) {
  expect_ints(run(1, "Cast", {floats({2}, {1.5f, -2})}, {attribute("to", "INT64")})[0], {2}, {1, -2});
  expect_ints(run(1, "Cast", {floats({1}, {3})}, {attribute("to", "int64")})[0], {1}, {3});
  expect_ints(run(5, "Cast", {floats({1}, {3})}, {attribute("to", kInt64)})[0], {1}, {3});
  expect_refused(model_of(1, "Cast", {floats({1}, {3})}, {attribute("to", "INT65")}), "'INT65' is no type");
  expect_refused(model_of(1, "Cast", {floats({1}, {3})}, {}), "attribute 'to' is required");
}

TEST(FirstOpsets, ShapesAndCountsAreAttributes) {
  expect_floats(run(1, "Reshape", {counting({2, 3})}, {attribute("shape", Ints{0, -1, 1})})[0], {2, 3, 1},
                {0, 1, 2, 3, 4, 5});
  expect_floats(run(1, "Pad", {counting({2})}, {attribute("paddings", Ints{1, 0}), attribute("value", 9.0f)})[0], {3},
                {9, 0, 1});
  expect_floats(run(1, "Concat", {counting({1, 2}), counting({1, 1})})[0], {1, 3}, {0, 1, 0});
  expect_refused(model_of(4, "Concat", {counting({1, 2})}, {}), "attribute 'axis' is required");
  expect_floats(run(1, "Upsample", {counting({1, 1, 1, 2})},
                    {attribute("height_scale", 2.0f), attribute("width_scale", 1.5f)})[0],
                {1, 1, 2, 3}, {0, 0, 1, 0, 0, 1});
}

TEST(FirstOpsets, TileRepeatsOneAxis) {
  const Tensors inputs = {counting({2, 2}), floats({1}, {2}), floats({}, {1})};
  expect_floats(run(1, "Tile", inputs)[0], {2, 4}, {0, 1, 0, 1, 2, 3, 2, 3});
}

TEST(FirstOpsets, SplitTakesSizesAsAnInput) {
  const auto outputs = run(1, "Split", {counting({3}), floats({2}, {1, 2})}, {}, {"a", "b"});
  expect_floats(outputs[0], {1}, {0});
  expect_floats(outputs[1], {2}, {1, 2});
  const auto equal = run(1, "Split", {counting({2, 2})}, {attribute("axis", 1)}, {"a", "b"});
  expect_floats(equal[1], {2, 1}, {1, 3});
}

TEST(FirstOpsets, ActivationsHadOtherDefaults) {
  const float infinity = std::numeric_limits<float>::infinity();
  expect_floats(run(1, "Selu", {floats({1}, {1})})[0], {1}, {1.0507f}, 1e-7f);
  EXPECT_EQ(run(1, "Clip", {floats({1}, {-infinity})}, {attribute("max", 1.0f)})[0].values<float>()[0], -infinity);
  EXPECT_EQ(run(6, "Clip", {floats({1}, {-infinity})}, {attribute("max", 1.0f)})[0].values<float>()[0],
            std::numeric_limits<float>::lowest());
}

TEST(FirstOpsets, ProductsAddAMatrixOrBroadcastOne) {
  const Tensors inputs = {counting({2, 2}), floats({2, 2}, {1, 0, 0, 1}), floats({2}, {10, 20})};
  expect_floats(run(6, "Gemm", inputs, {attribute("broadcast", 1)})[0], {2, 2}, {10, 21, 12, 23});
}

Tensors batch_norm_inputs() {
  return {floats({2, 1, 2}, {1, 2, 3, 6}), floats({1}, {2}), floats({1}, {1}), floats({1}, {1}), floats({1}, {4})};
}

TEST(FirstOpsets, BatchNormalizationTakesStatisticsForFiveOutputs) {
  const Attributes epsilon = {attribute("epsilon", 0.0f), attribute("momentum", 0.5f)};
  const auto tested = run(6, "BatchNormalization", batch_norm_inputs(), epsilon);
  expect_floats(tested[0], {2, 1, 2}, {1, 2, 3, 6});
  const Names outputs = {"y", "mean", "var", "saved_mean", "saved_var"};
  const auto trained = run(6, "BatchNormalization", batch_norm_inputs(), epsilon, outputs);
  const float deviation = std::sqrt(3.5f);
  expect_floats(trained[0], {2, 1, 2}, {1 - 4 / deviation, 1 - 2 / deviation, 1, 1 + 6 / deviation});
  expect_floats(trained[1], {1}, {2});
  expect_floats(trained[2], {1}, {3.75f});
  expect_floats(trained[3], {1}, {3});
  expect_floats(trained[4], {1}, {3.5f});
  const auto kept =
      run(6, "BatchNormalization", batch_norm_inputs(), {attribute("epsilon", 0.0f), attribute("is_test", 1)}, outputs);
  expect_floats(kept[0], {2, 1, 2}, {1, 2, 3, 6});
  expect_floats(kept[2], {1}, {4});
}

TEST(FirstOpsets, BatchNormalizationOfActivations) {
  const Tensors inputs = {counting({2, 1, 2}), floats({1, 2}, {1, 2}), floats({1, 2}, {0, 1}), floats({1, 2}, {0, 1}),
                          floats({1, 2}, {1, 4})};
  const auto outputs = run(6, "BatchNormalization", inputs, {attribute("epsilon", 0.0f), attribute("spatial", 0)});
  expect_floats(outputs[0], {2, 1, 2}, {0, 1, 2, 3});
}

TEST(FirstOpsets, NormsHaveRealExponents) {
  const Tensor x = floats({1, 1, 2}, {3, -4});
  expect_floats(run(1, "GlobalLpPool", {x}, {attribute("p", 2.0f)})[0], {1, 1, 1}, {5});
  expect_floats(run(1, "GlobalLpPool", {x}, {attribute("p", 1.5f)})[0], {1, 1, 1}, {std::pow(5.196152f + 8, 2.0f / 3)},
                1e-4f);
  const Ints kernel = {2};
  expect_floats(run(1, "LpPool", {x}, {attribute("p", 2.0f), attribute("kernel_shape", kernel)})[0], {1, 1, 1}, {5});
  expect_refused(model_of(1, "LpPool", {x}, {attribute("p", 1.5f), attribute("kernel_shape", kernel)}),
                 "no whole number");
  expect_refused(model_of(2, "GlobalLpPool", {x}, {attribute("p", 0)}), "out of range");
}

TEST(FirstOpsets, MeanVarianceNormalizationAcrossChannels) {
  const Tensor x = floats({1, 2, 1, 2}, {1, 3, 5, 7});
  expect_floats(run(1, "MeanVarianceNormalization", {x})[0], {1, 2, 1, 2}, {-1, 1, -1, 1});
  expect_floats(run(1, "MeanVarianceNormalization", {x},
                    {attribute("across_channels", 1), attribute("normalize_variance", 0)})[0],
                {1, 2, 1, 2}, {-3, -1, 1, 3});
}

TEST(FirstOpsets, DropoutPassesEverything) {
  const auto outputs = run(1, "Dropout", {counting({2})}, {attribute("is_test", 1)}, {"y", "mask"});
  expect_floats(outputs[0], {2}, {0, 1});
  expect_floats(outputs[1], {2}, {1, 1});
}

TEST(FirstOpsets, FilesWithoutImportsHaveTheFirst) {
  const Tensors inputs = {counting({1, 2}), counting({1, 1})};
  ModelBuilder model = model_of(0, "Concat", inputs, {});
  expect_refused(model, "imports no opset");
  model.proto.set_ir_version(2);
  expect_floats(evaluate(model, inputs)[0], {1, 3}, {0, 1, 0});
}

TEST(FirstOpsets, FillsOfRemovedOperators) {
  expect_floats(run(1, "ConstantFill", {}, {attribute("shape", Ints{2}), attribute("value", 3.0f)})[0], {2}, {3, 3});
  expect_ints(run(1, "ConstantFill", {integers({1}, {2})},
                  {attribute("input_as_shape", 1), attribute("extra_shape", Ints{1}), attribute("dtype", kInt64)})[0],
              {2, 1}, {0, 0});
  expect_floats(
      run(1, "GivenTensorFill", {}, {attribute("shape", Ints{2, 1}), attribute("values", std::vector<float>{1, 2})})[0],
      {2, 1}, {1, 2});
  expect_refused(model_of(1, "ConstantFill", {}, {}), "expected an input or the attribute 'shape'");
}

TEST(FirstOpsets, RecurrentUnitsStopWithTheirSequence) {
  const Tensors inputs = {floats({1, 2, 1}, {4, 8}), floats({1, 2, 3}, {0, 0, 0, 0, 0, 0}), integers({2}, {1, 5}),
                          integers({1}, {3})};
  expect_floats(run(1, "GRUUnit", inputs)[0], {1, 2, 1}, {4, 4});
  expect_floats(run(1, "GRUUnit", inputs, {attribute("drop_states", 1)})[0], {1, 2, 1}, {0, 4});
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::first_opsets
