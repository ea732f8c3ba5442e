// SPDX-License-Identifier: Apache-2.0
// Branches that are always taken, captures that are constant or unused.
#include <gtest/gtest.h>

#include <functional>

#include "graphs.hpp"
#include "passes/passes.hpp"
#include "reference/reference.hpp"

namespace colonnade::test {
namespace {

Tensor boolean(bool value) {
  Tensor tensor(DType::boolean, {});
  tensor.values<bool>()[0] = value;
  return tensor;
}

/// x + w or x * w, of captures x and w.
Body branch(BinaryKind kind, const Shape& x) {
  Builder body;
  const ValueId a = body.input("x", x), b = body.input("w", {2});
  body.output(body.binary("inner", kind, a, b));
  return std::make_shared<const Graph>(std::move(body.graph));
}

Graph if_graph(const std::function<ValueId(Builder&, ValueId x)>& condition, const Shape& shape = {2}) {
  Builder builder;
  const ValueId x = builder.input("x", shape), w = builder.floats("w", {2}, {3, 5});
  const ValueId c = condition(builder, x);
  const ValueId y = builder.node("if", If{branch(BinaryKind::add, shape), branch(BinaryKind::mul, shape)}, {c, x, w});
  builder.output(builder.unary("last", UnaryKind::neg, y));
  return std::move(builder.graph);
}

/// Whether the size of the first axis is 2.
ValueId first_is_two(Builder& builder, ValueId x) {
  const ValueId size = builder.node("shape", ShapeOf{0, 1}, {x});
  return builder.node("equal", Binary{BinaryKind::equal}, {size, builder.ints("two", {2})});
}

const Node* node_with_body(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!bodies_of(node.op).empty()) return &node;
  }
  return nullptr;
}

TEST(Bodies, ConstantConditionsInlineTheirBranch) {
  for (const bool value : {true, false}) {
    Graph graph = if_graph([&](Builder& builder, ValueId) { return builder.graph.add_constant("c", boolean(value)); });
    const Graph before = graph;
    optimize(graph);
    verify(graph);
    EXPECT_EQ(node_with_body(graph), nullptr);
    expect_same_results(before, graph, 1);
  }
}

TEST(Bodies, ConditionsThatBoundShapesSettleInlineTheirBranch) {
  Graph open = if_graph(first_is_two, {-1});
  optimize(open);
  ASSERT_NE(node_with_body(open), nullptr);
  const Shape shapes[] = {{2}};
  Graph bound = bind_shapes(open, shapes);
  const Graph before = bound;
  optimize(bound);
  verify(bound);
  EXPECT_EQ(node_with_body(bound), nullptr);
  EXPECT_EQ(count_of<Binary>(bound), 1);
  expect_same_results(before, bound, 2);
}

TEST(Bodies, BranchesMayGiveConstantsAndCapturesToGraphOutputs) {
  for (const bool value : {true, false}) {
    Builder capture, constant, outer;
    capture.output(capture.input("x", {2}));
    constant.input("x", {2});
    constant.output(constant.floats("k", {2}, {7, 8}));
    const ValueId x = outer.input("x", {2}), c = outer.graph.add_constant("c", boolean(value));
    If op{std::make_shared<const Graph>(capture.graph), std::make_shared<const Graph>(constant.graph)};
    outer.output(outer.node("if", std::move(op), {c, x}));
    Graph graph = outer.graph;
    optimize(graph);
    verify(graph);
    EXPECT_EQ(node_with_body(graph), nullptr);
    expect_same_results(outer.graph, graph, 3);
  }
}

TEST(Bodies, NestedBranchesInlineToo) {
  Builder middle, outer;
  const ValueId x = middle.input("x", {2}), w = middle.input("w", {2});
  const ValueId inner_condition = middle.graph.add_constant("c", boolean(true));
  middle.output(
      middle.node("inner_if", If{branch(BinaryKind::add, {2}), branch(BinaryKind::mul, {2})}, {inner_condition, x, w}));
  const auto body = std::make_shared<const Graph>(middle.graph);
  const ValueId c = outer.graph.add_constant("c", boolean(false));
  const ValueId outer_x = outer.input("x", {2}), outer_w = outer.input("w", {2});
  outer.output(outer.node("if", If{body, body}, {c, outer_x, outer_w}));
  Graph graph = outer.graph;
  optimize(graph);
  EXPECT_EQ(node_with_body(graph), nullptr);
  expect_same_results(outer.graph, graph, 4);
}

