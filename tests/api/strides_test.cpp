// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in the caller's memory, by strides: same answers as dense ones, and no copy where none is needed.
#include "base/strides.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "api/impl.hpp"
#include "api/staging.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::int_tensor;
using onnx_import::testing::ModelBuilder;

std::vector<float> ramp(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * (static_cast<float>((i * 7) % 11) - 5.0f);
  return values;
}

Model load(const std::string& bytes) { return Model::from_bytes(onnx_import::testing::as_bytes(bytes)); }

/// y = 2 x + 1, of any shape of the rank.
Model affine(std::size_t rank) {
  ModelBuilder model;
  model.input("x", Ints(rank, -1));
  model.constant(float_tensor("two", {}, {2})).constant(float_tensor("one", {}, {1}));
  model.node("Mul", {"x", "two"}, {"d"}).node("Add", {"d", "one"}, {"y"});
  model.output("y");
  return load(model.bytes());
}

/// An image network: convolution, activation, convolution; NCHW in and out.
Model network() {
  ModelBuilder model;
  model.input("x", {-1, 3, -1, -1});
  model.constant(float_tensor("w", {8, 3, 3, 3}, ramp(216))).constant(float_tensor("v", {4, 8, 1, 1}, ramp(32)));
  model.node("Conv", {"x", "w"}, {"c"}, {attribute("pads", Ints{1, 1, 1, 1})});
  model.node("Relu", {"c"}, {"r"}).node("Conv", {"r", "v"}, {"y"});
  model.output("y");
  return load(model.bytes());
}

Tensor numbers(const Shape& shape) {
  Tensor tensor(DType::f32, shape);
  auto values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 37) % 101) * 0.03f - 1.0f;
  return tensor;
}

/// Memory of the caller's that holds a tensor by strides, and a view of it; what lies between holds a marker.
struct Strided {
  static constexpr float kMarker = -77;

  Strided(Shape dims, Strides steps) : shape(std::move(dims)), strides(std::move(steps)) {
    std::int64_t before = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      before += std::max<std::int64_t>(0, -strides[axis] * (shape[axis] - 1));
    first = static_cast<std::size_t>(before);
    memory.assign(first + static_cast<std::size_t>(reach_of(shape, strides)), kMarker);
  }
  Strided(const Tensor& tensor, Strides steps) : Strided(tensor.shape(), std::move(steps)) {
    copy_elements(DType::f32, shape, tensor.data(), dense_strides(shape), memory.data() + first, strides);
  }

  TensorView view() const {
    TensorView view(DType::f32, shape, memory.data() + first);
    view.strides = strides;
    return view;
  }
  MutableTensorView target() {
    MutableTensorView view(DType::f32, shape, memory.data() + first);
    view.strides = strides;
    return view;
  }
  Tensor dense() const {
    Tensor tensor(DType::f32, shape);
    copy_elements(DType::f32, shape, memory.data() + first, strides, tensor.data(), dense_strides(shape));
    return tensor;
  }
  /// Floats that no element lies at.
  std::size_t untouched() const { return static_cast<std::size_t>(std::count(memory.begin(), memory.end(), kMarker)); }

  Shape shape;
  Strides strides;
  std::size_t first = 0;
  std::vector<float> memory;
};

void expect_same(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.shape(), expected.shape());
  const auto [a, b] =
      std::mismatch(found.values<float>().begin(), found.values<float>().end(), expected.values<float>().begin());
  EXPECT_EQ(a, found.values<float>().end())
      << "element " << a - found.values<float>().begin() << ": expected " << *b << ", found " << *a;
}

Tensor run_dense(const Model& model, const Tensor& input) {
  Session session(model);
  const TensorView view = input;
  return std::move(session.run({&view, 1}).front());
}

/// Runs with these strides on both sides, once into new tensors and once into the caller's memory.
void expect_like_dense(const Model& model, const Tensor& input, const Strides& in, const Strides& out) {
  SCOPED_TRACE(testing::PrintToString(input.shape()) + ", strides " + testing::PrintToString(in) + " to " +
               testing::PrintToString(out));
  const Tensor expected = run_dense(model, input);
  Session session(model);
  const Strided source(input, in);
  const TensorView view = source.view();
  expect_same(session.run({&view, 1}).front(), expected);
  Strided target(expected.shape(), out);
  const std::size_t gaps = target.untouched() - static_cast<std::size_t>(expected.size());
  const MutableTensorView into = target.target();
  session.run({&view, 1}, {&into, 1});
  expect_same(target.dense(), expected);
  EXPECT_EQ(target.untouched(), gaps) << "what lies between the elements is the caller's";
}

