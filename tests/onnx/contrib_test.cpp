// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft against values worked out by hand and against the ONNX operators they fuse.
#include <cmath>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::contrib {
namespace {

const std::string kMicrosoft = "com.microsoft";

ModelBuilder contrib_model(std::int64_t opset = 20) {
  ModelBuilder model(opset);
  model.import(kMicrosoft, 1);
  return model;
}

/// One operator of com.microsoft on float inputs.
std::vector<Tensor> apply(const std::string& op, const std::vector<Tensor>& inputs,
                          const std::vector<onnx::AttributeProto>& attributes = {}, const Names& outputs = {"y"}) {
  ModelBuilder model = contrib_model();
  Names names;
  for (const Tensor& input : inputs) {
    names.push_back("x" + std::to_string(names.size()));
    model.input(names.back(), input.shape());
  }
  for (const std::string& output : outputs) {
    if (!output.empty()) model.output(output, 0);
  }
  model.node(op, names, outputs, attributes, kMicrosoft);
  return evaluate(model, inputs);
}

Tensor waves(const Shape& shape, float seed = 0) {
  Tensor tensor(DType::f32, shape);
  float at = seed;
  for (float& value : tensor.values<float>()) value = std::sin(at += 1.3f);
  return tensor;
}

/// Output "y" of a model of ONNX operators on inputs "a", "b", ...
Tensor expected_of(ModelBuilder model, const std::vector<Tensor>& inputs) {
  char name = 'a';
  for (const Tensor& input : inputs) model.input(std::string(1, name++), input.shape());
  model.output("y");
  return std::move(evaluate(model, inputs)[0]);
}

void expect_equal(const Tensor& found, const Tensor& expected) {
  const auto values = expected.values<float>();
  expect_floats(found, expected.shape(), std::vector<float>(values.begin(), values.end()));
}

TEST(Contrib, ActivationsWithBias) {
  const Tensor x = waves({2, 3, 4}), bias = waves({4}, 5);
  expect_equal(apply("FastGelu", {x, bias})[0],
               expected_of(ModelBuilder(20)
                               .node("Add", {"a", "b"}, {"s"})
                               .node("Gelu", {"s"}, {"y"}, {attribute("approximate", "tanh")}),
                           {x, bias}));
  const Tensor gelu =
      expected_of(ModelBuilder(20).node("Add", {"a", "b"}, {"s"}).node("Gelu", {"s"}, {"y"}), {x, bias});
  expect_equal(apply("BiasGelu", {x, bias})[0], gelu);
  const float gate = 1 / (1 + std::exp(-0.5f * 1.702f));
  expect_floats(apply("QuickGelu", {floats({1}, {0.5f})})[0], {1}, {0.5f * gate});
  expect_floats(apply("BiasAdd", {floats({1, 1, 2}, {1, 2}), floats({2}, {10, 20}), floats({1, 1, 2}, {5, 7})})[0],
                {1, 1, 2}, {16, 29});
  const Tensor half = apply("BiasSplitGelu", {floats({1, 1, 4}, {2, 3, 0, 9}), floats({4}, {0, 1, 0, 1})})[0];
  expect_floats(half, {1, 1, 2}, {0, 40});
}

TEST(Contrib, ConvolutionsWithResidualAndActivation) {
  const Tensor x = waves({1, 2, 4, 5}), w = waves({3, 2, 3, 3}, 2), b = waves({3}, 3), z = waves({1, 3, 4, 5}, 4);
  const auto pads = attribute("pads", Ints{1, 1, 1, 1});
  ModelBuilder parts(20);
  parts.node("Conv", {"a", "b", "c"}, {"s"}, {pads}).node("Add", {"s", "d"}, {"t"});
  parts.node("LeakyRelu", {"t"}, {"y"}, {attribute("alpha", 0.3f)});
  const Tensor expected = expected_of(parts, {x, w, b, z});
  const std::vector<onnx::AttributeProto> fused = {pads, attribute("activation", "LeakyRelu"),
                                                   attribute("activation_params", std::vector<float>{0.3f})};
  expect_equal(apply("FusedConv", {x, w, b, z}, fused)[0], expected);

  ModelBuilder last = contrib_model();
  for (const auto& [name, axes] : {std::pair("x", Ints{0, 2, 3, 1}), std::pair("z", Ints{0, 2, 3, 1})})
    last.node("Transpose", {name}, {std::string(name) + "t"}, {attribute("perm", axes)});
  last.input("x", x.shape()).input("w", w.shape()).input("b", b.shape()).input("z", z.shape()).output("y");
  last.node("NhwcFusedConv", {"xt", "w", "b", "zt"}, {"yt"}, fused, kMicrosoft);
  last.node("Transpose", {"yt"}, {"y"}, {attribute("perm", Ints{0, 3, 1, 2})});
  expect_equal(evaluate(last, {x, w, b, z})[0], expected);
}

TEST(Contrib, ProductsWithTransposesAndFactor) {
  const Tensor a = waves({4, 2, 6, 3}), b = waves({5, 2, 6, 4}, 2);
  ModelBuilder parts(20);
  parts.node("Transpose", {"a"}, {"s"}, {attribute("perm", Ints{1, 2, 3, 0})});
  parts.node("Transpose", {"b"}, {"t"}, {attribute("perm", Ints{1, 2, 3, 0})});
  parts.node("MatMul", {"s", "t"}, {"p"}).node("Add", {"p", "p"}, {"y"});
  expect_equal(apply("FusedMatMul", {a, b},
                     {attribute("transBatchA", 1), attribute("transBatchB", 1), attribute("transA", 1),
                      attribute("transB", 1), attribute("alpha", 2.0f)})[0],
               expected_of(parts, {a, b}));
  expect_floats(apply("FusedGemm", {floats({1, 2}, {1, 2}), floats({2, 2}, {1, -1, 1, -1}), floats({2}, {1, 1})},
                      {attribute("activation", "Elu"), attribute("activation_alpha", 0.5f)})[0],
                {1, 2}, {4, 0.5f * (std::exp(-2.0f) - 1)});
  expect_floats(
      apply("CDist", {floats({2, 2}, {0, 0, 3, 4}), floats({1, 2}, {0, 0})}, {attribute("metric", "euclidean")})[0],
      {2, 1}, {0, 5});
  EXPECT_THROW(apply("FusedGemm", {waves({2, 2}), waves({2, 2})}, {attribute("activation", "Nonsense")}), Error);
}

TEST(Contrib, NormsOfSums) {
  const Tensor x = waves({2, 3, 4}), skip = waves({3, 4}, 2), gamma = waves({4}, 3), beta = waves({4}, 4);
  const Tensor bias = waves({4}, 5);
  ModelBuilder sum(20);
  sum.node("Add", {"a", "b"}, {"s"}).node("Add", {"s", "c"}, {"y"});
  const Tensor total = expected_of(sum, {x, skip, bias});
  ModelBuilder norm(20);
  norm.node("LayerNormalization", {"a", "b", "c"}, {"y"}, {attribute("epsilon", 1e-12f)});
  const auto found = apply("SkipLayerNormalization", {x, skip, gamma, beta, bias}, {}, {"y", "", "", "s"});
  expect_equal(found[0], expected_of(norm, {total, gamma, beta}));
  expect_equal(found[1], total);
  const auto simple = apply("SkipSimplifiedLayerNormalization", {floats({1, 2}, {1, 2}), floats({1, 2}, {2, 2}),
                                                                 floats({2}, {10, 1}), floats({2}, {0, 0})});
  const float root = std::sqrt((9.0f + 16.0f) / 2);
  expect_floats(simple[0], {1, 2}, {30 / root, 4 / root});
}

TEST(Contrib, GroupsInEitherLayout) {
  const Tensor x = waves({2, 4, 3, 2}), gamma = waves({4}, 2), beta = waves({4}, 3);
  ModelBuilder parts(21);
  parts.node("GroupNormalization", {"a", "b", "c"}, {"n"}, {attribute("num_groups", 2)});
  parts.node("Sigmoid", {"n"}, {"g"}).node("Mul", {"n", "g"}, {"y"});
  const Tensor expected = expected_of(parts, {x, gamma, beta});
  std::vector<onnx::AttributeProto> attributes = {attribute("groups", 2), attribute("activation", 1),
                                                  attribute("channels_last", 0)};
  expect_equal(apply("GroupNorm", {x, gamma, beta}, attributes)[0], expected);
  attributes[2] = attribute("channels_last", 1);
  const Tensor last =
      expected_of(ModelBuilder(20).node("Transpose", {"a"}, {"y"}, {attribute("perm", Ints{0, 2, 3, 1})}), {x});
  const Tensor found = apply("GroupNorm", {last, gamma, beta}, attributes)[0];
  expect_equal(
      expected_of(ModelBuilder(20).node("Transpose", {"a"}, {"y"}, {attribute("perm", Ints{0, 3, 1, 2})}), {found}),
      expected);
  EXPECT_THROW(apply("GroupNorm", {x, gamma, beta}, {attribute("groups", 3), attribute("activation", 0)}), Error);
}

TEST(Contrib, EmbeddingsAreSummedNormedAndCounted) {
  ModelBuilder model = contrib_model();
  const int kInt = onnx::TensorProto::INT32;
  model.input("ids", {1, 3}, kInt).input("segments", {1, 3}, kInt).input("mask", {1, 3}, kInt);
  model.constant(float_tensor("words", {2, 2}, {1, 2, 3, 4})).constant(float_tensor("segment", {2, 2}, {0, 0, 5, 5}));
  model.constant(float_tensor("places", {4, 2}, {0, 0, 10, 0, 0, 10, 9, 9}));
  model.constant(float_tensor("gamma", {2}, {2, 3})).constant(float_tensor("beta", {2}, {1, 0}));
  model.output("y").output("count", kInt).output("sum");
  model.node("EmbedLayerNormalization", {"ids", "segments", "words", "places", "segment", "gamma", "beta", "mask"},
             {"y", "count", "sum"}, {}, kMicrosoft);
  Tensor ids(DType::i32, {1, 3}), mask(DType::i32, {1, 3});
  ids.values<std::int32_t>()[1] = 1;
  mask.values<std::int32_t>()[0] = mask.values<std::int32_t>()[1] = 1;
  const auto found = evaluate(model, {ids, ids, mask});
  expect_floats(found[2], {1, 3, 2}, {1, 2, 18, 9, 1, 12});
  expect_floats(found[0], {1, 3, 2}, {-1, 3, 3, -3, -1, 3});
  EXPECT_EQ(found[1].values<std::int32_t>()[0], 2);
}

TEST(Contrib, NewerOperatorsStandForTheirFirstVersionInOlderFiles) {
  const Tensor x = floats({1, 2}, {1, 3}), scale = floats({2}, {1, 1});
  ModelBuilder model(9);
  model.input("x", {1, 2}).input("s", {2}).output("y").output("z").output("g");
  model.node("LayerNormalization", {"x", "s"}, {"y"}, {attribute("epsilon", 0.0f)});
  model.node("SimplifiedLayerNormalization", {"x", "s"}, {"z"}, {attribute("epsilon", 0.0f)});
  model.node("Gelu", {"x"}, {"g"});
  const auto found = evaluate(model, {x, scale});
  expect_floats(found[0], {1, 2}, {-1, 1});
  expect_floats(found[1], {1, 2}, {1 / std::sqrt(5.0f), 3 / std::sqrt(5.0f)});
  expect_floats(found[2], {1, 2}, {0.841345f, 2.99595f});
}

TEST(Contrib, FilesMayLeaveOutTheImportOfTheDomain) {
  ModelBuilder model(17);
  model.input("x", {2}).output("y").node("Gelu", {"x"}, {"y"}, {}, kMicrosoft);
  expect_floats(evaluate(model, {floats({2}, {0, 1})})[0], {2}, {0, 0.841345f});
}

TEST(Contrib, OfConstantsWithOneNameTheLastCounts) {
  ModelBuilder model(17);
  model.input("x", {1}).output("y");
  model.node("Constant", {}, {"c"}, {attribute("value", float_tensor("", {1}, {2}))});
  model.node("Mul", {"x", "c"}, {"y"});
  model.node("Constant", {}, {"c"}, {attribute("value", float_tensor("", {1}, {3}))});
  expect_floats(evaluate(model, {floats({1}, {5})})[0], {1}, {15});
}

TEST(Contrib, Moves) {
  expect_floats(apply("UnfoldTensor", {counting({1, 5})}, {attribute("size", 3), attribute("step", 2)})[0], {1, 2, 3},
                {0, 1, 2, 2, 3, 4});
  expect_floats(apply("ComplexMul", {floats({1, 2}, {1, 2}), floats({1, 2}, {3, 4})})[0], {1, 2}, {-5, 10});
  expect_floats(apply("ComplexMulConj", {floats({1, 2}, {1, 2}), floats({1, 2}, {3, 4})})[0], {1, 2}, {11, 2});
  expect_floats(apply("Range", {floats({1}, {1}), floats({1}, {3})})[0], {2}, {1, 2});
  EXPECT_THROW(apply("UnfoldTensor", {counting({1, 5})}, {attribute("size", 6)}), Error);
}

TEST(Contrib, CausalConvolutionCarriesItsState) {
  const Tensor x = counting({1, 2, 3}), weight = floats({2, 1, 2}, {1, 10, 2, 20}), past = floats({1, 2, 1}, {7, 8});
  const auto run = [&](const Tensor& input, bool has_past, std::vector<onnx::AttributeProto> attributes) {
    ModelBuilder model = contrib_model();
    model.input("x", input.shape()).input("w", weight.shape()).output("y").output("s");
    if (has_past) model.input("p", past.shape());
    model.node("CausalConvWithState", {"x", "w", "", has_past ? "p" : ""}, {"y", "s"}, attributes, kMicrosoft);
    return evaluate(model, has_past ? std::vector<Tensor>{input, weight, past} : std::vector<Tensor>{input, weight});
  };
  const auto found = run(x, true, {});
  expect_floats(found[0], {1, 2, 3}, {7, 10, 21, 76, 86, 108});
  expect_floats(found[1], {1, 2, 1}, {2, 5});
  const auto wide = run(x, false, {attribute("dilation", 2)});
  expect_floats(wide[0], {1, 2, 3}, {0, 10, 20, 60, 80, 106});
  expect_floats(wide[1], {1, 2, 2}, {1, 2, 4, 5});
  const auto last = run(floats({1, 3, 2}, {0, 3, 1, 4, 2, 5}), false, {attribute("channels_last", 1)});
  expect_floats(last[0], {1, 3, 2}, {0, 60, 10, 86, 21, 108});
  expect_floats(last[1], {1, 1, 2}, {2, 5});
}

/// Rows of two columns: (3, 4) is divided by the root of 12.5, (6, 8) by that of 50.
TEST(Contrib, GatedAndBranchwiseRmsNorms) {
  const float half = 1 / std::sqrt(12.5f);
  const Tensor x = floats({1, 4}, {3, 4, 6, 8}), scale = floats({2}, {1, 2});
  const Tensor gate = floats({1, 4}, {0, 1, 0, -1});
  const auto sigmoid = [](float z) { return 1 / (1 + std::exp(-z)); };
  const std::vector<float> normal = {3 * half, 8 * half, 3 * half, 8 * half};
  const auto gated = [&](const char* activation) {
    return apply("GatedRMSNorm", {x, scale, gate},
                 {attribute("activation", activation), attribute("epsilon", 0.0f)})[0];
  };
  expect_floats(gated("sigmoid"), {1, 4},
                {normal[0] / 2, normal[1] * sigmoid(1), normal[2] / 2, normal[3] * sigmoid(-1)}, 1e-6f);
  for (const char* activation : {"silu", "swish"})
    expect_floats(gated(activation), {1, 4}, {0, normal[1] * sigmoid(1), 0, -normal[3] * sigmoid(-1)}, 1e-6f);
  EXPECT_THROW(gated("relu"), Error);
  EXPECT_THROW(apply("GatedRMSNorm", {x, floats({3}, {1, 1, 1}), gate}), Error);

  const auto none = attribute("epsilon", 0.0f), two = attribute("num_branches", 2);
  expect_floats(apply("BranchwiseRMSNorm", {x, scale}, {none, two})[0], {1, 4}, normal, 1e-6f);
  const Tensor grouped = floats({1, 2, 2}, {3, 4, 6, 8});
  expect_floats(apply("BranchwiseRMSNorm", {grouped}, {none})[0], {1, 2, 2}, {3 * half, 4 * half, 3 * half, 4 * half},
                1e-6f);
  const std::vector<float> each = {3 * half, 8 * half, 9 * half, 16 * half};
  expect_floats(apply("BranchwiseRMSNorm", {grouped, floats({2, 2}, {1, 2, 3, 4})}, {none})[0], {1, 2, 2}, each, 1e-6f);
  expect_floats(apply("BranchwiseRMSNorm", {x, floats({4}, {1, 2, 3, 4})}, {none, two})[0], {1, 4}, each, 1e-6f);
  EXPECT_THROW(apply("BranchwiseRMSNorm", {x, scale}, {attribute("num_branches", 3)}), Error);
  ModelBuilder wide = contrib_model();
  wide.input("x", {1, std::int64_t{1} << 40}).output("y").node("BranchwiseRMSNorm", {"x"}, {"y"}, {}, kMicrosoft);
  try {
    wide.import_graph();
    FAIL() << "as many columns were taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("columns are too many"), std::string::npos) << error.what();
  }
}

/// Decay and update rate in front of LinearAttention, and queries that several heads of keys share.
TEST(Contrib, LinearAttentionAndItsGate) {
  const auto gate =
      apply("LinearAttentionGate",
            {floats({1, 1, 2}, {0, 1}), floats({2}, {0, -1}), floats({2}, {-1, -2}), floats({1, 1, 2}, {0, 2})}, {},
            {"decay", "beta"});
  const float soft = std::log(2.0f);
  expect_floats(gate[0], {1, 1, 2}, {-soft, -2 * soft}, 1e-6f);
  expect_floats(gate[1], {1, 1, 2}, {0.5f, 1 / (1 + std::exp(-2.0f))}, 1e-6f);

  const auto attend = [](const std::vector<Tensor>& inputs, std::int64_t query_heads,
                         std::vector<onnx::AttributeProto> attributes = {}) {
    attributes.push_back(attribute("q_num_heads", query_heads));
    attributes.push_back(attribute("kv_num_heads", 2));
    attributes.push_back(attribute("update_rule", "linear"));
    attributes.push_back(attribute("scale", 1.0f));
    return apply("LinearAttention", inputs, attributes, {"y", "s"});
  };
  const Tensor key = floats({1, 2, 2}, {1, 2, 3, 4}), value = floats({1, 2, 2}, {5, 6, 7, 8});
  const auto shared = attend({floats({1, 2, 1}, {1, 10}), key, value}, 1);
  expect_floats(shared[0], {1, 2, 2}, {5, 12, 260, 440});
  expect_floats(shared[1], {1, 2, 1, 1}, {26, 44});
  expect_equal(attend({floats({1, 2, 2}, {1, 1, 10, 10}), key, value}, 2)[0], shared[0]);
  EXPECT_THROW(attend({floats({1, 2, 1}, {1, 10}), key, value}, 1, {attribute("state_window", 2)}), Error);
}

/// Three streams of positions: pairs turn by time, row or column.
TEST(Contrib, MultimodalRotaryEmbedding) {
  const Tensor x = floats({1, 1, 6}, {1, 2, 3, 0, 0, 0});
  Tensor positions(DType::i64, {3, 1, 1});
  for (int i = 0; i < 3; ++i) positions.values<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  const Tensor cosines = floats({3, 3}, {1, 2, 3, 10, 20, 30, 100, 200, 300}), sines = cosines;
  const auto turned = [&](std::vector<onnx::AttributeProto> attributes) {
    ModelBuilder model = contrib_model();
    model.input("x", x.shape()).input("p", positions.shape(), onnx::TensorProto::INT64);
    model.input("c", cosines.shape()).input("s", sines.shape()).output("y");
    model.node("MRotaryEmbedding", {"x", "p", "c", "s"}, {"y"}, attributes, kMicrosoft);
    return evaluate(model, {x, positions, cosines, sines})[0];
  };
  expect_floats(turned({attribute("mrope_section", Ints{1, 1, 1})}), {1, 1, 6}, {1, 40, 900, 1, 40, 900});
  expect_floats(turned({attribute("mrope_section", Ints{2, 1, 0})}), {1, 1, 6}, {1, 4, 90, 1, 4, 90});
  expect_floats(turned({attribute("mrope_section", Ints{2, 0, 1}), attribute("mrope_layout", 1)}), {1, 1, 6},
                {1, 4, 900, 1, 4, 900});
  EXPECT_THROW(turned({attribute("mrope_section", Ints{1, 1})}), Error);
  EXPECT_THROW(turned({attribute("mrope_section", Ints{2, 2, 1})}), Error);
  EXPECT_THROW(turned({attribute("mrope_section", Ints{1, 1, 1}), attribute("mrope_layout", 2)}), Error);
}

/// Keys (3, 4), whose mean square is 12.5, are cached with the norm that their own epsilon makes.
TEST(Contrib, NormsOfKeysHaveEpsilonsOfTheirOwn) {
  ModelBuilder model = contrib_model();
  for (const char* name : {"q", "k", "v"}) model.input(name, {1, 1, 2});
  model.input("ends", {1}, onnx::TensorProto::INT32).input("total", {1}, onnx::TensorProto::INT32).input("w", {2});
  Names inputs{"q", "k", "v", "", "", "ends", "total"};
  inputs.resize(14);
  inputs.insert(inputs.end(), {"w", "w"});
  model.node("GroupQueryAttention", inputs, {"y", "keys", "values"},
             {attribute("num_heads", 1), attribute("kv_num_heads", 1), attribute("qk_norm_epsilon", 1.0f),
              attribute("k_norm_epsilon", 12.5f)},
             kMicrosoft);
  Tensor ends(DType::i32, {1}), total(DType::i32, {1});
  total.values<std::int32_t>()[0] = 1;
  const Tensor x = floats({1, 1, 2}, {3, 4}), weight = floats({2}, {1, 2});
  expect_floats(evaluate(model.output("y").output("keys"), {x, x, x, ends, total, weight})[1], {1, 1, 1, 2},
                {0.6f, 1.6f});
}

TEST(Contrib, InversesAndRefusalOfSingularMatrices) {
  expect_floats(apply("Inverse", {floats({2, 2, 2}, {0, 2, 4, 0, 1, 1, 0, 1})})[0], {2, 2, 2},
                {0, 0.25f, 0.5f, 0, 1, -1, 0, 1});
  EXPECT_THROW(apply("Inverse", {floats({2, 2}, {1, 2, 2, 4})}), Error);
  EXPECT_THROW(apply("Inverse", {waves({2, 3})}), Error);
}

TEST(Contrib, UniqueInOrderOfAppearance) {
  const auto found = apply("Unique", {floats({6}, {2, 1, 1, 3, 4, 3})}, {}, {"y", "i", "c"});
  expect_floats(found[0], {4}, {2, 1, 3, 4});
  expect_ints(found[1], {6}, {0, 1, 1, 2, 3, 2});
  expect_ints(found[2], {4}, {1, 2, 2, 1});
}

std::vector<Tensor> crop(const std::vector<float>& region, const Ints& size, std::int32_t image, const char* mode) {
  ModelBuilder model = contrib_model();
  model.input("x", {1, 1, 2, 3}).input("rois", {1, 4}).input("images", {1}, onnx::TensorProto::INT32).output("y");
  model.constant(raw_tensor<std::int32_t>("size", onnx::TensorProto::INT32, {2},
                                          {static_cast<std::int32_t>(size[0]), static_cast<std::int32_t>(size[1])}));
  model.node("CropAndResize", {"x", "rois", "images", "size"}, {"y"},
             {attribute("mode", mode), attribute("extrapolation_value", -1.0f)}, kMicrosoft);
  Tensor images(DType::i32, {1});
  images.values<std::int32_t>()[0] = image;
  return evaluate(model, {counting({1, 1, 2, 3}), floats({1, 4}, region), images});
}

TEST(Contrib, CropsFromCornerToCorner) {
  expect_floats(crop({0, 0, 1, 1}, {2, 3}, 0, "bilinear")[0], {1, 1, 2, 3}, {0, 1, 2, 3, 4, 5});
  expect_floats(crop({0, 0, 1, 1}, {1, 1}, 0, "bilinear")[0], {1, 1, 1, 1}, {2.5f});
  expect_floats(crop({0, 0.5f, 1, 1.5f}, {1, 2}, 0, "bilinear")[0], {1, 1, 1, 2}, {2.5f, -1});
  expect_floats(crop({0, 0, 1, 1}, {1, 5}, 0, "nearest")[0], {1, 1, 1, 5}, {3, 4, 4, 5, 5});
  EXPECT_THROW(crop({0, 0, 1, 1}, {2, 3}, 1, "bilinear"), Error);
  EXPECT_THROW(crop({0, 0, 1, 1}, {0, 3}, 0, "bilinear"), Error);
}

TEST(Contrib, TokensThatRepeatAreRuledOut) {
  ModelBuilder model = contrib_model();
  model.input("ids", {1, 4}, onnx::TensorProto::INT64).input("scores", {1, 5}).output("y");
  model.node("NGramRepeatBlock", {"ids", "scores"}, {"y"}, {attribute("ngram_size", 2)}, kMicrosoft);
  const auto found = evaluate(model, {integers({1, 4}, {1, 3, 2, 1}), counting({1, 5})});
  EXPECT_TRUE(std::isinf(found[0].values<float>()[3]));
  EXPECT_EQ(found[0].values<float>()[2], 2);
}

TEST(Contrib, MurmurHashOfText) {
  ModelBuilder model = contrib_model();
  onnx::TensorProto text;
  text.set_name("x");
  text.set_data_type(onnx::TensorProto::STRING);
  text.add_dims(2);
  text.add_string_data("hello");
  text.add_string_data("");
  model.constant(text).output("y", onnx::TensorProto::UINT32).node("MurmurHash3", {"x"}, {"y"}, {}, kMicrosoft);
  const auto found = evaluate(model, {});
  EXPECT_EQ(found[0].values<std::uint32_t>()[0], 0x248bfa47u);
  EXPECT_EQ(found[0].values<std::uint32_t>()[1], 0u);
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::contrib
