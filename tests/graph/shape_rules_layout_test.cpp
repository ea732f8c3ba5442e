// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "graph/builder.hpp"

namespace colonnade::test {
namespace {

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBegin = std::numeric_limits<std::int64_t>::min();

TEST(ShapeRules, Reshape) {
  const Reshape zeros{true};
  check_rules({
      {Reshape{}, {typed("f32[2,3,4]"), ints({6, 4})}, "f32[6,4]"},
      {Reshape{}, {typed("f32[2,3,4]"), ints({0, -1})}, "f32[2,12]"},
      {Reshape{}, {typed("f32[?,3,4]"), ints({0, -1})}, "f32[?,12]"},
      {Reshape{}, {typed("f32[?,3,4]"), ints({-1, 12})}, "f32[?,12]"},
      {Reshape{}, {typed("f32[2,3,4]"), ints({})}, "error: 24 elements"},
      {Reshape{}, {typed("f32[1]"), ints({})}, "f32[]"},
      {Reshape{}, {typed("f32[2,3]"), typed("i64[3]")}, "f32[?,?,?]"},
      {Reshape{}, {typed("f32[2,3]"), typed("i64[?]")}, "f32[*]"},
      {Reshape{}, {typed("f32[*]"), ints({0, 4, -1})}, "f32[?,4,?]"},
      {zeros, {typed("f32[0,3]"), ints({3, 0})}, "f32[3,0]"},
      {Reshape{}, {typed("f32[2,3]"), ints({4, -1})}, "error: 6 elements of input 'x0' cannot be divided by 4"},
      {Reshape{}, {typed("f32[2,3]"), ints({7})}, "error: input 'x0' has 6 elements, ?[7] has 7"},
      {Reshape{}, {typed("f32[2,3]"), ints({-1, -1})}, "error: more than one -1"},
      {Reshape{}, {typed("f32[2,3]"), ints({-2, 3})}, "error: holds -2"},
      {Reshape{}, {typed("f32[6]"), ints({6, 0})}, "error: copies axis 1"},
      {zeros, {typed("f32[0,3]"), ints({0, -1})}, "error: cannot be divided"},
      {Reshape{}, {typed("f32[6]"), typed("i64[1000000000]")}, "error: asks for rank 1000000000"},
      {Flatten{1}, {typed("f32[2,3,4]")}, "f32[2,12]"},
      {Flatten{0}, {typed("f32[2,3,4]")}, "f32[1,24]"},
      {Flatten{3}, {typed("f32[2,3,4]")}, "f32[24,1]"},
      {Flatten{-1}, {typed("f32[2,?,4]")}, "f32[?,4]"},
      {Flatten{4}, {typed("f32[2,3,4]")}, "error: axis 4 is out of range"},
      {Flatten{1}, {typed("f32[*]")}, "f32[?,?]"},
  });
}

TEST(ShapeRules, Axes) {
  check_rules({
      {Squeeze{}, {typed("f32[1,3,1]")}, "f32[3]"},
      {Squeeze{}, {typed("f32[1,?,1]")}, "f32[*]"},
      {Squeeze{}, {typed("f32[1,3,1]"), ints({-1})}, "f32[1,3]"},
      {Squeeze{}, {typed("f32[1,?,1]"), ints({1})}, "f32[1,1]"},
      {Squeeze{}, {typed("f32[1,3,1]"), typed("i64[2]")}, "f32[?]"},
      {Squeeze{}, {typed("f32[1,3,1]"), ints({1})}, "error: axis 1 of input 'x0' is 3, must be 1"},
      {Unsqueeze{}, {typed("f32[3,4]"), ints({0, -1})}, "f32[1,3,4,1]"},
      {Unsqueeze{}, {typed("f32[]"), ints({0})}, "f32[1]"},
      {Unsqueeze{}, {typed("f32[3]"), typed("i64[1]")}, "f32[?,?]"},
      {Unsqueeze{}, {typed("f32[3]"), ints({0, 0})}, "error: axis 0 is given twice"},
      {Unsqueeze{}, {typed("f32[3]"), ints({3})}, "error: axis 3 is out of range for rank 2"},
      {Transpose{{0, 2, 3, 1}}, {typed("f32[1,2,3,4]")}, "f32[1,3,4,2]"},
      {Transpose{}, {typed("f32[1,2,?]")}, "f32[?,2,1]"},
      {Transpose{{1, 0}}, {typed("f32[*]")}, "f32[?,?]"},
      {Transpose{{0, 0}}, {typed("f32[1,2]")}, "error: not a permutation"},
      {Transpose{{0}}, {typed("f32[1,2]")}, "error: perm has 1 axes"},
  });
}

TEST(ShapeRules, CutAndJoin) {
  check_rules({
      {Concat{1}, {typed("f32[2,3]"), typed("f32[2,4]")}, "f32[2,7]"},
      {Concat{-1}, {typed("f32[?,3]"), typed("f32[2,?]")}, "f32[2,?]"},
      {Concat{0}, {typed("f32[2,3]"), typed("f32[*]")}, "f32[*]"},
      {Concat{1}, {typed("f32[2,3]"), typed("f32[3,4]")}, "error: axis 0 of input 'x1' is 3, of input 'x0' it is 2"},
      {Concat{0}, {typed("f32[2,3]"), typed("f32[2]")}, "error: must have rank 2"},
      {Concat{0}, {typed("f32[2]"), typed("i64[2]")}, "error: must have one type"},
      {Concat{0}, {}, "error: has no inputs"},
      {Slice{}, {typed("f32[10,20]"), ints({1}), ints({4})}, "f32[3,20]"},
      {Slice{}, {typed("f32[10,20]"), ints({-3, 0}), ints({kEnd, -1}), ints({1, 0})}, "f32[9,3]"},
      {Slice{}, {typed("f32[10]"), ints({kEnd}), ints({kBegin}), ints({0}), ints({-1})}, "f32[10]"},
      {Slice{}, {typed("f32[10]"), ints({8}), ints({1}), ints({0}), ints({-3})}, "f32[3]"},
      {Slice{}, {typed("f32[10]"), ints({0}), ints({10}), ints({0}), ints({kBegin})}, "f32[0]"},
      {Slice{}, {typed("f32[10]"), ints({0}), ints({10}), ints({0}), ints({kEnd})}, "f32[1]"},
      {Slice{}, {typed("f32[0]"), ints({0}), ints({10}), ints({0}), ints({-1})}, "f32[0]"},
      {Slice{}, {typed("f32[10]"), ints({5}), ints({3})}, "f32[0]"},
      {Slice{}, {typed("f32[?,7]"), ints({1}), ints({4})}, "f32[?,7]"},
      {Slice{}, {typed("f32[5,7]"), typed("i64[1]"), ints({4}), ints({1})}, "f32[5,?]"},
      {Slice{}, {typed("f32[5,7]"), ints({1}), ints({4}), typed("i64[1]")}, "f32[?,?]"},
      {Slice{}, {typed("f32[5]"), ints({1}), ints({4}), ints({0}), ints({0})}, "error: the step along axis 0 is 0"},
      {Slice{}, {typed("f32[5]"), ints({1, 2}), ints({4, 5})}, "error: slices 2 axes"},
      {Slice{}, {typed("f32[5,5]"), ints({1, 2}), ints({4})}, "error: one bound an axis expects 2 elements"},
      {Split{1}, {typed("f32[2,6]"), ints({2, 4})}, "f32[2,2] f32[2,4]", 2},
      {Split{1}, {typed("f32[2,7]")}, "f32[2,3] f32[2,3] f32[2,1]", 3},
      {Split{1}, {typed("f32[2,?]")}, "f32[2,?] f32[2,?]", 2},
      {Split{1}, {typed("f32[2,6]"), typed("i64[2]")}, "f32[2,?] f32[2,?]", 2},
      {Split{1}, {typed("f32[2,6]"), ints({2, 3})}, "error: the sizes sum to 5, the axis of input 'x0' has 6", 2},
      {Split{1}, {typed("f32[2,6]"), ints({2, 4})}, "error: has 2 sizes for 3 outputs", 3},
      {Split{1}, {typed("f32[2,6]"), ints({-2, 8})}, "error: the sizes hold -2", 2},
      {Split{0}, {typed("f32[5]")}, "error: cannot split 5 elements in 4 parts", 4},
      {Pad{}, {typed("f32[2,3]"), ints({0, 1, 2, -1})}, "f32[4,3]"},
      {Pad{}, {typed("f32[2,3]"), ints({1, 1}), Absent{}, ints({-1})}, "f32[2,5]"},
      {Pad{}, {typed("f32[2,3]"), typed("i64[4]")}, "f32[?,?]"},
      {Pad{}, {typed("f32[2,3]"), ints({0, 1, 2})}, "error: expects 4 pads, has 3"},
      {Pad{}, {typed("f32[2]"), ints({-2, -2})}, "error: leave nothing"},
      {Pad{}, {typed("f32[2]"), ints({1, 1}), typed("i64[]")}, "error: must have one type"},
  });
}

TEST(ShapeRules, Repeat) {
  check_rules({
      {Expand{}, {typed("f32[3,1]"), ints({2, 1, 4})}, "f32[2,3,4]"},
      {Expand{}, {typed("f32[3,1]"), ints({1})}, "f32[3,1]"},
      {Expand{}, {typed("f32[3,1]"), typed("i64[3]")}, "f32[?,?,?]"},
      {Expand{}, {typed("f32[3]"), ints({2})}, "error: cannot broadcast"},
      {Expand{}, {typed("f32[3]"), ints({-1})}, "error: has a negative size"},
      {Tile{}, {typed("f32[3,2]"), ints({1, 4})}, "f32[3,8]"},
      {Tile{}, {typed("f32[3,2]"), typed("i64[2]")}, "f32[?,?]"},
      {Tile{}, {typed("f32[3,2]"), ints({1})}, "error: one repeat an axis expects 2 elements"},
      {Tile{}, {typed("f32[3]"), ints({-1})}, "error: repeats axis 0 -1 times"},
      {DepthToSpace{2, false, -1}, {typed("f32[1,3,4,8]")}, "f32[1,6,8,2]"},
      {DepthToSpace{2, false, 1}, {typed("f32[1,8,3,4]")}, "f32[1,2,6,8]"},
      {DepthToSpace{2, false, -1}, {typed("f32[1,3,4,6]")}, "error: axis 3 of input 'x0' is 6, not a multiple of 4"},
      {SpaceToDepth{2, -1}, {typed("f32[1,6,?,2]")}, "f32[1,3,?,8]"},
      {SpaceToDepth{2, -1}, {typed("f32[1,5,8,2]")}, "error: not a multiple of 2"},
      {SpaceToDepth{0, -1}, {typed("f32[1,5,8,2]")}, "error: block size 0"},
      {Trilu{}, {typed("f32[3,4]"), typed("i64[]")}, "f32[3,4]"},
      {Trilu{}, {typed("f32[3]")}, "error: must have rank 2 or more"},
  });
}

TEST(ShapeRules, Sizes) {
  const std::string large = "f32[1099511627776,1099511627776]";
  EXPECT_THROW(inferred(single(Unary{UnaryKind::relu}, {large})), Error);
  EXPECT_THROW(inferred(single(Unary{UnaryKind::relu}, {typed("f32[1099511627777]")})), Error);
  EXPECT_THROW(inferred(single(Tile{}, {typed("f32[3]"), ints({kEnd})})), Error);
  EXPECT_THROW(inferred(single(Pad{}, {typed("f32[3]"), ints({kEnd, kEnd})})), Error);
  EXPECT_THROW(inferred(single(Fill{}, {ints({1LL << 40, 1LL << 40}), floats({1})})), Error);
}

}  // namespace
}  // namespace colonnade::test
