// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: lookups, maps, linear and support vector models, ensembles of doubles.
#include <cmath>
#include <limits>

#include "numbers.hpp"

namespace colonnade::onnx_import::testing {
namespace {

using Attributes = std::vector<onnx::AttributeProto>;

Tensor strings(Shape shape, std::vector<std::string> values) {
  Tensor tensor(DType::string, std::move(shape));
  tensor.strings() = std::move(values);
  return tensor;
}

/// One node of ai.onnx.ml over one input.
ModelBuilder ml_model(const std::string& op, const Attributes& attributes, const Tensor& x, std::size_t outputs = 1,
                      std::int64_t opset = 4) {
  ModelBuilder model(21, opset);
  model.input("x", x.shape(), data_type_of(x.dtype()));
  Names results;
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back("y" + std::to_string(i));
    model.output(results.back(), onnx::TensorProto::UNDEFINED);
  }
  return model.node(op, {"x"}, results, attributes, "ai.onnx.ml");
}

std::vector<Tensor> run(const std::string& op, const Attributes& attributes, const Tensor& x, std::size_t outputs = 1,
                        std::int64_t opset = 4) {
  return evaluate(ml_model(op, attributes, x, outputs, opset), {x});
}

void refuses(const std::string& op, const Attributes& attributes, const Tensor& x, const std::string& part,
             std::int64_t opset = 4) {
  try {
    run(op, attributes, x, 1, opset);
    ADD_FAILURE() << op << ": nothing thrown, expected " << part;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_NE(error.code(), ErrorCode::internal) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_NE(message.find(op), std::string::npos) << message;
  }
}

TEST(Ml, LabelsOfEveryType) {
  const Tensor names = strings({2, 2}, {"a", "b", "c", "a"});
  expect_floats(run("LabelEncoder",
                    {attribute("keys_strings", Names{"a", "b", "a"}),
                     attribute("values_floats", std::vector<float>{1, 2, 3}), attribute("default_float", -1.0f)},
                    names)[0],
                {2, 2}, {3, 2, -1, 3});
  const float nan = std::nanf("");
  const Tensor found = run(
      "LabelEncoder",
      {attribute("keys_floats", std::vector<float>{nan, -0.0f}), attribute("values_strings", Names{"none", "zero"})},
      floats({3}, {0, -nan, 1}))[0];
  EXPECT_EQ(found.strings(), (std::vector<std::string>{"zero", "none", "_Unused"}));
  Tensor small(DType::i16, {3});
  std::iota(small.values<std::int16_t>().begin(), small.values<std::int16_t>().end(), std::int16_t{-1});
  const Tensor doubles =
      run("LabelEncoder",
          {attribute("keys_tensor", raw_tensor<std::int16_t>("", onnx::TensorProto::INT16, {2}, {-1, 1})),
           attribute("values_tensor", raw_tensor<double>("", onnx::TensorProto::DOUBLE, {2}, {0.1, 0.2})),
           attribute("default_tensor", raw_tensor<double>("", onnx::TensorProto::DOUBLE, {1}, {9}))},
          small)[0];
  EXPECT_EQ(numbers(doubles), (std::vector<double>{0.1, 9, 0.2}));
  expect_ints(run("LabelEncoder", {attribute("classes_strings", Names{"b", "c"}), attribute("default_int64", 7)}, names,
                  1, 1)[0],
              {2, 2}, {7, 0, 1, 7});
  EXPECT_EQ(
      run("LabelEncoder", {attribute("classes_strings", Names{"b", "c"})}, integers({2}, {1, 5}), 1, 1)[0].strings(),
      (std::vector<std::string>{"c", "_Unused"}));
  EXPECT_EQ(run("LabelEncoder", {attribute("keys_int64s", Ints{1}), attribute("values_int64s", Ints{1})},
                integers({0, 2}, {}))[0]
                .shape(),
            (Shape{0, 2}));
}

/// Keys that are close stand in a table, others in a map: the same labels.
TEST(Ml, LabelsOfWholeNumbersCloseAndApart) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                         kMost = std::numeric_limits<std::int64_t>::max();
  const auto labels = [](const Ints& keys, const Ints& asked) {
    Ints places(keys.size());
    std::iota(places.begin(), places.end(), std::int64_t{10});
    const auto size = static_cast<std::int64_t>(asked.size());
    const Tensor found = run("LabelEncoder", {attribute("keys_int64s", keys), attribute("values_int64s", places)},
                             integers({size}, asked))[0];
    const auto values = found.values<std::int64_t>();
    return Ints(values.begin(), values.end());
  };
  EXPECT_EQ(labels({-2, 3, 0, 3}, {-3, -2, -1, 0, 1, 2, 3, 4, kLeast, kMost}),
            (Ints{-1, 10, -1, 12, -1, -1, 13, -1, -1, -1}));
  EXPECT_EQ(labels({kMost, kMost - 1}, {kMost, kMost - 1, kMost - 2, kLeast}), (Ints{10, 11, -1, -1}));
  EXPECT_EQ(labels({kLeast, kMost, 0}, {0, kMost, kLeast, 1}), (Ints{12, 11, 10, -1}));
}

