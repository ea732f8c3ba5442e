// SPDX-License-Identifier: Apache-2.0
// Attention, losses and operators put together of others: open dimensions, empty tensors, versions and contradictions.
#include <cmath>
#include <functional>
#include <limits>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::functions {
namespace {

using Attributes = std::vector<onnx::AttributeProto>;
using Tensors = std::vector<Tensor>;

constexpr int kAny = onnx::TensorProto::UNDEFINED;

/// Elements that differ and are small, the same every time.
Tensor waves(const Shape& shape, float phase) {
  Tensor tensor = counting(shape);
  for (float& value : tensor.values<float>()) value = std::sin(value * 1.7f + phase);
  return tensor;
}

enum class Dims { known, open };

/// One operator on the tensors; those without a type are not given.
ModelBuilder model_of(std::int64_t opset, const std::string& op, const Tensors& inputs, const Attributes& attributes,
                      Dims dims = Dims::known, std::size_t outputs = 1) {
  ModelBuilder model(opset);
  Names names, results;
  for (const Tensor& input : inputs) {
    const bool given = input.dtype() != DType::undefined;
    names.push_back(given ? "x" + std::to_string(names.size()) : "");
    const Shape shape = dims == Dims::open ? Shape(input.shape().size(), -1) : input.shape();
    if (given) model.input(names.back(), shape, data_type_of(input.dtype()));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back("y" + std::to_string(i));
    model.output(results.back(), kAny);
  }
  model.node(op, names, results, attributes);
  return model;
}

Tensors run(std::int64_t opset, const std::string& op, const Tensors& inputs, const Attributes& attributes = {},
            Dims dims = Dims::known, std::size_t outputs = 1) {
  Tensors given;
  for (const Tensor& input : inputs) {
    if (input.dtype() != DType::undefined) given.push_back(input);
  }
  return evaluate(model_of(opset, op, inputs, attributes, dims, outputs), given);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_refused(std::int64_t opset, const std::string& op, const Tensors& inputs, const Attributes& attributes,
                    const std::string& text) {
  const std::string message = error_of([&] { run(opset, op, inputs, attributes); });
  EXPECT_NE(message.find(text), std::string::npos) << op << ": '" << message << "'";
}

void expect_same(const Tensors& found, const Tensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto values = expected[i].values<float>();
    expect_floats(found[i], expected[i].shape(), {values.begin(), values.end()});
  }
}

Attributes heads(int query, int key) { return {attribute("q_num_heads", query), attribute("kv_num_heads", key)}; }

TEST(Attention, OpenDimensionsChangeNothing) {
  const Tensors flat = {waves({2, 3, 8}, 0), waves({2, 5, 4}, 1), waves({2, 5, 6}, 2)};
  expect_same(run(23, "Attention", flat, heads(4, 2), Dims::open), run(23, "Attention", flat, heads(4, 2)));
  const Tensors deep = {waves({2, 4, 3, 2}, 0), waves({2, 2, 2, 2}, 1), waves({2, 2, 2, 3}, 2),
                        waves({3, 4}, 3),       waves({2, 2, 2, 2}, 4), waves({2, 2, 2, 3}, 5)};
  const Attributes causal = {attribute("is_causal", 1), attribute("softcap", 2.0f)};
  expect_same(run(24, "Attention", deep, causal, Dims::open, 4), run(24, "Attention", deep, causal, Dims::known, 4));
}

TEST(Attention, GroupsOfQueriesShareTheirKey) {
  const Tensor query = waves({1, 4, 3, 2}, 0), key = waves({1, 2, 3, 2}, 1), value = waves({1, 2, 3, 2}, 2);
  const auto repeated = [](const Tensor& x) {
    Tensor y(DType::f32, {1, 4, 3, 2});
    for (std::size_t i = 0; i < 24; ++i) y.values<float>()[i] = x.values<float>()[i / 12 * 6 + i % 6];
    return y;
  };
  expect_same(run(23, "Attention", {query, key, value}), run(23, "Attention", {query, repeated(key), repeated(value)}));
  for (const Shape& shape : {Shape{3, 3}, {1, 3, 3}, {4, 3, 3}, {1, 1, 3, 3}, {1, 4, 3, 3}}) {
    const Tensor mask = waves(shape, 3);
    for (const Attributes& attributes : {Attributes{}, {attribute("is_causal", 1)}, {attribute("softcap", 2.0f)}})
      for (const Dims dims : {Dims::known, Dims::open})
        expect_same(run(23, "Attention", {query, key, value, mask}, attributes, dims),
                    run(23, "Attention", {query, repeated(key), repeated(value), mask}, attributes, dims));
  }
}

/// Which keys each query meets: equal scores, and values that say which key they belong to.
Tensor meetings(std::int64_t queries, std::int64_t keys, const Attributes& attributes) {
  Tensor value(DType::f32, {1, 1, keys, keys});
  for (std::int64_t i = 0; i < keys; ++i) value.values<float>()[static_cast<std::size_t>(i * keys + i)] = 1;
  return run(25, "Attention", {Tensor(DType::f32, {1, 1, queries, 1}), Tensor(DType::f32, {1, 1, keys, 1}), value},
             attributes)[0];
}

TEST(Attention, WindowsBoundBothSides) {
  const float third = 1.0f / 3;
  expect_floats(meetings(3, 4, {attribute("left_window_size", 1), attribute("right_window_size", 1)}), {1, 1, 3, 4},
                {0.5f, 0.5f, 0, 0, third, third, third, 0, 0, third, third, third});
  expect_floats(meetings(3, 2, {attribute("left_window_size", 0), attribute("is_causal", 1)}), {1, 1, 3, 2},
                {1, 0, 0, 1, 0, 0});
}

TEST(Attention, EmptyBatchesAndSequences) {
  const Shape query = {0, 2, 3, 4}, key = {0, 2, 5, 4};
  EXPECT_EQ(
      run(23, "Attention", {Tensor(DType::f32, query), Tensor(DType::f32, key), Tensor(DType::f32, key)})[0].shape(),
      query);
  const Tensor none(DType::f32, {1, 0, 4}), some(DType::f32, {1, 2, 4});
  EXPECT_EQ(run(23, "Attention", {none, some, some}, heads(2, 2))[0].shape(), (Shape{1, 0, 4}));
}

TEST(Attention, Contradictions) {
  const Tensor x = waves({1, 4, 3, 2}, 0), odd = waves({1, 3, 3, 2}, 0), flat = waves({1, 3, 4}, 0);
  expect_refused(23, "Attention", {x, odd, odd}, {}, "3 key heads do not divide 4 query heads");
  expect_refused(23, "Attention", {x, x, x, {}, x}, {}, "past key and value together");
  expect_refused(23, "Attention", {flat, flat, flat}, {}, "attribute 'q_num_heads' is required");
  expect_refused(23, "Attention", {flat, flat, flat}, heads(3, 2), "3 heads do not divide a width of 4");
  expect_refused(23, "Attention", {x, x, x}, {attribute("qk_matmul_output_mode", 4)}, "4 does not exist");
  expect_refused(23, "Attention", {x, x, x}, {attribute("softmax_precision", 7)}, "int64 is no real type");
  expect_refused(24, "Attention", {x, x, x, waves({3, 9}, 0)}, {}, "the mask has 9 columns");
}

TEST(FlexAttention, GraphsCaptureWhatIsAround) {
  ModelBuilder bias(0);
  bias.input("s", {1, 1, 1, 2}).output("t").node("Add", {"s", "b"}, {"t"});
  ModelBuilder model(26);
  model.import("ai.onnx.preview", 1);
  model.input("q", {1, 1, 1, 1}).input("k", {1, 1, 2, 1}).input("v", {1, 1, 2, 1}).input("b", {2}).output("y");
  model.node("FlexAttention", {"q", "k", "v"}, {"y"}, {attribute("score_mod", bias.proto.graph())}, "ai.onnx.preview");
  const float lowest = -std::numeric_limits<float>::infinity();
  const Tensors inputs = {counting({1, 1, 1, 1}), counting({1, 1, 2, 1}), floats({1, 1, 2, 1}, {5, 7})};
  Tensors barred = inputs, open = inputs;
  barred.push_back(floats({2}, {0, lowest}));
  open.push_back(floats({2}, {0, 0}));
  expect_floats(evaluate(model, barred)[0], {1, 1, 1, 1}, {5});
  expect_floats(evaluate(model, open)[0], {1, 1, 1, 1}, {6});
}

TEST(LinearAttention, OpenDimensionsAndNoTokens) {
  Attributes attributes = heads(4, 2);
  attributes.push_back(attribute("update_rule", "linear"));
  const Tensors inputs = {waves({2, 3, 8}, 0), waves({2, 3, 4}, 1), waves({2, 3, 6}, 2)};
  expect_same(run(27, "LinearAttention", inputs, attributes, Dims::open, 2),
              run(27, "LinearAttention", inputs, attributes, Dims::known, 2));
  const auto none = run(27, "LinearAttention", {waves({2, 0, 8}, 0), waves({2, 0, 4}, 1), waves({2, 0, 6}, 2)},
                        attributes, Dims::known, 2);
  EXPECT_EQ(none[0].shape(), (Shape{2, 0, 12}));
  expect_floats(none[1], {2, 2, 2, 3}, std::vector<float>(24, 0));
  expect_refused(27, "LinearAttention", inputs, heads(4, 3), "3 key heads do not divide 4 query heads");
  expect_refused(27, "LinearAttention", inputs, heads(4, 2), "input 4 is required");
}

TEST(CausalConvWithState, KeepsWhatTheNextCallReads) {
  const Tensors inputs = {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 3}, {1, 10, 100}), {}, floats({1, 1, 2}, {8, 9})};
  const auto outputs = run(27, "CausalConvWithState", inputs, {}, Dims::known, 2);
  expect_floats(outputs[0], {1, 1, 3}, {198, 219, 321});
  expect_floats(outputs[1], {1, 1, 2}, {2, 3});
  expect_refused(27, "CausalConvWithState", inputs, {attribute("activation", "relu")}, "'relu' does not exist");
}

