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
