// SPDX-License-Identifier: Apache-2.0
// Texts of a batch whose padding is left out: each has the bits that it has alone, and the reference's numbers.
#include "api/texts.hpp"

#include <gtest/gtest.h>

#include <random>

#include "colonnade/colonnade.h"

namespace colonnade::test {
namespace {

constexpr std::int64_t kTextWidth = 48, kTextHeads = 3, kLongestText = 200;

enum class Pooling { mean, first, none };

void add_constants(ModelBuilder& model, float far) {
  model.input("input_ids", {-1, -1}, onnx::TensorProto::INT64);
  model.input("attention_mask", {-1, -1}, onnx::TensorProto::INT64);
  model.constant(float_tensor("words", {kWords, kTextWidth}, waves(kWords * kTextWidth, 0.7f)));
  model.constant(float_tensor("positions", {kLongestText, kTextWidth}, waves(kLongestText * kTextWidth, 0.3f)));
  for (const auto& [name, step] : {std::tuple("q", 0.11f), {"k", 0.13f}, {"v", 0.17f}, {"o", 0.19f}})
    model.constant(float_tensor(name, {kTextWidth, kTextWidth}, waves(kTextWidth * kTextWidth, step)));
  for (const char* name : {"scale", "bias"}) model.constant(float_tensor(name, {kTextWidth}, waves(kTextWidth, 0.9f)));
  model.constant(float_tensor("root", {}, {4.0f})).constant(float_tensor("one", {}, {1.0f}));
  model.constant(float_tensor("far", {}, {far})).constant(float_tensor("least", {}, {1e-9f}));
  for (const auto& [name, values] : {std::pair("i0", Ints{0}),
                                     {"i1", {1}},
                                     {"i2", {2}},
                                     {"i12", {1, 2}},
                                     {"heads", {0, 0, kTextHeads, kTextWidth / kTextHeads}},
                                     {"joined", {0, 0, kTextWidth}}})
    model.constant(int_tensor(name, {std::ssize(values)}, values));
}

void add_attention(ModelBuilder& model) {
  model.node("Gather", {"words", "input_ids"}, {"word"});
  model.node("Shape", {"input_ids"}, {"shape"}).node("Gather", {"shape", "i1"}, {"count"});
  model.node("Slice", {"positions", "i0", "count"}, {"position"});
  model.node("Add", {"word", "position"}, {"x"});
  model.node("Cast", {"attention_mask"}, {"ones"}, {attribute("to", int{onnx::TensorProto::FLOAT})});
  model.node("Unsqueeze", {"ones", "i12"}, {"keys"}).node("Sub", {"one", "keys"}, {"padding"});
  model.node("Mul", {"padding", "far"}, {"mask"});
  for (const char* name : {"q", "k", "v"}) {
    const std::string n = name;
    model.node("MatMul", {"x", n}, {n + "_all"}).node("Reshape", {n + "_all", "heads"}, {n + "_split"});
    const Ints perm = n == "k" ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3};
    model.node("Transpose", {n + "_split"}, {n + "_heads"}, {attribute("perm", perm)});
  }
  model.node("MatMul", {"q_heads", "k_heads"}, {"products"}).node("Div", {"products", "root"}, {"scaled"});
  model.node("Add", {"scaled", "mask"}, {"scores"}).node("Softmax", {"scores"}, {"shares"}, {attribute("axis", -1)});
  model.node("MatMul", {"shares", "v_heads"}, {"mixed"});
  model.node("Transpose", {"mixed"}, {"turned"}, {attribute("perm", Ints{0, 2, 1, 3})});
  model.node("Reshape", {"turned", "joined"}, {"all"}).node("MatMul", {"all", "o"}, {"projected"});
  model.node("Add", {"x", "projected"}, {"sum"});
  model.node("LayerNormalization", {"sum", "scale", "bias"}, {"tokens"}, {attribute("axis", -1)});
}

/// One layer of a BERT as exports write it, and what is made of its tokens.
std::string encoder(Pooling pooling, float far = -10000.0f) {
  ModelBuilder model;
  add_constants(model, far);
  add_attention(model);
  if (pooling == Pooling::none) return model.output("tokens").bytes();
  if (pooling == Pooling::first)
    return model.node("Gather", {"tokens", "i0"}, {"y"}, {attribute("axis", 1)}).output("y").bytes();
  model.node("Unsqueeze", {"ones", "i2"}, {"live"}).node("Mul", {"tokens", "live"}, {"kept"});
  model.node("ReduceSum", {"kept", "i1"}, {"sums"}, {attribute("keepdims", 0)});
  model.node("ReduceSum", {"live", "i1"}, {"counted"}, {attribute("keepdims", 0)});
  model.node("Max", {"counted", "least"}, {"counts"}).node("Div", {"sums", "counts"}, {"y"});
  return model.output("y").bytes();
}

const std::vector<std::int64_t> kLengths = {17, 1, 64, 33, 130, 5};

TEST(Texts, HaveTheBitsThatTheyHaveAlone) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::none}) {
    const std::string bytes = encoder(pooling);
    const std::size_t rows = pooling == Pooling::none ? 130 : 1;
    std::vector<std::vector<float>> alone;
    for (const int threads : {1, 2, 3}) {
      Session session(model_of(bytes, threads));
      const Tensor all = std::move(session.run(batch_of(kLengths).views())[0]);
      for (std::size_t text = 0; text < kLengths.size(); ++text) {
        if (threads == 1) alone.push_back(row_of(session.run(batch_of({kLengths[text]}).views())[0], 0));
        EXPECT_EQ(row_of(all, text * rows), alone[text]) << text << " with " << threads << " threads";
      }
    }
  }
}