TEST(RotaryEmbedding, RotatesAPartOnly) {
  const Tensors inputs = {floats({1, 1, 3}, {1, 2, 7}), floats({2, 1}, {1, 0}), floats({2, 1}, {0, 1}),
                          integers({1, 1}, {1})};
  const auto y = run(23, "RotaryEmbedding", inputs, {attribute("num_heads", 1), attribute("rotary_embedding_dim", 2)});
  expect_floats(y[0], {1, 1, 3}, {-2, 1, 7});
  expect_refused(23, "RotaryEmbedding", inputs, {attribute("num_heads", 1), attribute("rotary_embedding_dim", 4)},
                 "cannot rotate 4 of 3 elements");
}

TEST(TensorScatter, WritesAroundTheEndOnlyWhereAsked) {
  const Tensors inputs = {Tensor(DType::f32, {1, 3, 1}), floats({1, 2, 1}, {1, 2}), integers({1}, {2})};
  expect_floats(run(24, "TensorScatter", inputs, {attribute("mode", "circular")}, Dims::open)[0], {1, 3, 1}, {2, 0, 1});
  EXPECT_NE(error_of([&] { run(24, "TensorScatter", inputs); }), "");
  expect_refused(24, "TensorScatter", inputs, {attribute("axis", 0)}, "0 is the batch");
}

