// SPDX-License-Identifier: Apache-2.0
// What each family of operators means, evaluated by the reference; opset changes of attributes and inputs.
#include <cmath>

#include "evaluate.hpp"
#include "frontends/onnx/table.hpp"
#include "passes/passes.hpp"

namespace colonnade::onnx_import::testing {
namespace {

/// One operator on x, in the given opset.
ModelBuilder single(std::int64_t opset, const std::string& op, const Shape& shape, const Names& more = {},
                    const std::vector<onnx::AttributeProto>& attributes = {}) {
  ModelBuilder model(opset);
  Names inputs = {"x"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  model.input("x", shape).output("y", 0).node(op, inputs, {"y"}, attributes);
  return model;
}

std::size_t count_of(const Graph& graph, std::string_view op) {
  return static_cast<std::size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return name_of(node.op) == op; }));
}

TEST(Lowering, ConvolutionIsChannelsLastBetweenTransposes) {
  ModelBuilder model = single(13, "Conv", {1, 1, 3, 3}, {"w"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.constant(float_tensor("w", {1, 1, 3, 3}, std::vector<float>(9, 1)));
  const Graph graph = model.import_graph();
  ASSERT_EQ(graph.nodes.size(), 3u);
  EXPECT_EQ(std::get<Transpose>(graph.nodes[0].op).perm, (Ints{0, 2, 3, 1}));
  EXPECT_EQ(std::get<Conv>(graph.nodes[1].op).kernel, (Ints{3, 3}));
  EXPECT_EQ(std::get<Transpose>(graph.nodes[2].op).perm, (Ints{0, 3, 1, 2}));
  expect_floats(evaluate(model, {counting({1, 1, 3, 3})})[0], {1, 1, 3, 3}, {8, 15, 12, 21, 36, 27, 20, 33, 24});
}

TEST(Lowering, OneDimensionalConvolutionIsLiftedToTwo) {
  ModelBuilder model =
      single(13, "Conv", {1, 1, 4}, {"w"}, {attribute("pads", Ints{0, 1}), attribute("strides", Ints{2})});
  model.constant(float_tensor("w", {1, 1, 3}, {1, 2, 3}));
  const Graph graph = model.import_graph();
  for (const Node& node : graph.nodes) {
    if (const auto* conv = std::get_if<Conv>(&node.op)) {
      EXPECT_EQ(conv->kernel, (Ints{1, 3}));
      EXPECT_EQ(conv->strides, (Ints{1, 2}));
      EXPECT_EQ(conv->pads, (Ints{0, 0, 0, 1}));
    }
  }
  expect_floats(evaluate(model, {counting({1, 1, 4})})[0], {1, 1, 2}, {8, 8});
}

TEST(Lowering, ThreeDimensionalConvolutionStaysThreeDimensional) {
  ModelBuilder model = single(13, "Conv", {1, 1, 2, 2, 2}, {"w"});
  model.constant(float_tensor("w", {1, 1, 2, 2, 2}, std::vector<float>(8, 1)));
  expect_floats(evaluate(model, {counting({1, 1, 2, 2, 2})})[0], {1, 1, 1, 1, 1}, {28});
}

TEST(Lowering, ConvolutionWithWeightsThatAreNoConstants) {
  ModelBuilder model = single(13, "Conv", {1, 1, 3}, {"w"});
  model.input("w", {1, 1, 2});
  expect_floats(evaluate(model, {counting({1, 1, 3}), floats({1, 1, 2}, {1, 10})})[0], {1, 1, 2}, {10, 21});
}

TEST(Lowering, TransposedConvolutionInOneDimension) {
  ModelBuilder model = single(13, "ConvTranspose", {1, 1, 2}, {"w"},
                              {attribute("strides", Ints{2}), attribute("output_padding", Ints{1})});
  model.constant(float_tensor("w", {1, 1, 2}, {1, 10}));
  expect_floats(evaluate(model, {floats({1, 1, 2}, {1, 2})})[0], {1, 1, 5}, {1, 10, 2, 20, 0});
}

TEST(Lowering, PoolsInOneDimensionAndTheirIndices) {
  ModelBuilder model(13);
  model.input("x", {1, 2, 4}).output("y").output("i", onnx::TensorProto::INT64);
  model.node("MaxPool", {"x"}, {"y", "i"}, {attribute("kernel_shape", Ints{2}), attribute("strides", Ints{2})});
  const auto outputs = evaluate(model, {counting({1, 2, 4})});
  expect_floats(outputs[0], {1, 2, 2}, {1, 3, 5, 7});
  expect_ints(outputs[1], {1, 2, 2}, {1, 3, 5, 7});
}

TEST(Lowering, PoolIndicesCountColumnsFirstWhenAsked) {
  ModelBuilder model(13);
  model.input("x", {1, 1, 2, 3}).output("y").output("i", onnx::TensorProto::INT64);
  model.node("MaxPool", {"x"}, {"y", "i"}, {attribute("kernel_shape", Ints{1, 3}), attribute("storage_order", 1)});
  expect_ints(evaluate(model, {counting({1, 1, 2, 3})})[1], {1, 1, 2, 1}, {4, 5});
}

TEST(Lowering, GlobalPoolsReduceTheSpatialAxes) {
  expect_floats(evaluate(single(13, "GlobalAveragePool", {1, 2, 2, 2}), {counting({1, 2, 2, 2})})[0], {1, 2, 1, 1},
                {1.5f, 5.5f});
  expect_floats(evaluate(single(13, "GlobalMaxPool", {1, 2, 4}), {counting({1, 2, 4})})[0], {1, 2, 1}, {3, 7});
  EXPECT_EQ(std::get<Reduce>(single(13, "GlobalAveragePool", {1, 2, 2, 2}).import_graph().nodes.at(0).op).kind,
            ReduceKind::mean);
}

TEST(Lowering, GemmTakesItsBiasWhereItHasOneValueAColumn) {
  const auto gemm = [](const Shape& c_shape, const std::vector<float>& c, float alpha, float beta) {
    ModelBuilder model = single(13, "Gemm", {2, 2}, {"b", "c"},
                                {attribute("alpha", alpha), attribute("beta", beta), attribute("transB", 1)});
    model.constant(float_tensor("b", {3, 2}, {1, 0, 0, 1, 1, 1})).constant(float_tensor("c", c_shape, c));
    return model;
  };
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  expect_floats(evaluate(gemm({3}, {10, 20, 30}, 1, 1), {x})[0], {2, 3}, {11, 22, 33, 13, 24, 37});
  EXPECT_EQ(gemm({3}, {10, 20, 30}, 1, 1).import_graph().nodes.size(), 1u);
  expect_floats(evaluate(gemm({1, 3}, {10, 20, 30}, 1, 1), {x})[0], {2, 3}, {11, 22, 33, 13, 24, 37});
  EXPECT_EQ(count_of(gemm({1, 3}, {10, 20, 30}, 1, 1).import_graph(), "Add"), 0u);
  expect_floats(evaluate(gemm({2, 1}, {10, 20}, 2, 0.5f), {x})[0], {2, 3}, {7, 9, 11, 16, 18, 24});
  expect_floats(evaluate(gemm({1}, {10}, 1, 1), {x})[0], {2, 3}, {11, 12, 13, 13, 14, 17});
  expect_floats(evaluate(gemm({3}, {10, 20, 30}, 1, 0), {x})[0], {2, 3}, {1, 2, 3, 3, 4, 7});
}

TEST(Lowering, SoftmaxBefore13WorksOnAMatrix) {
  const Tensor x = floats({1, 2, 2}, {0, 0, 0, 0});
  expect_floats(evaluate(single(11, "Softmax", {1, 2, 2}), {x})[0], {1, 2, 2}, {0.25f, 0.25f, 0.25f, 0.25f});
  expect_floats(evaluate(single(11, "Softmax", {1, 2, 2}, {}, {attribute("axis", 2)}), {x})[0], {1, 2, 2},
                {0.5f, 0.5f, 0.5f, 0.5f});
  expect_floats(evaluate(single(13, "Softmax", {1, 2, 2}), {x})[0], {1, 2, 2}, {0.5f, 0.5f, 0.5f, 0.5f});
  EXPECT_EQ(single(11, "Softmax", {2, 5}).import_graph().nodes.size(), 1u);
  EXPECT_EQ(count_of(single(11, "LogSoftmax", {2, 5, 7}).import_graph(), "Flatten"), 1u);
  expect_floats(evaluate(single(11, "Hardmax", {1, 2, 2}), {floats({1, 2, 2}, {0, 3, 3, 1})})[0], {1, 2, 2},
                {0, 1, 0, 0});
}

struct Moved {
  const char* op;
  std::int64_t before, after;
  std::vector<onnx::AttributeProto> attributes;
  std::vector<onnx::TensorProto> inputs;
  Names names;  ///< of the inputs, "" for absent ones
};
void PrintTo(const Moved& moved, std::ostream* stream) { *stream << moved.op; }

class AttributeBecameInput : public ::testing::TestWithParam<Moved> {};

TEST_P(AttributeBecameInput, BothFormsMeanTheSame) {
  const Moved& moved = GetParam();
  const Shape shape = {1, 2, 1, 4};
  ModelBuilder before = single(moved.before, moved.op, shape, {}, moved.attributes);
  ModelBuilder after = single(moved.after, moved.op, shape, moved.names);
  for (const auto& tensor : moved.inputs) after.constant(tensor);
  Tensor x = counting(shape);
  for (auto& value : x.values<float>()) value = 1.25f * value - 3;
  const auto old_result = evaluate(before, {x}), new_result = evaluate(after, {x});
  ASSERT_EQ(old_result[0].shape(), new_result[0].shape());
  const auto expected = old_result[0].values<float>();
  expect_floats(new_result[0], old_result[0].shape(), {expected.begin(), expected.end()});
}

INSTANTIATE_TEST_SUITE_P(
    Opsets, AttributeBecameInput,
    ::testing::Values(
        Moved{"Squeeze", 11, 13, {attribute("axes", Ints{0, 2})}, {int_tensor("a", {2}, {0, 2})}, {"a"}},
        Moved{"Squeeze", 7, 13, {}, {}, {}},
        Moved{"Unsqueeze", 11, 13, {attribute("axes", Ints{0, 5})}, {int_tensor("a", {2}, {0, 5})}, {"a"}},
        Moved{"Slice",
              9,
              10,
              {attribute("starts", Ints{1}), attribute("ends", Ints{3}), attribute("axes", Ints{3})},
              {int_tensor("s", {1}, {1}), int_tensor("e", {1}, {3}), int_tensor("a", {1}, {3})},
              {"s", "e", "a"}},
        Moved{"Slice",
              7,
              13,
              {attribute("starts", Ints{0, 1}), attribute("ends", Ints{1, 2})},
              {int_tensor("s", {2}, {0, 1}), int_tensor("e", {2}, {1, 2})},
              {"s", "e"}},
        Moved{"Pad",
              10,
              11,
              {attribute("pads", Ints{0, 0, 0, 1, 0, 0, 0, 2}), attribute("value", 3.0f)},
              {int_tensor("p", {8}, {0, 0, 0, 1, 0, 0, 0, 2}), float_tensor("v", {}, {3})},
              {"p", "v"}},
        Moved{"Pad",
              7,
              18,
              {attribute("pads", Ints{0, 0, 0, 1, 0, 0, 0, 2})},
              {int_tensor("p", {2}, {1, 2}), int_tensor("a", {1}, {-1})},
              {"p", "", "a"}},
        Moved{"Clip",
              10,
              11,
              {attribute("min", -1.0f), attribute("max", 2.0f)},
              {float_tensor("l", {}, {-1}), float_tensor("h", {}, {2})},
              {"l", "h"}},
        Moved{"Clip", 7, 13, {attribute("max", 2.0f)}, {float_tensor("h", {}, {2})}, {"", "h"}},
        Moved{"Split", 11, 13, {attribute("split", Ints{1})}, {int_tensor("s", {1}, {1})}, {"s"}},
        Moved{"ReduceSum", 11, 13, {attribute("axes", Ints{3})}, {int_tensor("a", {1}, {3})}, {"a"}},
        Moved{"ReduceMean", 17, 18, {attribute("axes", Ints{1, -1})}, {int_tensor("a", {2}, {1, -1})}, {"a"}},
        Moved{"ReduceMax", 13, 20, {attribute("axes", Ints{1})}, {int_tensor("a", {1}, {1})}, {"a"}},
        Moved{"ReduceL2", 11, 18, {}, {}, {}},
        Moved{"ReduceLogSumExp", 11, 18, {attribute("axes", Ints{3})}, {int_tensor("a", {1}, {3})}, {"a"}},
        Moved{"Upsample",
              8,
              9,
              {attribute("scales", std::vector<float>{1, 1, 2, 2})},
              {float_tensor("s", {4}, {1, 1, 2, 2})},
              {"s"}},
        Moved{"TopK", 9, 11, {attribute("k", 1)}, {int_tensor("k", {1}, {1})}, {"k"}},
        Moved{"Dropout", 7, 13, {attribute("ratio", 0.5f)}, {float_tensor("r", {}, {0.5f})}, {"r"}}),
    [](const ::testing::TestParamInfo<Moved>& moved) { return fmt::format("{}{}", moved.param.op, moved.index); });

TEST(Lowering, ClipOfConstantsIsOneNode) {
  ModelBuilder model = single(13, "Clip", {4}, {"l", "h"});
  model.constant(float_tensor("l", {}, {0})).constant(float_tensor("h", {}, {6}));
  const Graph graph = model.import_graph();
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(std::get<Unary>(graph.nodes[0].op), (Unary{UnaryKind::clip, 0, 6}));
}

TEST(Lowering, VariadicOperatorsAreChains) {
  for (const auto& [op, expected] : {std::pair{"Sum", 6.0f}, {"Mean", 2.0f}, {"Max", 3.0f}, {"Min", 1.0f}}) {
    ModelBuilder model = single(13, op, {1}, {"b", "c"});
    model.constant(float_tensor("b", {1}, {2})).constant(float_tensor("c", {1}, {3}));
    expect_floats(evaluate(model, {floats({1}, {1})})[0], {1}, {expected});
  }
  expect_floats(evaluate(single(13, "Mean", {1}), {floats({1}, {5})})[0], {1}, {5});
}

TEST(Lowering, SlopesOfOneValueAChannelApplyToChannels) {
  ModelBuilder model = single(9, "PRelu", {1, 2, 3}, {"s"});
  model.constant(float_tensor("s", {2}, {0.5f, 2}));
  expect_floats(evaluate(model, {floats({1, 2, 3}, {-1, 1, -2, -1, 1, -2})})[0], {1, 2, 3}, {-0.5f, 1, -1, -2, 1, -4});
}

TEST(Lowering, GroupNormalizationChangedItsScales) {
  const Tensor x = floats({1, 4, 1}, {1, 3, 10, 30});
  ModelBuilder old_model =
      single(18, "GroupNormalization", {1, 4, 1}, {"s", "b"}, {attribute("num_groups", 2), attribute("epsilon", 0.0f)});
  old_model.constant(float_tensor("s", {2}, {1, 2})).constant(float_tensor("b", {2}, {0, 1}));
  expect_floats(evaluate(old_model, {x})[0], {1, 4, 1}, {-1, 1, -1, 3}, 1e-4f);
  ModelBuilder new_model =
      single(21, "GroupNormalization", {1, 4, 1}, {"s", "b"}, {attribute("num_groups", 2), attribute("epsilon", 0.0f)});
  new_model.constant(float_tensor("s", {4}, {1, 2, 3, 4})).constant(float_tensor("b", {4}, {0, 1, 0, 1}));
  expect_floats(evaluate(new_model, {x})[0], {1, 4, 1}, {-1, 3, -3, 5}, 1e-4f);
}

TEST(Lowering, NormalizationsDivideByTheirNorms) {
  expect_floats(evaluate(single(13, "LpNormalization", {2, 2}), {floats({2, 2}, {3, 4, 0, 0})})[0], {2, 2},
                {0.6f, 0.8f, 0, 0});
  expect_floats(evaluate(single(13, "MeanVarianceNormalization", {1, 1, 1, 2}), {floats({1, 1, 1, 2}, {1, 3})})[0],
                {1, 1, 1, 2}, {-1, 1});
}

TEST(Lowering, FirstResizeRoundsLikeItsRuntime) {
  ModelBuilder model = single(10, "Resize", {1, 1, 2, 4}, {"s"});
  model.constant(float_tensor("s", {4}, {1, 1, 0.6f, 0.6f}));
  expect_floats(evaluate(model, {floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})})[0], {1, 1, 1, 2}, {1, 3});
}