TEST(Texts, AgreeWithTheReference) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first})
    for (const float far : {-10000.0f, -3.4028234663852886e38f}) {
      const Model model = model_of(encoder(pooling, far));
      Session session(model);
      const Batch batch = batch_of(kLengths);
      const Tensor found = std::move(session.run(batch.views())[0]);
      expect_near(found, model.evaluate_reference(batch.views())[0]);
      Tensor given(DType::f32, found.shape());
      session.run(batch.views(), std::vector<MutableTensorView>{given});
      EXPECT_EQ(std::memcmp(given.data(), found.data(), found.byte_size()), 0);
      const std::vector<Datum> data = session.run_data(std::vector<Datum>{batch.ids, batch.mask});
      EXPECT_EQ(std::memcmp(data[0].tensor().data(), found.data(), found.byte_size()), 0);
    }
}

TEST(Texts, GiveZerosAtPaddingOfTokens) {
  const Model model = model_of(encoder(Pooling::none));
  EXPECT_NE(model.describe().find("left out, zeros in outputs of tokens"), std::string::npos);
  Session session(model);
  for (const auto& [lengths, left] :
       {std::pair(kLengths, false), {kLengths, true}, {Ints{9, 0, 4}, false}, {Ints{1, 3}, true}}) {
    const Batch batch = batch_of(lengths, left);
    const Tensor found = std::move(session.run(batch.views())[0]), expected = tokens_expected(model, batch);
    expect_near(found, expected);
    for (std::size_t i = 0; i < found.values<float>().size(); ++i)
      ASSERT_EQ(found.values<float>()[i] == 0, expected.values<float>()[i] == 0) << i;
    Tensor given(DType::f32, found.shape());
    session.run(batch.views(), std::vector<MutableTensorView>{given});
    EXPECT_TRUE(same_bits(given, found));
    const Shape shape = found.shape();
    Tensor turned(DType::f32, {shape[1], shape[0], shape[2]});
    session.run(batch.views(), std::vector<MutableTensorView>{
                                   {DType::f32, shape, turned.data(), Ints{shape[2], shape[0] * shape[2], 1}}});
    for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row)
      EXPECT_EQ(row_of(turned, static_cast<std::size_t>(row % shape[1] * shape[0] + row / shape[1])),
                row_of(found, static_cast<std::size_t>(row)));
  }
}

TEST(Texts, GiveZerosWhereNoTextHasTokensOrFirstOnesAreMissing) {
  for (const Pooling pooling : {Pooling::none, Pooling::first}) {
    const Model model = model_of(encoder(pooling));
    Session session(model);
    Batch batch = batch_of({7, 5}, true);
    for (const bool none : {false, true}) {
      if (none) std::ranges::fill(batch.mask.values<std::int64_t>(), 0);
      const Tensor found = std::move(session.run(batch.views())[0]);
      if (pooling == Pooling::none)
        expect_near(found, tokens_expected(model, batch));
      else
        expect_near(found, model.evaluate_reference(batch.views())[0]);
    }
  }
}

TEST(Texts, GiveWhatTheNetworkMakesOfPaddingWhereAsked) {
  const Model model = model_of(encoder(Pooling::none), 2, Padding::compute);
  EXPECT_NE(model.describe().find("computed: an output has rows of it"), std::string::npos);
  Session session(model);
  const Batch batch = batch_of(kLengths);
  expect_near(session.run(batch.views())[0], model.evaluate_reference(batch.views())[0]);
  EXPECT_NE(model_of(encoder(Pooling::mean), 2, Padding::compute).describe().find("left out"), std::string::npos);
}