TEST(Losses, LabelsOfEveryTypeAndRange) {
  const Tensor scores = floats({2, 2}, {-1, -2, -3, -4});
  Tensor labels(DType::i32, {2});
  labels.values<std::int32_t>()[0] = 1;
  expect_floats(run(13, "NegativeLogLikelihoodLoss", {scores, labels})[0], {}, {2.5f});
  expect_floats(run(12, "NegativeLogLikelihoodLoss", {scores, labels}, {attribute("ignore_index", 0)})[0], {}, {2});
  const auto open =
      run(13, "SoftmaxCrossEntropyLoss", {scores, labels}, {attribute("reduction", "none")}, Dims::open, 2);
  expect_floats(open[0], {2}, {1.3132617f, 0.3132617f});
  expect_floats(open[1], {2, 2}, {-0.3132617f, -1.3132617f, -0.3132617f, -1.3132617f});
  EXPECT_NE(error_of([&] { run(13, "NegativeLogLikelihoodLoss", {scores, integers({2}, {0, 2})}); }), "");
  expect_refused(13, "NegativeLogLikelihoodLoss", {scores, integers({2, 1}, {0, 0})}, {}, "expected labels of rank 1");
  expect_refused(13, "SoftmaxCrossEntropyLoss", {scores, labels}, {attribute("reduction", "max")},
                 "'max' does not exist");
}

