// SPDX-License-Identifier: Apache-2.0
// Zeros before a convolution or a pool become its own padding.
#include <gtest/gtest.h>

#include "graph/windows.hpp"
#include "passes/graphs.hpp"
#include "passes/pass_list.hpp"
#include "passes/passes.hpp"

namespace colonnade::test {
namespace {

Conv strided(std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1, Ints pads = {}) {
  Conv conv;
  conv.kernel = {kernel, kernel};
  conv.strides = {stride, stride};
  conv.pads = std::move(pads);
  conv.groups = groups;
  return conv;
}

Pool pool(PoolKind kind, Ints pads = {0, 0, 0, 0}) {
  Pool op;
  op.kind = kind;
  op.kernel = {3, 3};
  op.strides = {2, 2};
  op.pads = std::move(pads);
  return op;
}

/// Whether nothing is left of the Pad in front of an operator on [1, 9, 8, 4]; the results stay the same.
bool is_folded(const Graph& before) {
  Graph after = before;
  rewrite::fold_pads(after);
  verify(after);
  expect_same_results(before, after, 3);
  return count_of<Pad>(after) == 0;
}

struct Zeros {
  Ints pads{0, 1, 2, 0, 0, 0, 1, 0};  ///< of the axes as the image has them
  PadMode mode = PadMode::constant;
  float value = 0;
  UnaryKind before = UnaryKind::identity;
  Ints perm{};  ///< of a Transpose behind it
};

bool folds(Operator op, const Zeros& zeros, bool read_twice = false) {
  Builder b;
  ValueId x = b.input("x", zeros.perm.empty() ? Shape{1, 9, 8, 4} : Shape{1, 4, 9, 8});
  if (zeros.before != UnaryKind::identity) x = b.unary("before", zeros.before, x);
  ValueId padded = b.node("pad", Pad{zeros.mode}, {x, b.ints("pads", zeros.pads), b.scalar("value", zeros.value)});
  if (read_twice) b.output(b.unary("other", UnaryKind::neg, padded));
  if (!zeros.perm.empty()) padded = b.transpose("turned", padded, zeros.perm);
  std::vector<ValueId> inputs{padded};
  if (const auto* conv = std::get_if<Conv>(&op)) inputs.push_back(b.weights("w", {4, 4 / conv->groups, 3, 3}));
  b.output(b.node("y", std::move(op), inputs));
  return is_folded(b.graph);
}

TEST(FoldPads, IntoConvolutions) {
  EXPECT_TRUE(folds(strided(3), {}));
  EXPECT_TRUE(folds(strided(3, 2, 4), {}));
  EXPECT_TRUE(folds(strided(3, 1, 1, {1, 0, 1, 1}), {}));
  EXPECT_TRUE(folds(strided(3), {.pads = {0, 0, 1, 2, 0, 0, 2, 1}, .perm = {0, 2, 3, 1}}));
  Conv holes = strided(3);
  holes.dilations = {2, 2};
  EXPECT_TRUE(folds(holes, {.pads = {0, 4, 3, 0, 0, 0, 4, 0}}));
  Conv valid = strided(3, 2, 1, {5, 5, 5, 5});
  valid.auto_pad = AutoPad::valid;
  EXPECT_TRUE(folds(valid, {}));
}

TEST(FoldPads, StayWhereConvolutionsWouldDiffer) {
  EXPECT_FALSE(folds(strided(3), {.mode = PadMode::edge}));
  EXPECT_FALSE(folds(strided(3), {.value = 1}));
  EXPECT_FALSE(folds(strided(3), {.pads = {0, 1, -1, 0, 0, 0, 1, 0}}));  // crops
  EXPECT_FALSE(folds(strided(3), {.pads = {1, 1, 1, 0, 0, 0, 1, 0}}));   // another image
  EXPECT_FALSE(folds(strided(3), {.pads = {0, 3, 0, 0, 0, 0, 0, 0}}));   // windows of padding alone
  EXPECT_FALSE(folds(strided(3, 1, 1, {1, 1, 1, 1}), {}));
  Conv same = strided(3, 2);
  same.auto_pad = AutoPad::same_upper;
  EXPECT_FALSE(folds(same, {}));
  EXPECT_FALSE(folds(strided(3), {}, true));  // what else reads it still does
}

TEST(FoldPads, IntoPools) {
  EXPECT_TRUE(folds(pool(PoolKind::average), {}));
  EXPECT_TRUE(folds(pool(PoolKind::lp, {1, 0, 1, 1}), {}));
  EXPECT_TRUE(folds(pool(PoolKind::max), {.before = UnaryKind::relu}));
  EXPECT_FALSE(folds(pool(PoolKind::max), {}));
  Pool holes = pool(PoolKind::max);
  holes.dilations = {2, 2};
  EXPECT_FALSE(folds(holes, {.before = UnaryKind::relu}));
  EXPECT_FALSE(folds(pool(PoolKind::average, {1, 0, 1, 1}), {}));  // some zeros counted, others not
  Pool counts = pool(PoolKind::average, {1, 0, 1, 1});
  counts.count_include_pad = true;
  EXPECT_TRUE(folds(counts, {}));
  counts.ceil_mode = true;
  EXPECT_FALSE(folds(counts, {}));
}

/// No window may have such pads: the network runs as it is.
TEST(FoldPads, LeavesPadsThatNoWindowMayHave) {
  Builder b;
  Conv far = strided(1);
  far.kernel = {3, 1};
  far.dilations = {kMaxWindow, 1};
  const ValueId pads = b.ints("pads", {0, kMaxWindow + 1, 0, 0, 0, kMaxWindow, 0, 0});
  const ValueId padded = b.node("pad", Pad{}, {b.input("x", {1, 1, 1, 1}), pads});
  b.output(b.node("y", far, {padded, b.weights("w", {1, 1, 3, 1})}));
  EXPECT_FALSE(is_folded(b.graph));
}

/// As Keras and Transformers write MobileNet: no image with a border is ever made.
TEST(FoldPads, OfANetwork) {
  Builder b;
  const ValueId zeros = b.ints("pads", {0, 0, 0, 0, 0, 0, 1, 1});
  ValueId x = b.node("pad", Pad{}, {b.input("x", {1, 3, 16, 16}), zeros});
  x = b.node("conv", strided(3, 2), {b.transpose("last", x, {0, 2, 3, 1}), b.weights("w", {8, 3, 3, 3})});
  x = b.node("pad2", Pad{}, {b.transpose("first", b.unary("relu", UnaryKind::relu, x), {0, 3, 1, 2}), zeros});
  x = b.node("depthwise", strided(3, 2, 8), {b.transpose("last2", x, {0, 2, 3, 1}), b.weights("w2", {8, 1, 3, 3})});
  b.output(x);
  Graph after = b.graph;
  optimize(after);
  expect_same_results(b.graph, after, 1);
  EXPECT_EQ(count_of<Pad>(after), 0) << to_text(after);
}

}  // namespace
}  // namespace colonnade::test
