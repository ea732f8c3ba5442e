// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on data: what can be planned is, the rest is evaluated, and plans follow when shapes are known.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "colonnade/colonnade.hpp"
#include "onnx/control.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::int_tensor;
using onnx_import::testing::ModelBuilder;

std::vector<float> ramp(std::int64_t count, float scale) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * (static_cast<float>((i * 7) % 11) - 5.0f);
  return values;
}

/// A convolution, then the positions of its positive elements, then a convolution over what is found there.
std::string positions_model() {
  ModelBuilder model;
  model.input("x", {1, 2, -1, -1});
  model.constant(float_tensor("w", {3, 2, 3, 3}, ramp(54, 0.1f)));
  model.constant(float_tensor("v", {4, 4, 3}, ramp(48, 0.05f)));
  model.constant(float_tensor("zero", {}, {0}));
  model.node("Conv", {"x", "w"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.node("Greater", {"c", "zero"}, {"positive"});
  model.node("NonZero", {"positive"}, {"at"});
  model.node("Cast", {"at"}, {"where"}, {attribute("to", 1)});
  model.constant(int_tensor("axes", {1}, {0}));
  model.node("Unsqueeze", {"where", "axes"}, {"image"});
  model.node("Conv", {"image", "v"}, {"d"}, {attribute("pads", Ints{1, 1})});
  model.node("Relu", {"d"}, {"y"});
  model.node("ReduceMean", {"c"}, {"mean"});
  model.output("y").output("mean").output("at", onnx::TensorProto::INT64);
  return model.bytes();
}

Model load(const std::string& bytes, const Options& options = {}) {
  return Model::from_bytes(onnx_import::testing::as_bytes(bytes), options);
}

Tensor image(std::int64_t height, std::int64_t width, int seed) {
  Tensor tensor(DType::f32, {1, 2, height, width});
  auto values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(static_cast<float>(i) * 0.7f + static_cast<float>(seed));
  return tensor;
}

void expect_close(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.dtype(), expected.dtype());
  ASSERT_EQ(found.shape(), expected.shape());
  if (found.dtype() != DType::f32) {
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.byte_size()), 0);
    return;
  }
  for (std::size_t i = 0; i < found.values<float>().size(); ++i)
    ASSERT_NEAR(found.values<float>()[i], expected.values<float>()[i], 1e-3f) << "element " << i;
}

TEST(Dynamic, ShapesThatDependOnDataMatchTheReference) {
  const Model model = load(positions_model());
  Session session(model);
  for (int seed = 0; seed < 6; ++seed) {
    const Tensor x = image(8 + seed % 2, 9, seed);
    const TensorView view = x;
    const std::vector<Tensor> found = session.run({&view, 1});
    const std::vector<Tensor> expected = model.evaluate_reference(std::span<const TensorView>(&view, 1));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) expect_close(found[i], expected[i]);
    EXPECT_GT(found[0].size(), 0);
  }
}

TEST(Dynamic, BothSidesArePlannedAndTheRestIsNamed) {
  const Model model = load(positions_model());
  const auto plan = nlohmann::json::parse(model.describe({{"x", {1, 2, 8, 8}}}));
  std::vector<std::string> planned;
  for (const auto& segment : plan["segments"])
    for (const auto& node : segment["operators"]) planned.push_back(node["op"]);
  EXPECT_NE(std::find(planned.begin(), planned.end(), "Conv"), planned.end());
  bool found = false;
  for (const auto& island : plan["islands"])
    found = found ||
            (island["op"] == "NonZero" && std::string(island["reason"]).find("depends on data") != std::string::npos);
  EXPECT_TRUE(found) << plan["islands"];
  EXPECT_GE(plan["later"].get<int>(), 2);
}

TEST(Dynamic, EveryScheduleAndNumberOfThreadsGivesTheSameBits) {
  std::vector<Tensor> first;
  for (const Schedule schedule : {Schedule::automatic, Schedule::columns, Schedule::layers})
    for (const int threads : {1, 2}) {
      Options options;
      options.schedule = schedule;
      options.threads = threads;
      Session session(load(positions_model(), options));
      const Tensor x = image(40, 33, 1);
      const TensorView view = x;
      std::vector<Tensor> found = session.run({&view, 1});
      if (first.empty()) first = found;
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].shape(), first[i].shape());
        EXPECT_EQ(std::memcmp(found[i].data(), first[i].data(), found[i].byte_size()), 0);
      }
    }
}