TEST(Ml, LabelsThatContradict) {
  const Tensor x = integers({1}, {1});
  const auto keys = attribute("keys_int64s", Ints{1, 2});
  refuses("LabelEncoder", {keys, attribute("values_int64s", Ints{1})}, x, "as many values");
  refuses("LabelEncoder", {keys}, x, "values_");
  refuses("LabelEncoder", {keys, attribute("values_int64s", Ints{1, 2}), attribute("values_strings", Names{"a", "b"})},
          x, "found two");
  refuses("LabelEncoder", {keys, attribute("values_int64s", Ints{1, 2})}, strings({1}, {"a"}), "another type");
  refuses("LabelEncoder", {attribute("keys_int64s", "text"), attribute("values_int64s", Ints{1, 2})}, x, "expected");
  refuses("LabelEncoder",
          {keys, attribute("values_int64s", Ints{1, 2}), attribute("default_tensor", float_tensor("", {1}, {1}))}, x,
          "default_tensor");
}

TEST(Ml, Categories) {
  const Attributes both = {attribute("cats_strings", Names{"a", "b"}), attribute("cats_int64s", Ints{4, 9})};
  expect_ints(run("CategoryMapper", both, strings({3}, {"b", "a", "z"}))[0], {3}, {9, 4, -1});
  EXPECT_EQ(run("CategoryMapper", both, integers({2}, {4, 5}))[0].strings(),
            (std::vector<std::string>{"a", "_Unused"}));
  const auto integral = attribute("cats_int64s", Ints{4, 9});
  expect_floats(run("OneHotEncoder", {integral}, floats({3}, {9.7f, 1, 4}))[0], {3, 2}, {0, 1, 0, 0, 1, 0});
  expect_floats(run("OneHotEncoder", {integral}, integers({0, 1}, {}))[0], {0, 1, 2}, {});
  refuses("OneHotEncoder", {integral, attribute("zeros", 0)}, integers({2}, {4, 5}), "element 1");
  refuses("OneHotEncoder", {integral}, strings({1}, {"a"}), "another type");
  refuses("OneHotEncoder", both, integers({1}, {4}), "found two");
}

Datum evaluated(const ModelBuilder& model, const Datum& input) {
  const Graph graph = model.import_graph();
  verify(graph);
  const Datum* given[] = {&input};
  return reference::evaluate(graph, given)[0];
}

/// One node of ai.onnx.ml that takes a map.
ModelBuilder map_model(const std::string& op, const Attributes& attributes, int key_type, int value_type) {
  ModelBuilder model(21, 1);
  auto* input = model.proto.mutable_graph()->add_input();
  input->set_name("x");
  auto* map = input->mutable_type()->mutable_map_type();
  map->set_key_type(key_type);
  map->mutable_value_type()->mutable_tensor_type()->set_elem_type(value_type);
  return model.output("y", onnx::TensorProto::UNDEFINED).node(op, {"x"}, {"y"}, attributes, "ai.onnx.ml");
}

