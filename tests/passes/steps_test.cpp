// SPDX-License-Identifier: Apache-2.0
// Numbers that are integers of 16 bits for a moment: one function is left.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "passes/graphs.hpp"
#include "passes/passes.hpp"
#include "reference/reference.hpp"

namespace colonnade::test {
namespace {

constexpr float kScale = 0.0003f;

/// QuantizeLinear and DequantizeLinear as they are lowered. `before` computes what they read.
struct Pair {
  UnaryKind before = UnaryKind::identity;
  float a = 0, b = 0;
  float zero = 30000, low = 0;  ///< of the type
  float back = kScale;
  DType dtype = DType::u16;
};

Graph pair_of(const Pair& pair) {
  Builder b;
  ValueId x = b.input("x", {3, 7});
  if (pair.before != UnaryKind::identity) x = b.unary("before", pair.before, x, pair.a, pair.b);
  x = b.node("div", Binary{BinaryKind::div, true}, {x, b.scalar("scale", kScale)});
  x = b.unary("round", UnaryKind::round, x);
  x = b.unary("clip", UnaryKind::clip, x, pair.low - pair.zero, pair.low + 65535 - pair.zero);
  x = b.node("add", Binary{BinaryKind::add, true}, {x, b.scalar("zero", pair.zero)});
  x = b.node("there", Cast{pair.dtype}, {x});
  x = b.node("back", Cast{DType::f32}, {x});
  x = b.node("sub", Binary{BinaryKind::sub, true}, {x, b.scalar("zero2", pair.zero)});
  b.output(b.binary("mul", BinaryKind::mul, x, b.scalar("back_scale", pair.back)));
  return b.graph;
}

/// The operators that all passes leave, which compute the same numbers.
std::string left_of(const Pair& pair) {
  const Graph before = pair_of(pair), after = optimized(before);
  Tensor x(DType::f32, {3, 7});
  const float numbers[] = {0,
                           -0.0f,
                           1e-9f,
                           kScale,
                           -kScale,
                           1.5f * kScale,
                           2.5f * kScale,
                           1,
                           -1,
                           9,
                           -9,
                           11,
                           -11,
                           30,
                           -30,
                           1e30f,
                           std::numeric_limits<float>::infinity(),
                           -3,
                           3,
                           0.1f,
                           -0.7f};
  std::copy(std::begin(numbers), std::end(numbers), x.values<float>().begin());
  const TensorView view = x;
  const auto expected = reference::evaluate(before, {&view, 1}), found = reference::evaluate(after, {&view, 1});
  for (std::size_t i = 0; i < std::size(numbers); ++i)
    EXPECT_EQ(found[0].values<float>()[i], expected[0].values<float>()[i]) << numbers[i];
  return operators_of(after);
}

TEST(Steps, AreWhatAPairLeaves) {
  EXPECT_EQ(left_of({}), "Steps");
  EXPECT_EQ(left_of({.zero = 0}), "Steps");
  EXPECT_EQ(left_of({.zero = -7, .low = -32768, .dtype = DType::i16}), "Steps");
}

TEST(Steps, NeedNoClipThatTakesNoneAway) {
  EXPECT_EQ(left_of({.before = UnaryKind::relu, .zero = 0}), "Steps");
  EXPECT_EQ(left_of({.before = UnaryKind::clip, .a = 0, .b = 6, .zero = 0}), "Clip Steps") << "6 is not the last step";
  EXPECT_EQ(left_of({.before = UnaryKind::clip, .a = 0, .b = 20, .zero = 0}), "Steps");
  EXPECT_EQ(left_of({.before = UnaryKind::relu}), "Relu Steps") << "there are steps below 0";
}

TEST(Steps, AreNotWhatOthersLeave) {
  EXPECT_EQ(left_of({.back = 0.0004f}), "Div Round Clip Mul") << "two scales";
  EXPECT_EQ(left_of({.zero = 0, .low = 1}), "Div Round Clip Cast Cast Mul") << "not the range of the type";
}

}  // namespace
}  // namespace colonnade::test