/// Elements above zero, as many as there are, are squared apart and put back; convolutions before and behind.
std::string masked_model() {
  ModelBuilder model;
  model.input("x", {1, 2, -1, -1});
  model.constant(float_tensor("w", {3, 2, 3, 3}, ramp(54, 0.1f)));
  model.constant(float_tensor("v", {4, 3, 3, 3}, ramp(108, 0.05f)));
  model.constant(float_tensor("zero", {}, {0})).constant(int_tensor("first", {}, {0}));
  model.node("Conv", {"x", "w"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.node("Greater", {"c", "zero"}, {"positive"}).node("NonZero", {"positive"}, {"columns"});
  model.node("Transpose", {"columns"}, {"at"}, {attribute("perm", Ints{1, 0})});
  model.node("GatherND", {"c", "at"}, {"found"}).node("Mul", {"found", "found"}, {"squares"});
  model.node("Shape", {"found"}, {"sizes"}).node("Gather", {"sizes", "first"}, {"count"});
  model.node("Cast", {"count"}, {"how_many"}, {attribute("to", 1)});
  model.node("Div", {"squares", "how_many"}, {"shares"});
  model.node("ScatterND", {"c", "at", "shares"}, {"put_back"});
  model.node("Conv", {"put_back", "v"}, {"d"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.node("Relu", {"d"}, {"y"}).output("y");
  return model.bytes();
}

TEST(Dynamic, FewElementsNeedNoPlanForEachCount) {
  const Model model = load(masked_model());
  Session session(model);
  for (int seed = 0; seed < 20; ++seed) {
    Tensor x = image(8, 9, seed);
    if (seed == 0) x = Tensor(DType::f32, {1, 2, 8, 9});  // none is above zero
    const TensorView view = x;
    const std::vector<Tensor> found = session.run({&view, 1});
    expect_close(found[0], model.evaluate_reference(std::span<const TensorView>(&view, 1))[0]);
    EXPECT_EQ(session.stats().cached_plans, 2u) << "before and behind";
  }
  const auto plan = nlohmann::json::parse(model.describe({{"x", {1, 2, 8, 9}}}));
  EXPECT_EQ(plan["islands"].size(), 2u) << plan["islands"];
  EXPECT_EQ(plan["islands"][1]["node"], "at");
  EXPECT_EQ(plan["islands"][1]["op"], "Transpose and 7 more");
}

/// As long as a number among the data says: nothing that is small bounds it.
TEST(Dynamic, RangesArePlanned) {
  ModelBuilder model;
  model.input("x", {4});
  model.constant(int_tensor("zero", {}, {0})).constant(int_tensor("one", {}, {1}));
  model.node("ReduceMax", {"x"}, {"most"}, {attribute("keepdims", 0)});
  model.node("Cast", {"most"}, {"n"}, {attribute("to", 7)}).node("Range", {"zero", "n", "one"}, {"r"});
  model.node("Cast", {"r"}, {"f"}, {attribute("to", 1)}).node("Sin", {"f"}, {"y"}).output("y");
  const Model ranges = load(model.bytes());
  EXPECT_EQ(nlohmann::json::parse(ranges.describe({{"x", {4}}}))["islands"].size(), 1u);
  Session session(ranges);
  for (const std::int64_t count : {5, 9}) {
    Tensor x(DType::f32, {4});
    x.values<float>()[2] = static_cast<float>(count);
    const TensorView view = x;
    EXPECT_EQ(session.run({&view, 1})[0].shape(), Shape{count});
  }
  EXPECT_EQ(session.stats().cached_plans, 3u) << "before, and one for each count";
}

TEST(Dynamic, ManyElementsArePlanned) {
  const Model model = load(masked_model());
  Session session(model);
  for (int seed = 1; seed < 3; ++seed) {
    const Tensor x = image(120, 99, seed);
    const TensorView view = x;
    expect_close(session.run({&view, 1})[0], model.evaluate_reference(std::span<const TensorView>(&view, 1))[0]);
    EXPECT_EQ(session.stats().cached_plans, static_cast<std::size_t>(1 + seed));
  }
}

TEST(Dynamic, ResultsThatAreInputsAreCopies) {
  ModelBuilder model;
  model.input("x", {2, 3});
  model.constant(int_tensor("one", {}, {1}));
  model.node("SequenceConstruct", {"x", "x"}, {"both"});
  model.node("SequenceAt", {"both", "one"}, {"y"});
  model.node("SequenceAt", {"both", "one"}, {"z"});
  model.output("y").output("z");
  Session session(load(model.bytes()));
  Tensor x(DType::f32, {2, 3});
  x.values<float>()[4] = 7;
  const TensorView view = x;
  const std::vector<Tensor> found = session.run({&view, 1});
  x.values<float>()[4] = 8;
  for (const Tensor& y : found) EXPECT_EQ(y.values<float>()[4], 7);
  EXPECT_NE(found[0].data(), found[1].data());
}

TEST(Dynamic, NothingFoundIsAnEmptyTensor) {
  Session session(load(positions_model()));
  const Tensor x(DType::f32, {1, 2, 8, 8});
  const TensorView view = x;
  const std::vector<Tensor> found = session.run({&view, 1});
  EXPECT_EQ(found[2].shape(), (Shape{4, 0}));
  EXPECT_EQ(found[0].shape(), (Shape{1, 4, 0}));
}

TEST(Dynamic, TheCallersMemoryIsFilledWhenItsShapeIsRight) {
  const Model model = load(positions_model());
  Session session(model);
  const Tensor x = image(8, 8, 0);
  const TensorView view = x;
  std::vector<Tensor> expected = session.run({&view, 1});
  std::vector<Tensor> memory;
  for (const Tensor& tensor : expected) memory.emplace_back(tensor.dtype(), tensor.shape());
  std::vector<MutableTensorView> views(memory.begin(), memory.end());
  session.run({&view, 1}, views);
  for (std::size_t i = 0; i < memory.size(); ++i)
    EXPECT_EQ(std::memcmp(memory[i].data(), expected[i].data(), memory[i].byte_size()), 0);
  const Tensor other(DType::f32, {1, 2, 8, 8});
  const TensorView other_view = other;
  EXPECT_THROW(session.run({&other_view, 1}, views), Error);
  const std::vector<Shape> shapes = session.output_shapes(std::vector<Shape>{{1, 2, 8, 8}});
  EXPECT_EQ(shapes[2], (Shape{4, -1}));
}

TEST(Dynamic, StrictRefusesIt) {
  Options options;
  options.strict = true;
  Session session(load(positions_model(), options));
  const Tensor x = image(8, 8, 0);
  const TensorView view = x;
  EXPECT_THROW(session.run({&view, 1}), Error);
}

TEST(Dynamic, PlansOfManyShapesKeepToTheLimit) {
  Options options;
  options.plan_cache_bytes = std::size_t{1} << 20;
  Session session(load(positions_model(), options));
  std::size_t most = 0;
  for (int run = 0; run < 300; ++run) {
    const Tensor x = image(8 + run % 50, 9, run);
    const TensorView view = x;
    session.run({&view, 1});
    most = std::max(most, session.stats().cached_plans);
    EXPECT_LE(session.stats().cached_bytes, options.plan_cache_bytes);
  }
  EXPECT_GT(most, 2u);
  EXPECT_LT(most, 200u);
}

TEST(Dynamic, ScalarsOfALoopMayBecomeVectorsOfOneElement) {
  Session session(load(onnx_import::testing::control::vectors_declared_as_scalars().bytes()));
  for (const std::int64_t trips : {1, 3}) {
    Tensor count(DType::i64, {}), state(DType::f32, {});
    count.values<std::int64_t>()[0] = trips;
    state.values<float>()[0] = 5;
    const std::vector<TensorView> views = {count, state};
    const std::vector<Tensor> found = session.run(views);
    EXPECT_EQ(found[0].shape(), trips == 1 ? Shape{} : Shape{1});
    EXPECT_EQ(found[0].values<float>()[0], static_cast<float>(4 + trips));
  }
}

TEST(Dynamic, AnInputThatIsNoTensorMayBeUnused) {
  ModelBuilder model;
  model.input("x", {3}).node("Relu", {"x"}, {"y"}).output("y");
  onnx::ValueInfoProto& list = *model.proto.mutable_graph()->add_input();
  list.set_name("list");
  list.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::FLOAT);
  Session session(load(model.bytes()));
  Tensor x(DType::f32, {3});
  x.values<float>()[1] = -1;
  x.values<float>()[2] = 2;
  const std::vector<Datum> found = session.run_data(std::vector<Datum>{x, Datum::sequence({x}, DType::f32)});
  EXPECT_EQ(found[0].tensor().values<float>()[1], 0);
  EXPECT_EQ(found[0].tensor().values<float>()[2], 2);
}

TEST(Dynamic, StringsGoThroughUnplanned) {
  ModelBuilder model;
  model.input("s", {-1}, onnx::TensorProto::STRING).input("x", {-1});
  model.constant(int_tensor("first", {1}, {0}));
  model.node("Gather", {"s", "first"}, {"t"}).node("Relu", {"x"}, {"y"});
  model.output("t", onnx::TensorProto::STRING).output("y");
  Session session(load(model.bytes()));
  Tensor s(DType::string, {2});
  s.strings() = {"column", "row"};
  Tensor x(DType::f32, {3});
  x.values<float>()[1] = -1;
  x.values<float>()[2] = 2;
  const std::vector<TensorView> views = {s, x};
  const std::vector<Tensor> found = session.run(views);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].strings(), std::vector<std::string>{"column"});
  EXPECT_EQ(found[1].values<float>()[1], 0);
  EXPECT_EQ(found[1].values<float>()[2], 2);
  std::vector<Datum> data = session.run_data(std::vector<Datum>{s, x});
  EXPECT_EQ(data[0].tensor().strings(), std::vector<std::string>{"column"});
}

}  // namespace
}  // namespace colonnade::test
