// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

struct Sequences : testing::Test {
  Builder b;

  ValueId sequence(const std::vector<ValueId>& elements) {
    return b.node("sequence", make_opaque(reference::kSequenceConstruct, 11, {}), elements);
  }
  ValueId at(ValueId sequence, std::int64_t index) {
    const std::string name = "element" + std::to_string(b.graph.nodes.size());
    return b.node(name, make_opaque(reference::kSequenceAt, 11, {}), {sequence, b.ints(name + "_at", {index})});
  }
  ValueId split(ValueId x, ValueId sizes, const Attributes& attributes) {
    const std::string name = "pieces" + std::to_string(b.graph.nodes.size());
    return b.node(name, make_opaque(reference::kSplitToSequence, 11, attributes), {x, sizes});
  }

  /// Nothing is left of sequences, and the results are as they were.
  void expect_read() {
    const Graph before = b.graph;
    Graph after = before;
    EXPECT_TRUE(rewrite::read_sequences(after));
    remove_dead(after);
    verify(after);
    EXPECT_EQ(count_of<Opaque>(after), 0);
    expect_same_results(before, after, 3);
    EXPECT_FALSE(rewrite::read_sequences(after));
  }
  void expect_left() {
    Graph after = b.graph;
    EXPECT_FALSE(rewrite::read_sequences(after));
  }
};

TEST_F(Sequences, ElementsAreTheirTensors) {
  const ValueId x = b.input("x", {2, 3}), y = b.input("y", {4});
  b.output(b.node("r", Unary{UnaryKind::relu}, {at(sequence({x, y, x}), -2)}));
  expect_read();
}

TEST_F(Sequences, PositionsBeyondTheEndAreLeft) {
  const ValueId x = b.input("x", {2, 3});
  b.output(at(sequence({x, x}), 2));
  expect_left();
}

TEST_F(Sequences, ElementsAreJoined) {
  const ValueId x = b.input("x", {2, 3}), y = b.input("y", {2, 1});
  b.output(b.node("joined", make_opaque(reference::kConcatFromSequence, 11, {{"axis", std::int64_t{-1}}}),
                  {sequence({x, y, x})}));
  expect_read();
}

TEST_F(Sequences, ElementsAreStacked) {
  const ValueId x = b.input("x", {2, 3}), y = b.input("y", {2, 3});
  const Attributes attributes{{"axis", std::int64_t{-1}}, {"new_axis", std::int64_t{1}}};
  b.output(b.node("joined", make_opaque(reference::kConcatFromSequence, 11, attributes), {sequence({x, y})}));
  expect_read();
}

TEST_F(Sequences, LengthsAreKnown) {
  const ValueId x = b.input("x", {2, 3});
  b.output(b.node("length", make_opaque(reference::kSequenceLength, 11, {}), {sequence({x, x, x})}));
  expect_read();
}

TEST_F(Sequences, PiecesAreSlices) {
  const ValueId x = b.input("x", {7, 3});
  Tensor three(DType::i64, {});
  three.values<std::int64_t>()[0] = 3;
  const ValueId each = b.graph.add_constant("each", std::move(three));
  b.output(at(split(x, each, {}), 2));                                  // the rest: one row
  b.output(at(split(x, b.ints("sizes", {2, 5}), {}), -1));              // five rows
  b.output(at(split(x, kAbsent, {{"axis", std::int64_t{1}}}), 1));      // [7, 1]
  b.output(at(split(x, kAbsent, {{"keepdims", std::int64_t{0}}}), 6));  // [3]
  expect_read();
}

TEST_F(Sequences, SplitsThatDoNotFillTheAxisAreLeft) {
  const ValueId x = b.input("x", {7, 3});
  b.output(at(split(x, b.ints("sizes", {2, 4}), {}), 0));
  expect_left();
}

TEST_F(Sequences, SplitsOfOpenSizeAreLeft) {
  const ValueId x = b.input("x", {-1, 3});
  b.output(at(split(x, b.ints("sizes", {2, 4}), {}), 0));
  expect_left();
}

TEST_F(Sequences, WhatIsThereIsRead) {
  const ValueId x = b.input("x", {2, 3});
  const ValueId boxed = b.node("boxed", make_opaque(reference::kOptional, 15, {}), {x});
  b.output(b.node("r", Unary{UnaryKind::relu},
                  {b.node("got", make_opaque(reference::kOptionalGetElement, 18, {}), {boxed})}));
  b.output(
      b.node("s", Unary{UnaryKind::relu}, {b.node("same", make_opaque(reference::kOptionalGetElement, 18, {}), {x})}));
  b.output(b.node("has", make_opaque(reference::kOptionalHasElement, 18, {}), {boxed}));
  expect_read();
}

}  // namespace
}  // namespace colonnade::test