/// Weights that a loop passes on from iteration to iteration, one of them behind an Identity; the last one is an
/// output.
TEST(Bodies, StatesThatNeverChangeAreCaptured) {
  Builder body, outer;
  body.input("number", {}, DType::i64);
  body.output(body.input("condition", {}, DType::boolean));
  const ValueId w = body.input("w", {2}), state = body.input("state", {2}), given = body.input("given", {2});
  body.output(body.unary("same", UnaryKind::identity, w));
  const ValueId scaled = body.binary("scaled", BinaryKind::mul, state, w);
  body.output(body.binary("next", BinaryKind::add, scaled, given));
  body.output(given);
  body.output(body.binary("slice", BinaryKind::add, scaled, w));
  const ValueId n = outer.input("n", {}, DType::i64), s = outer.input("s", {2}), g = outer.input("g", {2});
  const ValueId weights = outer.floats("w", {2}, {1, 2});
  Node loop{Loop{std::make_shared<const Graph>(body.graph), 3}, {n, kAbsent, weights, s, g}, {}, "loop", "Loop"};
  loop.outputs.assign(4, kAbsent);
  const std::vector<ValueType> types = infer_types(outer.graph, loop);
  loop.outputs.clear();
  for (const ValueType& type : types) loop.outputs.push_back(outer.graph.add_value("y", type));
  outer.graph.nodes.push_back(loop);
  for (const ValueId id : loop.outputs) outer.output(id);
  Graph graph = outer.graph;
  optimize(graph);
  verify(graph);
  const Node* found = node_with_body(graph);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(std::get<Loop>(found->op).states, 1);
  EXPECT_EQ(found->inputs.size(), 4u) << "trips, condition, a state, a capture: the weights are constant";
  EXPECT_EQ(found->outputs.size(), 2u);
  expect_same_results(outer.graph, graph, 6);
}

/// A product of captures and what is made of it goes before the loop; sums without a product stay.
TEST(Bodies, ProductsOfEveryIterationAreComputedOnce) {
  for (const bool has_product : {true, false}) {
    Builder body, outer;
    body.input("number", {}, DType::i64);
    body.output(body.input("condition", {}, DType::boolean));
    const ValueId state = body.input("state", {3, 4}), x = body.input("x", {3, 5}), w = body.input("w", {5, 4});
    const ValueId bias = body.input("bias", {3, 4});
    const ValueId product = has_product ? body.node("product", MatMul{}, {x, w}) : bias;
    const ValueId known = body.unary("known", UnaryKind::tanh, body.binary("sum", BinaryKind::add, product, bias));
    const ValueId next = body.binary("next", BinaryKind::mul, state, known);
    body.output(next);
    body.output(body.binary("slice", BinaryKind::sub, next, known));
    const ValueId n = outer.input("n", {}, DType::i64), s = outer.input("s", {3, 4});
    const std::vector<ValueId> inputs = {
        n, kAbsent, s, outer.input("x", {3, 5}), outer.weights("w", {5, 4}), outer.input("bias", {3, 4})};
    outer.output(outer.node("loop", Loop{std::make_shared<const Graph>(body.graph), 1}, inputs));
    Graph graph = outer.graph;
    optimize(graph);
    verify(graph);
    EXPECT_EQ(count_of<MatMul>(graph), has_product ? 1 : 0);
    EXPECT_EQ(graph.nodes.size() > 1, has_product) << to_text(graph);
    const Graph& left = *std::get<Loop>(node_with_body(graph)->op).body;
    EXPECT_EQ(count_of<MatMul>(left), 0);
    EXPECT_EQ(count_of<Binary>(left), has_product ? 2 : 3);
    EXPECT_EQ(left.inputs.size(), 4u) << "number, condition, state, what is known";
    expect_same_results(outer.graph, graph, 7);
  }
}

TEST(Bodies, ConstantAndUnusedCapturesAreNoInputs) {
  Builder body, outer;
  body.input("number", {}, DType::i64);
  body.output(body.input("condition", {}, DType::boolean));
  const ValueId state = body.input("state", {2}), w = body.input("w", {2});
  body.input("unused", {2});
  body.output(body.binary("next", BinaryKind::add, state, w));
  const ValueId n = outer.input("n", {}, DType::i64), s = outer.input("s", {2}), other = outer.input("other", {2});
  const ValueId weights = outer.floats("w", {2}, {1, 2});
  outer.output(outer.node("loop", Loop{std::make_shared<const Graph>(body.graph), 1}, {n, kAbsent, s, weights, other}));
  Graph graph = outer.graph;
  optimize(graph);
  verify(graph);
  const Node* loop = node_with_body(graph);
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->inputs.size(), 3u);
  EXPECT_EQ(std::get<Loop>(loop->op).body->inputs.size(), 3u);
  expect_same_results(outer.graph, graph, 5);
}

}  // namespace
}  // namespace colonnade::test