TEST(Lowering, EmptyScalesOfResizeAreAbsent) {
  ModelBuilder model = single(11, "Resize", {1, 1, 1, 2}, {"none", "none", "sizes"}, {attribute("mode", "nearest")});
  model.constant(float_tensor("none", {0}, {})).constant(int_tensor("sizes", {4}, {1, 1, 1, 4}));
  expect_floats(evaluate(model, {floats({1, 1, 1, 2}, {1, 2})})[0], {1, 1, 1, 4}, {1, 1, 2, 2});
}

TEST(Lowering, ConstantsInEveryForm) {
  onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = float_tensor("", {2}, {5, 7});
  *sparse.mutable_indices() = int_tensor("", {2, 2}, {0, 1, 1, 0});
  sparse.add_dims(2);
  sparse.add_dims(2);
  onnx::AttributeProto sparse_value;
  sparse_value.set_name("sparse_value");
  sparse_value.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *sparse_value.mutable_sparse_tensor() = sparse;
  ModelBuilder model(13);
  model.output("a").output("b").output("c", 7).output("d", 7).output("e").output("f").output("g", 8).output("h", 8);
  model.node("Constant", {}, {"a"}, {attribute("value_float", 2.5f)});
  model.node("Constant", {}, {"b"}, {attribute("value_floats", std::vector<float>{1, 2})});
  model.node("Constant", {}, {"c"}, {attribute("value_int", 3)});
  model.node("Constant", {}, {"d"}, {attribute("value_ints", Ints{4, 5})});
  model.node("Constant", {}, {"e"}, {attribute("value", float_tensor("", {1, 2}, {8, 9}))});
  model.node("Constant", {}, {"f"}, {sparse_value});
  model.node("Constant", {}, {"g"}, {attribute("value_string", "s")});
  model.node("Constant", {}, {"h"}, {attribute("value_strings", Names{"t", "u"})});
  const Graph graph = model.import_graph();
  const auto value = [&](std::size_t index) -> const Tensor& {
    return *graph.value(graph.outputs[index]).constant->tensor();
  };
  expect_floats(value(0), {}, {2.5f});
  expect_floats(value(1), {2}, {1, 2});
  expect_ints(value(2), {}, {3});
  expect_ints(value(3), {2}, {4, 5});
  expect_floats(value(4), {1, 2}, {8, 9});
  expect_floats(value(5), {2, 2}, {0, 5, 7, 0});
  EXPECT_EQ(value(6).strings(), (Names{"s"}));
  EXPECT_EQ(value(7).strings(), (Names{"t", "u"}));
}

