// SPDX-License-Identifier: Apache-2.0
#include "graph/builder.hpp"

namespace colonnade::test {
namespace {

TEST(ShapeRules, Gather) {
  GatherNd batched;
  batched.batch_dims = 1;
  check_rules({
      {Gather{1}, {typed("f32[2,9,4]"), typed("i64[5,6]")}, "f32[2,5,6,4]"},
      {Gather{0}, {typed("f32[2,9]"), typed("i64[]")}, "f32[9]"},
      {Gather{0}, {typed("f32[2,9]"), typed("i64[*]")}, "f32[*]"},
      {Gather{2}, {typed("f32[2,9]"), typed("i64[1]")}, "error: axis 2 is out of range"},
      {Gather{0}, {typed("f32[2,9]"), typed("f32[1]")}, "error: must be int64 or int32"},
      {GatherElements{1}, {typed("f32[2,9]"), typed("i64[2,20]")}, "f32[2,20]"},
      {GatherElements{1}, {typed("f32[2,9]"), typed("i64[3,20]")}, "error: axis 0 of input 'x1' is 3"},
      {GatherElements{1}, {typed("f32[2,9]"), typed("i64[3]")}, "error: must have rank 2"},
      {GatherNd{}, {typed("f32[2,3,4]"), typed("i64[7,2]")}, "f32[7,4]"},
      {GatherNd{}, {typed("f32[2,3,4]"), typed("i64[7,?]")}, "f32[*]"},
      {batched, {typed("f32[2,3,4]"), typed("i64[2,1]")}, "f32[2,4]"},
      {batched, {typed("f32[2,3,4]"), typed("i64[3,1]")}, "error: the batch expects 2 at axis 0"},
      {GatherNd{}, {typed("f32[2,3]"), typed("i64[7,3]")}, "error: tuples of 3 indices"},
      {ScatterNd{}, {typed("f32[2,3,4]"), typed("i64[7,2]"), typed("f32[7,4]")}, "f32[2,3,4]"},
      {ScatterNd{},
       {typed("f32[2,3,4]"), typed("i64[7,2]"), typed("f32[7,3]")},
       "error: must have shape ?[7,4], is f32[7,3]"},
      {ScatterElements{1, {}}, {typed("f32[2,9]"), typed("i64[2,3]"), typed("f32[2,3]")}, "f32[2,9]"},
      {ScatterElements{1, {}},
       {typed("f32[2,9]"), typed("i64[2,3]"), typed("f32[2,4]")},
       "error: the indices expects 3"},
      {OneHot{-1}, {typed("i64[2,3]"), ints({5}), typed("f32[2]")}, "f32[2,3,5]"},
      {OneHot{0}, {typed("i64[2]"), floats({5}), typed("i64[2]")}, "i64[5,2]"},
      {OneHot{-1}, {typed("i64[2]"), typed("i64[1]"), typed("f32[2]")}, "f32[2,?]"},
      {OneHot{-1}, {typed("i64[2]"), ints({-5}), typed("f32[2]")}, "error: the depth is -5"},
      {NonZero{}, {typed("f32[2,3]")}, "i64[2,?]"},
      {NonZero{}, {typed("f32[*]")}, "i64[?,?]"},
  });
}

TEST(ShapeRules, Generate) {
  check_rules({
      {ShapeOf{}, {typed("f32[2,?,4]")}, "i64[3]"},
      {ShapeOf{1, -1}, {typed("f32[2,?,4]")}, "i64[1]"},
      {ShapeOf{-1, {}}, {typed("f32[2,?,4]")}, "i64[1]"},
      {ShapeOf{}, {typed("f32[*]")}, "i64[?]"},
      {SizeOf{}, {typed("f32[2,3]")}, "i64[]"},
      {Fill{}, {ints({2, 3}), typed("f32[1]")}, "f32[2,3]"},
      {Fill{}, {typed("i64[2]"), typed("i64[]")}, "i64[?,?]"},
      {Fill{}, {ints({}), typed("f32[1]")}, "f32[]"},
      {Fill{}, {ints({-2}), typed("f32[1]")}, "error: holds a negative size"},
      {Fill{}, {ints({2}), typed("f32[3]")}, "error: must hold one element"},
      {Range{}, {ints({1}), ints({10}), ints({4})}, "i64[3]"},
      {Range{}, {ints({10}), ints({1}), ints({-3})}, "i64[3]"},
      {Range{}, {ints({10}), ints({1}), ints({3})}, "i64[0]"},
      {Range{}, {floats({0}), floats({1}), floats({0.25f})}, "f32[4]"},
      {Range{}, {typed("i64[]"), ints({1}), ints({3})}, "i64[?]"},
      {Range{}, {ints({10}), ints({1}), ints({0})}, "error: the step is 0"},
      {Range{}, {ints({0}), ints({1LL << 62}), ints({1})}, "error: too many elements"},
      {Range{}, {ints({0, 1}), ints({1}), ints({1})}, "error: must hold one number"},
  });
}

TEST(ShapeRules, Resize) {
  Resize axes;
  axes.axes = {1, 2};
  Resize keep = axes;
  keep.aspect = AspectPolicy::not_larger;
  Resize cover = axes;
  cover.aspect = AspectPolicy::not_smaller;
  const Absent none;
  check_rules({
      {Resize{}, {typed("f32[1,4,5,3]"), none, floats({1, 2, 2, 1})}, "f32[1,8,10,3]"},
      {Resize{}, {typed("f32[1,4,5,3]"), none, floats({1, 0.6f, 0.5f, 1})}, "f32[1,2,2,3]"},
      {Resize{}, {typed("f32[10]"), none, floats({0.7f})}, "f32[7]"},
      {Resize{}, {typed("f32[1,4,5,3]"), none, none, ints({1, 7, 8, 3})}, "f32[1,7,8,3]"},
      {axes, {typed("f32[?,4,?,3]"), none, floats({2, 2})}, "f32[?,8,?,3]"},
      {axes, {typed("f32[?,4,?,3]"), none, none, ints({7, 1})}, "f32[?,7,1,3]"},
      {keep, {typed("f32[1,4,8,3]"), none, none, ints({8, 8})}, "f32[1,4,8,3]"},
      {cover, {typed("f32[1,4,8,3]"), none, none, ints({8, 8})}, "f32[1,8,16,3]"},
      {keep, {typed("f32[1,4,?,3]"), none, none, ints({8, 8})}, "f32[?,?,?,?]"},
      {Resize{}, {typed("f32[1,4]"), none, floats({}), ints({1, 7})}, "f32[1,7]"},
      {Resize{}, {typed("f32[1,4]"), none, typed("f32[2]")}, "f32[?,?]"},
      {Resize{}, {typed("f32[1,4]"), none, floats({1, 2}), ints({1, 7})}, "error: needs either scales or sizes"},
      {Resize{}, {typed("f32[1,4]")}, "error: needs either scales or sizes"},
      {Resize{}, {typed("f32[1,4]"), none, floats({1, 2, 3})}, "error: expects 2 scales or sizes, has 3"},
      {Resize{}, {typed("f32[1,4]"), none, floats({1, -2})}, "error: cannot scale 4 elements by -2"},
      {Resize{}, {typed("f32[1,4]"), none, none, ints({1, -7})}, "error: the size -7 is out of range"},
      {Resize{}, {typed("f32[1,0]"), none, floats({1, 2})}, "error: axis 1 of the input is empty"},
      {GridSample{}, {typed("f32[2,3,4,5]"), typed("f32[2,6,7,2]")}, "f32[2,3,6,7]"},
      {GridSample{}, {typed("f32[*]"), typed("f32[2,6,7,2]")}, "f32[2,?,6,7]"},
      {GridSample{}, {typed("f32[2,3,4,5]"), typed("f32[2,6,7,3]")}, "error: one coordinate an axis expects 2"},
      {GridSample{}, {typed("f32[2,3,4,5]"), typed("f32[1,6,7,2]")}, "error: the batch expects 2"},
  });
}

TEST(ShapeRules, Einsum) {
  const Input a = typed("f32[2,3]");
  const Input b = typed("f32[3,4]");
  const Input batch = typed("f32[5,2,3]");
  check_rules({
      {Einsum{"ij,jk->ik"}, {a, b}, "f32[2,4]"},
      {Einsum{"ij, jk"}, {a, b}, "f32[2,4]"},
      {Einsum{"ij->"}, {a}, "f32[]"},
      {Einsum{"...ij,jk->...ik"}, {batch, b}, "f32[5,2,4]"},
      {Einsum{"i...->...i"}, {batch}, "f32[2,3,5]"},
      {Einsum{"ii->i"}, {typed("f32[3,3]")}, "f32[3]"},
      {Einsum{"ij,jk->ik"}, {typed("f32[*]"), b}, "f32[?,4]"},
      {Einsum{"ij,jk->ik"}, {a, typed("f32[4,4]")}, "error: 'j' is 3 and 4"},
      {Einsum{"ij,jk->il"}, {a, b}, "error: no input has the axis 'l'"},
      {Einsum{"ijk->i"}, {a}, "error: the equation gives 3 axes to input 'x0', which is f32[2,3]"},
      {Einsum{"ij->ij"}, {a, b}, "error: the equation has 1 terms, 2 inputs are given"},
      {Einsum{"i$->i"}, {a}, "error: the equation holds '$'"},
  });
}

TEST(ShapeRules, ByteScale) {
  check_rules({
      {ByteScale{}, {typed("f32[2,?]")}, "f32[] u8[]", 2},
      {ByteScale{}, {typed("f32[*]")}, "f32[] u8[]", 2},
      {ByteScale{}, {typed("i64[2]")}, "error: input 'x0' must be float32"},
  });
}

TEST(ShapeRules, IntegerMatMul) {
  const Input bytes = typed("u8[2,3,?]"), weights = typed("i8[4,5]"), zero = typed("i8[1]");
  check_rules({
      {IntegerMatMul{}, {bytes, weights}, "i32[2,3,5]"},
      {IntegerMatMul{}, {bytes, weights, typed("u8[]"), zero}, "i32[2,3,5]"},
      {IntegerMatMul{}, {bytes, typed("f32[4,5]")}, "error: input 'x1' must be int8 or uint8, found float32"},
      {IntegerMatMul{}, {bytes, weights, zero}, "error: input 'x2' must be uint8"},
      {IntegerMatMul{}, {bytes, weights, typed("u8[3]")}, "error: the zero point"},
      {IntegerMatMul{}, {typed("u8[4]"), weights}, "error: "},
  });
}

TEST(ShapeRules, Recurrent) {
  Recurrent lstm;
  lstm.hidden_size = 8;
  Recurrent gru = lstm;
  gru.kind = RecurrentKind::gru;
  gru.direction = Direction::bidirectional;
  Recurrent rnn = lstm;
  rnn.kind = RecurrentKind::rnn;
  check_rules({
      {lstm,
       {typed("f32[5,2,3]"), typed("f32[1,32,3]"), typed("f32[1,32,8]"), typed("f32[1,64]")},
       "f32[5,1,2,8] f32[1,2,8] f32[1,2,8]",
       3},
      {gru, {typed("f32[?,2,3]"), typed("f32[2,24,3]"), typed("f32[2,24,8]")}, "f32[?,2,2,8] f32[2,2,8]", 2},
      {rnn, {typed("f32[5,2,3]"), typed("f32[1,8,3]"), typed("f32[1,8,8]"), Absent{}, typed("i32[2]")}, "f32[5,1,2,8]"},
      {rnn,
       {typed("f32[5,2,3]"), typed("f32[1,8,4]"), typed("f32[1,8,8]")},
       "error: the input weight expects 3 at axis 2"},
      {gru, {typed("f32[5,2,3]"), typed("f32[2,24,3]"), typed("f32[2,24,8]")}, "error: has at most 2 outputs", 3},
      {Recurrent{}, {typed("f32[5,2,3]"), typed("f32[1,8,4]"), typed("f32[1,8,8]")}, "error: the hidden size is 0"},
  });
}

TreeEnsemble stump() {
  TreeEnsemble op;
  TreeEnsemble::TreeNode root;
  root.feature = 1;
  root.mode = TreeEnsemble::Mode::leq;
  root.if_true = 1;
  root.if_false = 2;
  TreeEnsemble::TreeNode leaf;
  leaf.last_weight = 1;
  op.nodes = {root, leaf, leaf};
  op.roots = {0};
  op.leaf_weights = {{0, 1.0f}};
  return op;
}

TEST(ShapeRules, TreeEnsemble) {
  TreeEnsemble classifier = stump();
  classifier.classifier = true;
  classifier.target_count = 3;
  TreeEnsemble doubles = classifier;
  doubles.scores = DType::f64;
  TreeEnsemble broken = stump();
  broken.nodes[0].if_true = 3;
  TreeEnsemble heavy = stump();
  heavy.leaf_weights[0].target = 1;
  check_rules({
      {stump(), {typed("f32[?,4]")}, "f32[?,1]"},
      {classifier, {typed("f32[7,4]")}, "i64[7] f32[7,3]", 2},
      {doubles, {typed("f64[7,4]")}, "i64[7] f64[7,3]", 2},
      {stump(), {typed("f32[7,1]")}, "error: a tree reads feature 1, input 'x0' has 1"},
      {broken, {typed("f32[7,4]")}, "error: points outside the ensemble"},
      {heavy, {typed("f32[7,4]")}, "error: a leaf weighs target 1 of 1"},
  });
}

}  // namespace
}  // namespace colonnade::test