TEST(Ml, MapsBecomeTensors) {
  const auto named = map_model("DictVectorizer", {attribute("string_vocabulary", Names{"a", "c", "b", "z"})},
                               onnx::TensorProto::STRING, onnx::TensorProto::FLOAT);
  const Datum map = Datum::map(strings({3}, {"c", "a", "unknown"}), floats({3}, {8, 4, 2}));
  expect_floats(evaluated(named, map).tensor(), {1, 4}, {4, 8, 0, 0});
  const Datum numbered = Datum::map(integers({2}, {3, 1}), strings({2}, {"0.5", "2"}));
  const int key = onnx::TensorProto::INT64, text = onnx::TensorProto::STRING;
  expect_floats(evaluated(map_model("CastMap", {}, key, text), numbered).tensor(), {1, 2}, {2, 0.5f});
  const Attributes sparse = {attribute("map_form", "SPARSE"), attribute("max_map", 4),
                             attribute("cast_to", "TO_INT64")};
  expect_ints(evaluated(map_model("CastMap", sparse, key, text), numbered).tensor(), {1, 4}, {0, 2, 0, 0});
  const Attributes short_one = {attribute("map_form", "SPARSE"), attribute("max_map", 3)};
  EXPECT_THROW(evaluated(map_model("CastMap", short_one, key, text), numbered), Error);
  const Datum words = Datum::map(integers({1}, {0}), strings({1}, {"no"}));
  EXPECT_THROW(evaluated(map_model("CastMap", {}, key, text), words), Error);
}

TEST(Ml, TensorsBecomeMaps) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  const Datum y = evaluated(ml_model("ZipMap", {attribute("classlabels_strings", Names{"a", "b"})}, x), x);
  ASSERT_EQ(y.elements().size(), 2u);
  EXPECT_EQ(y.elements()[1].keys().strings(), (std::vector<std::string>{"a", "b"}));
  expect_floats(y.elements()[1].tensor(), {2}, {3, 4});
  const Tensor none = floats({0, 2}, {});
  EXPECT_TRUE(
      evaluated(ml_model("ZipMap", {attribute("classlabels_int64s", Ints{5, 6})}, none), none).elements().empty());
  refuses("ZipMap", {attribute("classlabels_int64s", Ints{5})}, x, "class labels");
}

// Scores

TEST(Ml, LinearClassifierPicksLabels) {
  const Tensor x = floats({2, 2}, {1, 2, 3, -4});
  const auto coefficients = attribute("coefficients", std::vector<float>{1, 0, 0, 1, -1, -1});
  const Attributes three = {coefficients, attribute("intercepts", std::vector<float>{0, 0, 0.5f}),
                            attribute("classlabels_strings", Names{"p", "q", "r"})};
  auto y = run("LinearClassifier", three, x, 2);
  EXPECT_EQ(y[0].strings(), (std::vector<std::string>{"q", "p"}));
  expect_floats(y[1], {2, 3}, {1, 2, -2.5f, 3, -4, 1.5f});
  const Attributes one = {attribute("coefficients", std::vector<float>{1, 1}),
                          attribute("intercepts", std::vector<float>{0}), attribute("classlabels_ints", Ints{3, 8})};
  y = run("LinearClassifier", one, x, 2);
  expect_ints(y[0], {2}, {8, 3});
  expect_floats(y[1], {2, 2}, {-2, 3, 2, -1});
  const auto scored = [&](const char* post, const Tensor& input) {
    return run("LinearRegressor",
               {attribute("coefficients", std::vector<float>{1, 0, 0, 1}), attribute("targets", 2),
                attribute("post_transform", post)},
               input)[0];
  };
  const float e = std::exp(1.0f);
  expect_floats(scored("SOFTMAX", floats({1, 2}, {1, 0})), {1, 2}, {e / (e + 1), 1 / (e + 1)});
  expect_floats(scored("SOFTMAX_ZERO", floats({2, 2}, {1, 0, 0, 0})), {2, 2}, {1, 0, 0, 0});
  expect_floats(scored("PROBIT", floats({1, 2}, {0.5f, 0.975f})), {1, 2}, {0, 1.96f}, 0.01f);
  EXPECT_EQ(scored("LOGISTIC", floats({0, 2}, {})).shape(), (Shape{0, 2}));
  refuses("LinearRegressor", {coefficients, attribute("targets", 4)}, x, "coefficients");
  refuses("LinearRegressor", {coefficients, attribute("targets", std::int64_t{-3})}, x, "coefficients");
}

Attributes machine(const char* kernel) {
  return {attribute("kernel_type", kernel),
          attribute("kernel_params", std::vector<float>{0.5f, 1, 2}),
          attribute("support_vectors", std::vector<float>{1, 2, 3, 4, 5, 7}),
          attribute("coefficients", std::vector<float>{1, -2, 0.5f}),
          attribute("rho", std::vector<float>{0.25f}),
          attribute("n_supports", 3)};
}