TEST(Composed, WindowsOfAnyLengthAndType) {
  expect_floats(run(17, "HannWindow", {integers({}, {4})})[0], {4}, {0, 0.5f, 1, 0.5f});
  expect_floats(run(17, "HannWindow", {integers({1}, {3})}, {attribute("periodic", 0)}, Dims::open)[0], {3}, {0, 1, 0});
  expect_ints(run(17, "HannWindow", {integers({}, {2})}, {attribute("output_datatype", 7)})[0], {2}, {0, 1});
  EXPECT_EQ(run(17, "BlackmanWindow", {integers({}, {0})})[0].shape(), Shape{0});
}

TEST(Composed, CentresStayWhereDimensionsAreOpen) {
  const Tensor x = counting({5, 1});
  for (const Dims dims : {Dims::known, Dims::open}) {
    expect_floats(run(18, "CenterCropPad", {x, integers({2}, {2, 2})}, {}, dims)[0], {2, 2}, {1, 0, 2, 0});
  }
  expect_refused(18, "CenterCropPad", {x, integers({1}, {2})}, {}, "expected 2 sizes as axes, found 1");
  expect_refused(18, "CenterCropPad", {x, integers({1}, {2})}, {attribute("axes", Ints{2})}, "axis 2 is out of range");
}

TEST(Composed, ReversedSequencesAreNoLongerThanTime) {
  const Tensor x = counting({3, 2});
  expect_floats(run(10, "ReverseSequence", {x, integers({2}, {2, 3})}, {}, Dims::open)[0], {3, 2}, {2, 5, 0, 3, 4, 1});
  EXPECT_NE(error_of([&] { run(10, "ReverseSequence", {x, integers({2}, {4, 3})}); }), "");
  expect_refused(10, "ReverseSequence", {x, integers({2}, {1, 1})}, {attribute("batch_axis", 0)}, "to be 0 and 1");
}

TEST(Composed, GridsFollowTheirSize) {
  const Tensor turn = floats({1, 2, 3}, {0, 1, 0, 1, 0, 5});
  expect_floats(run(20, "AffineGrid", {turn, integers({4}, {1, 1, 1, 2})})[0], {1, 1, 2, 2}, {0, 4.5f, 0, 5.5f});
  const ModelBuilder open = model_of(20, "AffineGrid", {turn, integers({4}, {1, 1, 1, 2})}, {}, Dims::open);
  EXPECT_NE(error_of([&] { open.import_graph(); }).find("dimensions is not known"), std::string::npos);
  expect_refused(20, "AffineGrid", {turn, integers({3}, {1, 1, 2})}, {}, "2 or 3 dimensions");
  const Tensor size = integers({4}, {1, 1, 1, 2});
  expect_refused(20, "AffineGrid", {counting({1, 3, 4}), size}, {}, "theta of 2 numbers along axis 1, found 3");
  expect_refused(20, "AffineGrid", {counting({1, 2, 4}), size}, {}, "theta of 3 numbers along axis 2, found 4");
  const ModelBuilder wide = model_of(20, "AffineGrid", {counting({1, 2, 4}), size}, {}, Dims::open);
  EXPECT_NE(error_of([&] { evaluate(wide, {counting({1, 2, 4}), size}); }), "");
  expect_floats(run(20, "AffineGrid", {Tensor(DType::f32, {0, 2, 3}), integers({4}, {0, 1, 3, 2})})[0], {0, 3, 2, 2},
                {});
  expect_floats(run(20, "AffineGrid", {turn, integers({4}, {1, 1, 2, 0})})[0], {1, 2, 0, 2}, {});
}

/// By the definition: theta times (x, y, z, 1), for each batch entry, z, y and x.
TEST(Composed, GridsOfVolumesAreTheirDefinition) {
  const Tensor theta = waves({2, 3, 4}, 1);
  const std::int64_t depth = 3, height = 4, width = 5;
  const Tensor found =
      run(20, "AffineGrid", {theta, integers({5}, {2, 1, depth, height, width})}, {attribute("align_corners", 1)})[0];
  ASSERT_EQ(found.shape(), (Shape{2, depth, height, width, 3}));
  const auto at = [](std::int64_t i, std::int64_t n) {
    return static_cast<double>(2 * i - n + 1) / static_cast<double>(n - 1);
  };
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const std::int64_t row = i % 3, x = i / 3 % width, y = i / 3 / width % height, z = i / 3 / width / height % depth;
    const float* factors = theta.values<float>().data() + (i / (found.size() / 2) * 3 + row) * 4;
    const double want = factors[0] * at(x, width) + factors[1] * at(y, height) + factors[2] * at(z, depth) + factors[3];
    ASSERT_NEAR(found.values<float>()[static_cast<std::size_t>(i)], want, 1e-6) << i;
  }
}