TEST(Lowering, RecurrentLayoutOneSwapsBatchAndTime) {
  const auto lstm = [](std::int64_t layout, const Shape& shape) {
    ModelBuilder model(14);
    model.input("x", shape).output("y").output("h").output("c");
    model.constant(float_tensor("w", {1, 4, 1}, {1, 2, 3, 4}))
        .constant(float_tensor("r", {1, 4, 1}, {0.5f, 0.4f, 0.3f, 0.2f}));
    model.node("LSTM", {"x", "w", "r"}, {"y", "h", "c"}, {attribute("hidden_size", 1), attribute("layout", layout)});
    return model;
  };
  const auto first = evaluate(lstm(0, {3, 2, 1}), {floats({3, 2, 1}, {1, 4, 2, 5, 3, 6})});
  const auto second = evaluate(lstm(1, {2, 3, 1}), {floats({2, 3, 1}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(first[0].shape(), (Shape{3, 1, 2, 1}));
  EXPECT_EQ(second[0].shape(), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(second[1].shape(), (Shape{2, 1, 1}));
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t batch = 0; batch < 2; ++batch) {
      EXPECT_FLOAT_EQ(first[0].values<float>()[step * 2 + batch], second[0].values<float>()[batch * 3 + step]);
    }
  }
}

TEST(Lowering, RemovedExperimentalOperators) {
  expect_floats(
      evaluate(single(7, "Affine", {2}, {}, {attribute("alpha", 2.0f), attribute("beta", 1.0f)}), {counting({2})})[0],
      {2}, {1, 3});
  expect_floats(evaluate(single(7, "ScaledTanh", {1}, {}, {attribute("alpha", 2.0f), attribute("beta", 3.0f)}),
                         {floats({1}, {0.5f})})[0],
                {1}, {2 * std::tanh(1.5f)});
  expect_floats(evaluate(single(7, "ParametricSoftplus", {1}, {}, {attribute("alpha", 2.0f), attribute("beta", 3.0f)}),
                         {floats({1}, {0.5f})})[0],
                {1}, {2 * std::log1p(std::exp(1.5f))});
  expect_floats(evaluate(single(7, "ImageScaler", {1, 2, 1, 1}, {},
                                {attribute("scale", 2.0f), attribute("bias", std::vector<float>{1, -1})}),
                         {floats({1, 2, 1, 1}, {3, 4})})[0],
                {1, 2, 1, 1}, {7, 7});
  expect_floats(evaluate(single(7, "Crop", {1, 1, 3, 4}, {}, {attribute("border", Ints{1, 0, 2, 1})}),
                         {counting({1, 1, 3, 4})})[0],
                {1, 1, 2, 1}, {1, 5});
  expect_floats(evaluate(single(7, "Crop", {1, 1, 3, 4}, {},
                                {attribute("border", Ints{1, 1, 0, 0}), attribute("scale", Ints{1, 2})}),
                         {counting({1, 1, 3, 4})})[0],
                {1, 1, 1, 2}, {5, 6});
}

TEST(Lowering, CompressEyeLikeAndShifts) {
  ModelBuilder compress = single(13, "Compress", {2, 3}, {"c"}, {attribute("axis", 1)});
  compress.constant(raw_tensor<char>("c", onnx::TensorProto::BOOL, {3}, {1, 0, 1}));
  expect_floats(evaluate(compress, {counting({2, 3})})[0], {2, 2}, {0, 2, 3, 5});
  expect_floats(evaluate(single(13, "EyeLike", {2, 3}, {}, {attribute("k", 1)}), {counting({2, 3})})[0], {2, 3},
                {0, 1, 0, 0, 0, 1});
  ModelBuilder shift(13);
  shift.output("y", onnx::TensorProto::UINT8)
      .constant(raw_tensor<std::uint8_t>("a", onnx::TensorProto::UINT8, {2}, {16, 4}));
  shift.constant(raw_tensor<std::uint8_t>("b", onnx::TensorProto::UINT8, {2}, {1, 2}))
      .node("BitShift", {"a", "b"}, {"y"}, {attribute("direction", "RIGHT")});
  const auto shifted = evaluate(shift, {});
  EXPECT_EQ(shifted[0].values<std::uint8_t>()[0], 8);
  EXPECT_EQ(shifted[0].values<std::uint8_t>()[1], 1);
}

TEST(Table, RowsOfAnOperatorDoNotOverlap) {
  const auto rows = all_rows();
  EXPECT_GT(rows.size(), 170u);
  for (const Row& a : rows) {
    EXPECT_LE(a.since, a.until) << a.name;
    EXPECT_LE(a.min_inputs, a.max_inputs) << a.name;
    EXPECT_GE(a.max_outputs, 1) << a.name;
    for (const Row& b : rows) {
      if (&a == &b || a.domain != b.domain || a.name != b.name) continue;
      EXPECT_TRUE(a.until < b.since || b.until < a.since) << a.name << " " << a.since << " and " << b.since;
    }
  }
}

/// The order of axes between convolutions over lines is chosen while their length and number are still open.
TEST(Lowering, OpenLinesAreTurnedAtTheBordersOnly) {
  ModelBuilder model;
  model.input("x", {-1, 4, -1});
  model.constant(float_tensor("w", {4, 4, 3}, std::vector<float>(48, 0.25f)));
  model.node("Conv", {"x", "w"}, {"a"}, {attribute("pads", Ints{1, 1})});
  model.node("Tanh", {"a"}, {"b"});
  model.node("Conv", {"b", "w"}, {"c"}, {attribute("pads", Ints{2, 2}), attribute("dilations", Ints{2})});
  model.node("Add", {"c", "a"}, {"y"}).output("y");
  Graph graph = model.import_graph();
  optimize(graph);
  int turned = 0;
  for (const Node& node : graph.nodes) turned += std::holds_alternative<Transpose>(node.op) ? 1 : 0;
  EXPECT_EQ(turned, 2) << to_text(graph);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