TEST(Ml, SupportVectorsByFormula) {
  const float vectors[3][2] = {{1, 2}, {3, 4}, {5, 7}}, coefficients[3] = {1, -2, 0.5f}, x[2] = {2, 2.5f};
  for (const std::string kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    double expected = 0.25;
    for (int i = 0; i < 3; ++i) {
      const double dot = double(x[0]) * vectors[i][0] + double(x[1]) * vectors[i][1];
      const double distance = std::pow(x[0] - vectors[i][0], 2) + std::pow(x[1] - vectors[i][1], 2);
      const double value = kernel == "LINEAR" ? dot
                           : kernel == "POLY" ? std::pow(0.5 * dot + 1, 2)
                           : kernel == "RBF"  ? std::exp(-0.5 * distance)
                                              : std::tanh(0.5 * dot + 1);
      expected += coefficients[i] * value;
    }
    const Tensor y = run("SVMRegressor", machine(kernel.c_str()), floats({1, 2}, {x[0], x[1]}))[0];
    expect_floats(y, {1, 1}, {static_cast<float>(expected)}, 1e-4f);
  }
  Attributes flagged = machine("LINEAR");
  flagged.push_back(attribute("one_class", 1));
  expect_floats(run("SVMRegressor", flagged, floats({2, 2}, {0, 0, 9, 9}))[0], {2, 1}, {1, -1});
  EXPECT_EQ(run("SVMRegressor", machine("RBF"), floats({0, 2}, {}))[0].shape(), (Shape{0, 1}));
}

TEST(Ml, SupportVectorsThatContradict) {
  const Tensor x = floats({1, 2}, {1, 2});
  Attributes changed = machine("RBF");
  changed[5] = attribute("n_supports", 4);
  refuses("SVMRegressor", changed, x, "coefficients");
  changed = machine("RBF");
  changed[2] = attribute("support_vectors", std::vector<float>{1, 2, 3, 4});
  refuses("SVMRegressor", changed, x, "support_vectors");
  changed = machine("CUBIC");
  refuses("SVMRegressor", changed, x, "CUBIC");
  const Attributes classifier = {
      attribute("classlabels_ints", Ints{0, 1}), attribute("vectors_per_class", Ints{1, std::int64_t{1} << 62}),
      attribute("coefficients", std::vector<float>{1, 1}), attribute("support_vectors", std::vector<float>{1, 1}),
      attribute("rho", std::vector<float>{0})};
  refuses("SVMClassifier", classifier, x, "coefficients");
}