TEST(Composed, NothingStaysOfWhatIsShiftedBeyondAllBits) {
  for (const bool known : {true, false})
    for (const bool right : {true, false}) {
      ModelBuilder model(11);
      model.output("y", onnx::TensorProto::UINT64).input("x", {4}, onnx::TensorProto::UINT64);
      Tensor x(DType::u64, {4}), places(DType::u64, {4});
      const std::uint64_t all = ~std::uint64_t{0}, counts[] = {0, 63, 64, 200};
      for (std::size_t i = 0; i < 4; ++i) {
        x.values<std::uint64_t>()[i] = all;
        places.values<std::uint64_t>()[i] = counts[i];
      }
      Tensors given = {x};
      if (known) {
        model.constant(raw_tensor<std::uint64_t>("n", onnx::TensorProto::UINT64, {4}, {0, 63, 64, 200}));
      } else {
        model.input("n", {4}, onnx::TensorProto::UINT64);
        given.push_back(places);
      }
      model.node("BitShift", {"x", "n"}, {"y"}, {attribute("direction", right ? "RIGHT" : "LEFT")});
      const Tensor y = evaluate(model, given)[0];
      const std::uint64_t want[] = {all, right ? 1 : std::uint64_t{1} << 63, 0, 0};
      for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(y.values<std::uint64_t>()[i], want[i]) << known << right << i;
    }
}

TEST(Composed, FactorsAndBoundsOfIntegersNeedNotBeWhole) {
  const Tensor x = integers({1, 4}, {-3, -1, 2, 5}), one = integers({1, 1}, {2});
  expect_ints(run(9, "Shrink", {x}, {attribute("lambd", 1.5f), attribute("bias", 1.0f)})[0], {1, 4}, {-2, 0, 1, 4});
  expect_ints(run(13, "Gemm", {one, x}, {attribute("alpha", 0.75f)})[0], {1, 4}, {-4, -1, 3, 7});
}

TEST(Composed, GridsSampleLinesAndVolumes) {
  expect_floats(run(20, "GridSample", {floats({1, 1, 2}, {1, 3}), floats({1, 1, 1}, {0})})[0], {1, 1, 1}, {2});
  const Tensors volume = {counting({1, 1, 2, 1, 1}), floats({1, 1, 1, 1, 3}, {0, 0, 0.5f})};
  expect_floats(run(20, "GridSample", volume, {attribute("align_corners", 1)})[0], {1, 1, 1, 1, 1}, {0.75f});
}

TEST(Composed, RootMeanSquaresHaveTheTypeOfTheirScale) {
  Tensor x(DType::f64, {1, 2});
  x.values<double>()[0] = 3;
  x.values<double>()[1] = 4;
  const auto y = run(23, "RMSNormalization", {x, floats({2}, {1, 2})}, {attribute("epsilon", 0.0f)});
  expect_floats(y[0], {1, 2}, {3 / std::sqrt(12.5f), 8 / std::sqrt(12.5f)});
}

TEST(Matrix, Determinants) {
  expect_floats(run(11, "Det", {floats({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4})})[0], {2}, {-6, 0});
  expect_floats(run(22, "Det", {Tensor(DType::f32, {0, 0})})[0], {}, {1});
  EXPECT_EQ(run(22, "Det", {Tensor(DType::f32, {0, 3, 3})})[0].shape(), Shape{0});
  expect_refused(22, "Det", {counting({2, 3})}, {}, "node 'y0' (Det)");
}

TEST(Matrix, RunningProducts) {
  expect_ints(run(26, "CumProd", {integers({3}, {2, 3, 4}), integers({}, {-1})}, {attribute("exclusive", 1)})[0], {3},
              {1, 2, 6});
  expect_floats(run(26, "CumProd", {floats({2, 2}, {1, 2, 3, 4}), integers({}, {0})}, {attribute("reverse", 1)})[0],
                {2, 2}, {3, 8, 3, 4});
  EXPECT_EQ(run(26, "CumProd", {Tensor(DType::f32, {0, 2}), integers({}, {0})})[0].shape(), (Shape{0, 2}));
  expect_refused(26, "CumProd", {counting({2}), integers({}, {1})}, {}, "node 'y0' (CumProd)");
}

}  // namespace
}  // namespace colonnade::onnx_import::testing::functions
