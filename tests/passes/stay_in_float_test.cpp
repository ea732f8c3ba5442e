// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::test {
namespace {

/// What a quantised tensor and its dequantisation are lowered to.
struct RoundTrip {
  float zero = 3;
  float low = -131, high = 124;
  float subtracted = 3;
  DType dtype = DType::i8;
  bool rounds = true;
};

Graph round_trip(const RoundTrip& form) {
  Builder b;
  ValueId x = b.input("x", {2, 5});
  const ValueId zero = b.scalar("zero", form.zero), subtracted = b.scalar("subtracted", form.subtracted);
  x = b.node("div", Binary{BinaryKind::div, true}, {x, b.scalar("scale", 0.02f)});
  if (form.rounds) x = b.unary("round", UnaryKind::round, x);
  x = b.unary("clip", UnaryKind::clip, x, form.low, form.high);
  x = b.node("add", Binary{BinaryKind::add, true}, {x, zero});
  x = b.node("there", Cast{form.dtype}, {x});
  x = b.node("back", Cast{DType::f32}, {x});
  x = b.node("sub", Binary{BinaryKind::sub, true}, {x, subtracted});
  b.output(b.binary("mul", BinaryKind::mul, x, b.scalar("scale2", 0.02f)));
  return b.graph;
}

std::string after_pass(const RoundTrip& form) {
  Graph graph = round_trip(form);
  const Graph before = graph;
  rewrite::stay_in_float(graph);
  remove_dead(graph);
  verify(graph);
  expect_same_results(before, graph, 3, 0);
  return operators_of(graph);
}

TEST(StayInFloat, RoundTripsVanish) {
  EXPECT_EQ(after_pass({}), "Div Round Clip Mul");
  EXPECT_EQ(after_pass({.low = -10, .high = 10}), "Div Round Clip Mul");
  EXPECT_EQ(after_pass({.zero = 128, .low = -128, .high = 127, .subtracted = 128, .dtype = DType::u8}),
            "Div Round Clip Mul");
}

TEST(StayInFloat, OtherZeroPointsStay) { EXPECT_EQ(after_pass({.subtracted = 4}), "Div Round Clip Add Sub Mul"); }

TEST(StayInFloat, FractionsAndWiderRangesAreCast) {
  EXPECT_EQ(after_pass({.rounds = false}), "Div Clip Add Cast Cast Sub Mul");
  EXPECT_EQ(after_pass({.high = 125}), "Div Round Clip Add Cast Cast Sub Mul");
  EXPECT_EQ(after_pass({.high = 100.5f}), "Div Round Clip Add Cast Cast Sub Mul");
  EXPECT_EQ(after_pass({.zero = 2.5f, .subtracted = 2.5f}), "Div Round Clip Add Cast Cast Sub Mul");
  EXPECT_EQ(after_pass({.dtype = DType::u4}), "Div Round Clip Add Cast Cast Sub Mul");
  EXPECT_EQ(after_pass({.dtype = DType::i32}), "Div Round Clip Add Cast Cast Sub Mul");
}

bool is_exact(UnaryKind kind) {
  Builder b;
  ValueId x = b.unary("round", kind, b.input("x", {1, 4, 8, 8}));
  x = b.unary("clip", UnaryKind::clip, x, -128, 127);
  x = b.binary("mul", BinaryKind::mul, x, b.scalar("scale", 0.03f));
  b.output(b.conv("conv", x, 4, 3));
  rewrite::stay_in_float(b.graph);
  for (const Node& node : b.graph.nodes) {
    if (const auto* conv = std::get_if<Conv>(&node.op)) return conv->exact;
  }
  return false;
}

TEST(StayInFloat, ConvolutionsOfDequantisedNumbersAreExact) {
  EXPECT_TRUE(is_exact(UnaryKind::round));
  EXPECT_FALSE(is_exact(UnaryKind::abs));
}

}  // namespace
}  // namespace colonnade::test