TEST(Ml, PairsVoteAndCouple) {
  Attributes classifier = {attribute("classlabels_strings", Names{"a", "b", "c"}),
                           attribute("vectors_per_class", Ints{1, 1, 1}),
                           attribute("support_vectors", std::vector<float>{1, 0, 0, 1, -1, -1}),
                           attribute("coefficients", std::vector<float>{1, -1, -1, 1, 1, -1}),
                           attribute("rho", std::vector<float>{0, 0, 0})};
  const Tensor x = floats({3, 2}, {5, 0, 0, 5, -5, -5});
  auto y = run("SVMClassifier", classifier, x, 2);
  EXPECT_EQ(y[0].strings(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(y[1].shape(), (Shape{3, 3}));
  classifier.push_back(attribute("prob_a", std::vector<float>{-1, -1, -1}));
  classifier.push_back(attribute("prob_b", std::vector<float>{0, 0, 0}));
  y = run("SVMClassifier", classifier, x, 2);
  const auto chances = numbers(y[1]);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    EXPECT_NEAR(chances[3 * sample] + chances[3 * sample + 1] + chances[3 * sample + 2], 1, 1e-6);
    EXPECT_GT(chances[3 * sample + sample], 0.9);
  }
}

TEST(Ml, PreprocessingKeepsItsTypes) {
  Tensor large(DType::f64, {1, 1});
  large.values<double>()[0] = 1e9 + 0.5;
  expect_floats(
      run("Scaler", {attribute("offset", std::vector<float>{1e9f}), attribute("scale", std::vector<float>{2})},
          large)[0],
      {1, 1}, {1});
  Tensor whole(DType::i32, {2});
  whole.values<std::int32_t>()[1] = 3;
  const Tensor imputed =
      run("Imputer", {attribute("imputed_value_int64s", Ints{9}), attribute("replaced_value_int64", 3)}, whole)[0];
  EXPECT_EQ(imputed.dtype(), DType::i32);
  EXPECT_EQ(numbers(imputed), (std::vector<double>{0, 9}));
  EXPECT_EQ(numbers(run("Binarizer", {attribute("threshold", 2.5f)}, whole)[0]), (std::vector<double>{0, 1}));
}

/// x <= 0.5 ? first : second, both for the class named.
Attributes stump(float first, float second, std::int64_t named, const char* post) {
  return {attribute("nodes_treeids", Ints{0, 0, 0}),
          attribute("nodes_nodeids", Ints{0, 1, 2}),
          attribute("nodes_featureids", Ints{0, 0, 0}),
          attribute("nodes_values", std::vector<float>{0.5f, 0, 0}),
          attribute("nodes_modes", Names{"BRANCH_LEQ", "LEAF", "LEAF"}),
          attribute("nodes_truenodeids", Ints{1, 0, 0}),
          attribute("nodes_falsenodeids", Ints{2, 0, 0}),
          attribute("class_treeids", Ints{0, 0}),
          attribute("class_nodeids", Ints{1, 2}),
          attribute("class_ids", Ints{named, named}),
          attribute("class_weights", std::vector<float>{first, second}),
          attribute("classlabels_strings", Names{"no", "yes"}),
          attribute("post_transform", post)};
}

TEST(Ml, OneScoreOfTreesStandsForTwoClasses) {
  const Tensor x = floats({2, 1}, {0, 1});
  const std::vector<std::string> both = {"no", "yes"};
  auto y = run("TreeEnsembleClassifier", stump(0.25f, 0.75f, 0, "SOFTMAX"), x, 2);
  EXPECT_EQ(y[0].strings(), both);
  expect_floats(y[1], {2, 2}, {0.75f, 0.25f, 0.25f, 0.75f});
  y = run("TreeEnsembleClassifier", stump(-1, 2, 0, "NONE"), x, 2);
  EXPECT_EQ(y[0].strings(), both);
  expect_floats(y[1], {2, 2}, {1, -1, -2, 2});
  y = run("TreeEnsembleClassifier", stump(0.25f, 0.75f, 0, "LOGISTIC"), x, 2);
  EXPECT_EQ(y[0].strings(), both);
  const auto chances = numbers(y[1]);
  EXPECT_NEAR(chances[0] + chances[1], 1, 1e-6);
  EXPECT_NEAR(chances[3], 1 / (1 + std::exp(-0.75)), 1e-6);
  expect_floats(run("TreeEnsembleClassifier", stump(-1, 2, 1, "NONE"), x, 2)[1], {2, 2}, {0, -1, 0, 2});
}

TEST(Ml, TreesCompareDoublesAsDoubles) {
  const auto real = [](double value) { return raw_tensor<double>("", onnx::TensorProto::DOUBLE, {1}, {value}); };
  const Attributes attributes = {
      attribute("nodes_featureids", Ints{0}),
      attribute("nodes_truenodeids", Ints{0}),
      attribute("nodes_falsenodeids", Ints{1}),
      attribute("nodes_trueleafs", Ints{1}),
      attribute("nodes_falseleafs", Ints{1}),
      attribute("nodes_splits", real(0.1)),
      attribute("nodes_modes", raw_tensor<std::uint8_t>("", onnx::TensorProto::UINT8, {1}, {0})),
      attribute("leaf_targetids", Ints{0, 0}),
      attribute("leaf_weights", raw_tensor<double>("", onnx::TensorProto::DOUBLE, {2}, {1.1, 2.2})),
      attribute("tree_roots", Ints{0})};
  Tensor x(DType::f64, {2, 1});
  x.values<double>()[0] = 0.1;
  x.values<double>()[1] = std::nextafter(0.1, 1);
  const Tensor y = run("TreeEnsemble", attributes, x, 1, 5)[0];
  EXPECT_EQ(y.dtype(), DType::f64);
  EXPECT_EQ(numbers(y), (std::vector<double>{1.1, 2.2}));
  expect_floats(run("TreeEnsemble", attributes, floats({2, 1}, {0.1f, std::nextafter(0.1f, 0.0f)}), 1, 5)[0], {2, 1},
                {2.2f, 1.1f});
  EXPECT_EQ(run("TreeEnsemble", attributes, floats({0, 1}, {}), 1, 5)[0].shape(), (Shape{0, 1}));
}

}  // namespace
}  // namespace colonnade::onnx_import::testing