/// Strides of a dense array whose axes lie in this order.
Strides permuted_strides(const Shape& shape, const Strides& order) {
  const Strides dense = dense_strides(in_order(shape, order));
  Strides strides(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) strides[static_cast<std::size_t>(order[i])] = dense[i];
  return strides;
}

TEST(StridedViews, AllPermutationsAnswerAsDenseOnesDo) {
  for (const Shape& shape : {Shape{7, 5}, Shape{4, 3, 6}, Shape{2, 3, 5, 4}}) {
    const Model model = affine(shape.size());
    const Tensor input = numbers(shape);
    Strides order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      const Strides strides = permuted_strides(shape, order);
      expect_like_dense(model, input, strides, strides);
      expect_like_dense(model, input, strides, dense_strides(shape));
      expect_like_dense(model, input, dense_strides(shape), strides);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(StridedViews, CropsGapsAndBackwardsAnswerAsDenseOnesDo) {
  const Shape shape = {2, 3, 6, 5};
  const Tensor input = numbers(shape);
  for (const Model& model : {affine(4), network()}) {
    for (const Strides& strides :
         {Strides{500, 130, 11, 1}, Strides{400, 1, 40, 3}, Strides{90, 30, -5, 1}, Strides{-90, -30, -5, -1},
          Strides{180, 60, 10, 2}, Strides{90, -1, 15, 3}, Strides{700, 2, 100, 7}}) {
      Shape out = run_dense(model, input).shape();
      expect_like_dense(model, input, strides, dense_strides(out));
      Strides out_strides = strides;
      out_strides[0] *= 2;
      out_strides[1] *= out[1] > 3 ? 2 : 1;
      if (may_overlap(out, out_strides)) out_strides = permuted_strides(out, {0, 2, 3, 1});
      expect_like_dense(model, input, strides, out_strides);
    }
  }
}

TEST(StridedViews, RepeatedElementsAreRead) {
  const Model model = affine(3);
  const float row[] = {1, 2, 3, 4};
  TensorView view(DType::f32, {2, 3, 4}, row);
  Tensor whole(DType::f32, {2, 3, 4});
  for (std::size_t i = 0; i < 24; ++i) whole.values<float>()[i] = row[i % 4];
  view.strides = {0, 0, 1};
  Session session(model);
  expect_same(session.run({&view, 1}).front(), run_dense(model, whole));
  const float columns[] = {5, 6};
  view = TensorView(DType::f32, {2, 3, 4}, columns);
  view.strides = {1, 0, 0};
  for (std::size_t i = 0; i < 24; ++i) whole.values<float>()[i] = columns[i / 12];
  expect_same(session.run({&view, 1}).front(), run_dense(model, whole));
}

std::size_t count_transposes(const Prepared& prepared) {
  return static_cast<std::size_t>(
      std::count(prepared.program->op_kinds.begin(), prepared.program->op_kinds.end(), "Transpose"));
}

/// The plan that a run with these views takes.
std::shared_ptr<const Prepared> plan_of(const Model& model, const Strided& input, Strided& output) {
  Staging staging;
  const TensorView view = input.view();
  const MutableTensorView target = output.target();
  staging.set({&view, 1}, {&target, 1}, model.outputs());
  EXPECT_EQ(staging.gather().front().data, view.data) << "nothing was copied";
  EXPECT_EQ(staging.outputs().front().data, target.data) << "nothing will be copied";
  return model.impl()->prepare({model.impl()->optimized, {input.shape}, staging.layouts(), 0, model.impl()->threads});
}

TEST(StridedViews, AnImageWithItsChannelsInnermostIsReadAndWrittenWhereItIs) {
  const Model model = network();
  const Shape in = {1, 3, 16, 12}, out = {1, 4, 16, 12};
  const Tensor image = numbers(in);
  const Strided channels_last(image, permuted_strides(in, {0, 2, 3, 1}));
  Strided answer(out, permuted_strides(out, {0, 2, 3, 1}));
  EXPECT_EQ(count_transposes(*plan_of(model, channels_last, answer)), 0u);
  const Strided planes(image, dense_strides(in));
  Strided plane_answer(out, dense_strides(out));
  EXPECT_GT(count_transposes(*plan_of(model, planes, plane_answer)), 0u) << "else the test above says nothing";
}

TEST(StridedViews, PlansAreKeptByLayout) {
  const Model model = network();
  Session session(model);
  const Shape shape = {1, 3, 8, 8};
  const Strided last(numbers(shape), permuted_strides(shape, {0, 2, 3, 1})),
      first(numbers(shape), dense_strides(shape));
  TensorView crop = last.view();
  crop.shape = {1, 3, 8, 7};
  for (int round = 0; round < 3; ++round) {
    for (const TensorView& view : {last.view(), first.view(), crop}) session.run({&view, 1});
    EXPECT_EQ(session.stats().cached_plans, 3u);
  }
  const std::size_t kept = session.memory_stats().plan_bytes;
  session.shrink();
  EXPECT_GT(kept, std::size_t{3 * 8 * 7 * 4}) << "the copy of the crop counts";
  EXPECT_EQ(session.memory_stats().plan_bytes, 0u);
  const TensorView view = last.view();
  session.run({&view, 1});
  EXPECT_EQ(session.stats().cached_plans, 1u);
}

void expect_refused(const Model& model, const TensorView& input, const MutableTensorView* output,
                    const std::string& text) {
  Session session(model);
  try {
    if (output != nullptr) {
      session.run({&input, 1}, {output, 1});
    } else {
      session.run({&input, 1});
    }
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(StridedViews, WrongOnesAreRefusedByName) {
  const Model model = affine(2);
  float in[64] = {}, out[64] = {};
  TensorView input(DType::f32, {4, 5}, in);
  MutableTensorView output(DType::f32, {4, 5}, out);
  input.strides = {5};
  expect_refused(model, input, nullptr, "input 'x': expected 2 strides, found 1");
  input.strides = {std::int64_t{1} << 62, 1};
  expect_refused(model, input, nullptr, "input 'x': stride");
  input.strides = {};
  for (const Strides& strides : {Strides{0, 1}, Strides{1, 1}, Strides{4, 1}}) {
    output.strides = strides;
    expect_refused(model, input, &output, "output 'y': its elements overlap");
  }
  output.strides = {1, 4, 7};
  expect_refused(model, input, &output, "output 'y': expected 2 strides, found 3");
  output = MutableTensorView(DType::f32, {5, 4}, out);
  output.strides = {1, 5};
  expect_refused(model, input, &output, "expected shape [4,5], found [5,4]");
  input.strides = {1, 4};
  expect_refused(model, input, &output, "expected shape [4,5], found [5,4]");
}

TEST(StridedViews, NothingIsReadOfAnEmptyTensor) {
  const Model model = affine(2);
  TensorView view(DType::f32, {0, 5}, nullptr);
  view.strides = {1, 9};
  Session session(model);
  EXPECT_EQ(session.run({&view, 1}).front().shape(), (Shape{0, 5}));
}

TEST(StridedViews, ShapesThatDependOnDataFillStridesToo) {
  ModelBuilder builder;
  builder.input("x", {-1, -1});
  builder.node("NonZero", {"x"}, {"at"}).node("Relu", {"x"}, {"y"});
  builder.output("at", onnx::TensorProto::INT64).output("y");
  const Model model = load(builder.bytes());
  Tensor input(DType::f32, {3, 4});
  input.values<float>()[1] = 1;
  input.values<float>()[7] = 2;
  input.values<float>()[8] = 3;
  const Strided columns(input, {1, 3});
  Session session(model);
  const TensorView view = columns.view();
  std::int64_t at[6];
  MutableTensorView places(DType::i64, {2, 3}, at);
  places.strides = {1, 2};
  Strided relu({3, 4}, {1, 3});
  const MutableTensorView outputs[] = {places, relu.target()};
  session.run({&view, 1}, outputs);
  EXPECT_EQ(std::vector<std::int64_t>(at, at + 6), (std::vector<std::int64_t>{0, 1, 1, 3, 2, 0}));
  expect_same(relu.dense(), input);
}

TEST(StridedViews, StringsAreReadByStrides) {
  ModelBuilder builder;
  builder.input("s", {-1, -1}, onnx::TensorProto::STRING);
  builder.constant(int_tensor("first", {1}, {0})).node("Gather", {"s", "first"}, {"t"});
  builder.output("t", onnx::TensorProto::STRING);
  Session session(load(builder.bytes()));
  const std::string words[] = {"a", "b", "c", "d"};
  TensorView view(DType::string, {2, 2}, words);
  view.strides = {1, 2};
  EXPECT_EQ(session.run({&view, 1}).front().strings(), (std::vector<std::string>{"a", "c"}));
}

}  // namespace
}  // namespace colonnade::test