TEST(Texts, AreComputedWithPaddingThroughTheCInterfaceWhereAsked) {
  const std::string bytes = encoder(Pooling::none);
  for (const bool computed : {false, true}) {
    colonnade_options options{};
    options.struct_size = sizeof options;
    options.compute_padding = computed ? 1 : 0;
    colonnade_model* model = nullptr;
    ASSERT_EQ(colonnade_model_from_bytes(bytes.data(), bytes.size(), &options, &model), nullptr);
    char* text = nullptr;
    ASSERT_EQ(colonnade_model_describe(model, nullptr, 0, &text), nullptr);
    EXPECT_EQ(std::string(text).find("left out, zeros") == std::string::npos, computed);
    colonnade_text_free(text);
    colonnade_model_free(model);
  }
}

TEST(Texts, MayBePaddedInFront) {
  const Model model = model_of(encoder(Pooling::mean));
  Session session(model);
  const Batch batch = batch_of(kLengths, true);
  expect_near(session.run(batch.views())[0], model.evaluate_reference(batch.views())[0]);
}

TEST(Texts, MayHaveStrides) {
  Session session(model_of(encoder(Pooling::mean)));
  const Batch batch = batch_of(kLengths);
  const std::vector<Tensor> expected = session.run(batch.views());
  const std::int64_t texts = std::ssize(kLengths), longest = batch.ids.shape()[1];
  std::vector<Tensor> turned;
  for (const Tensor* given : {&batch.ids, &batch.mask}) {
    Tensor& to = turned.emplace_back(DType::i64, Shape{longest, texts});
    for (std::int64_t i = 0; i < texts * longest; ++i)
      to.values<std::int64_t>()[static_cast<std::size_t>(i % longest * texts + i / longest)] =
          given->values<std::int64_t>()[static_cast<std::size_t>(i)];
  }
  std::vector<TensorView> views;
  for (const Tensor& tensor : turned)
    views.emplace_back(DType::i64, Shape{texts, longest}, tensor.data(), Ints{1, texts});
  const std::vector<Tensor> found = session.run(views);
  EXPECT_EQ(std::memcmp(found[0].data(), expected[0].data(), found[0].byte_size()), 0);
}

TEST(Texts, MayHaveTokensMissingAnywhere) {
  const Model model = model_of(encoder(Pooling::mean));
  Session session(model);
  std::mt19937 random(1);
  for (int round = 0; round < 10; ++round) {
    Batch batch = batch_of({40, 40, 40});
    for (std::int64_t& live : batch.mask.values<std::int64_t>()) live = static_cast<std::int64_t>(random() % 2);
    expect_near(session.run(batch.views())[0], model.evaluate_reference(batch.views())[0]);
  }
}

TEST(Texts, MayHaveNoTokens) {
  for (const Pooling pooling : {Pooling::mean, Pooling::first}) {
    const Model model = model_of(encoder(pooling));
    Session session(model);
    const Batch batch = batch_of({9, 0, 4});
    expect_near(session.run(batch.views())[0], model.evaluate_reference(batch.views())[0]);
  }
}

TEST(Texts, RunAsTheyAreWhereTheMaskHasOtherNumbers) {
  const Model model = model_of(encoder(Pooling::mean));
  Session session(model);
  Batch batch = batch_of({9, 3});
  batch.mask.values<std::int64_t>()[2] = 2;
  expect_near(session.run(batch.views())[0], model.evaluate_reference(batch.views())[0]);
}

TEST(Texts, BeyondTheTableArePlainErrors) {
  Session session(model_of(encoder(Pooling::mean)));
  EXPECT_THROW(session.run(batch_of({kLongestText + 1}).views()), Error);
  EXPECT_EQ(session.run(batch_of({3}).views())[0].shape(), (Shape{1, kTextWidth}));
}

TEST(Texts, TakeFewPlansForAllLengths) {
  Session session(model_of(encoder(Pooling::mean)));
  for (std::int64_t length = 1; length <= 160; ++length) session.run(batch_of({length}).views());
  EXPECT_LE(session.memory_stats().plans, 20u);
  EXPECT_EQ(session.output_shapes(std::vector<Shape>{{7, 9}, {7, 9}}), (std::vector<Shape>{{7, kTextWidth}}));
}

}  // namespace
}  // namespace colonnade::test
