// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>

#include "reference/support.hpp"

namespace colonnade::test {
namespace {

Tensor counting(Shape shape) {
  Numbers values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  return f32(std::move(shape), values);
}

TEST(Reshape, ZeroAndMinusOne) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(run(Reshape{}, x, ints({0, -1})).shape(), (Shape{2, 12}));
  EXPECT_EQ(run(Flatten{2}, x).shape(), (Shape{6, 4}));
  EXPECT_EQ(run(Unsqueeze{}, x, ints({0, -1})).shape(), (Shape{1, 2, 3, 4, 1}));
  EXPECT_EQ(run(Squeeze{}, counting({1, 3, 1})).shape(), (Shape{3}));
  EXPECT_EQ(run(Squeeze{}, counting({1, 3, 1}), ints({-1})).shape(), (Shape{1, 3}));
  EXPECT_EQ(run(Reshape{true}, counting({0, 3}), ints({3, 0})).shape(), (Shape{3, 0}));
}

TEST(Transpose, ReversesByDefault) {
  expect_near(run(Transpose{}, counting({2, 3})), {3, 2}, {0, 3, 1, 4, 2, 5});
  const Tensor x = random({2, 3, 4, 5});
  const Tensor back = run(Transpose{{0, 3, 1, 2}}, run(Transpose{{0, 2, 3, 1}}, x));
  expect_near(back, x.shape(), numbers(x), 0);
  EXPECT_EQ(run(Transpose{{1, 0}}, strings({1, 2}, {"a", "b"})).strings(), (std::vector<std::string>{"a", "b"}));
}

TEST(Concat, IsUndoneBySplit) {
  const Tensor a = counting({2, 1, 2}), b = random({2, 3, 2});
  const Tensor joined = run(Concat{1}, a, b), sizes = ints({1, 3});
  EXPECT_EQ(joined.shape(), (Shape{2, 4, 2}));
  const std::vector<Tensor> parts = outputs_of(Split{1}, {&joined, &sizes}, 2);
  expect_near(parts[0], a.shape(), numbers(a), 0);
  expect_near(parts[1], b.shape(), numbers(b), 0);
  const Tensor seven = counting({7});
  const std::vector<Tensor> thirds = outputs_of(Split{0}, {&seven}, 3);
  expect_near(thirds[0], {3}, {0, 1, 2});
  expect_near(thirds[2], {1}, {6});
}

TEST(Slice, StepsAndClipping) {
  const Tensor x = counting({2, 5}), axes = ints({1});
  expect_near(run(Slice{}, x, ints({1}), ints({4}), axes), {2, 3}, {1, 2, 3, 6, 7, 8});
  expect_near(run(Slice{}, x, ints({-1}), ints({-100}), axes, ints({-2})), {2, 3}, {4, 2, 0, 9, 7, 5});
  expect_near(run(Slice{}, x, ints({100}), ints({0}), axes, ints({-3})), {2, 2}, {4, 1, 9, 6});
  expect_near(run(Slice{}, x, ints({1, 3}), ints({2, 1000})), {1, 2}, {8, 9});
  EXPECT_EQ(run(Slice{}, x, ints({4}), ints({2}), axes).shape(), (Shape{2, 0}));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = std::numeric_limits<std::int64_t>::min();
  expect_near(run(Slice{}, x, ints({0}), ints({most}), axes, ints({most})), {2, 1}, {0, 5});
  expect_near(run(Slice{}, x, ints({most}), ints({least}), axes, ints({-1})), {2, 5}, {4, 3, 2, 1, 0, 9, 8, 7, 6, 5});
}

TEST(Pad, FourModesAndCropping) {
  const Tensor x = f32({3}, {1, 2, 3}), pads = ints({2, 1}), value = f32({}, {9});
  expect_near(run(Pad{PadMode::constant}, x, pads, value), {6}, {9, 9, 1, 2, 3, 9});
  expect_near(run(Pad{PadMode::constant}, x, pads), {6}, {0, 0, 1, 2, 3, 0});
  expect_near(run(Pad{PadMode::reflect}, x, pads), {6}, {3, 2, 1, 2, 3, 2});
  expect_near(run(Pad{PadMode::edge}, x, pads), {6}, {1, 1, 1, 2, 3, 3});
  expect_near(run(Pad{PadMode::wrap}, x, pads), {6}, {2, 3, 1, 2, 3, 1});
  expect_near(run(Pad{PadMode::constant}, x, ints({-1, 2}), value), {4}, {2, 3, 9, 9});
  const Tensor m = counting({2, 2}), right = ints({0, 1}), axis = ints({-1});
  const Tensor padded = std::move(outputs_of(Pad{PadMode::edge}, {&m, &right, nullptr, &axis})[0]);
  expect_near(padded, {2, 3}, {0, 1, 1, 2, 3, 3});
}

TEST(Expand, AndTile) {
  expect_near(run(Expand{}, f32({2, 1}, {1, 2}), ints({3, 1, 2})), {3, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2});
  expect_near(run(Tile{}, counting({2, 2}), ints({2, 2})), {4, 4}, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
}

TEST(DepthToSpace, BothOrdersBothAxes) {
  const Tensor x = counting({1, 8, 1, 1});
  expect_near(run(DepthToSpace{2, false, 1}, x), {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  expect_near(run(DepthToSpace{2, true, 1}, x), {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  for (const bool crd : {false, true}) {
    const Tensor first = random({2, 12, 3, 5});
    const Tensor last = run(Transpose{{0, 2, 3, 1}}, first);
    const Tensor expected = run(Transpose{{0, 2, 3, 1}}, run(DepthToSpace{2, crd, 1}, first));
    expect_near(run(DepthToSpace{2, crd, 3}, last), expected.shape(), numbers(expected), 0);
  }
}

TEST(SpaceToDepth, IsUndoneByDepthToSpace) {
  for (const std::int64_t axis : {1, 3}) {
    const Tensor x = random({2, 6, 6, 6});
    const Tensor y = run(DepthToSpace{3, false, axis}, run(SpaceToDepth{3, axis}, x));
    expect_near(y, x.shape(), numbers(x), 0);
  }
}

TEST(Trilu, UpperAndLower) {
  const Tensor x = f32({3, 3}, Numbers(9, 1));
  expect_near(run(Trilu{true}, x), {3, 3}, {1, 1, 1, 0, 1, 1, 0, 0, 1});
  expect_near(run(Trilu{false}, x, i64({}, {-1})), {3, 3}, {0, 0, 0, 1, 0, 0, 1, 1, 0});
}

TEST(Shapes, ShapeOfSizeOfFillRange) {
  const Tensor x = counting({2, 3, 4});
  expect_near(run(ShapeOf{}, x), {3}, {2, 3, 4});
  expect_near(run(ShapeOf{-2, std::nullopt}, x), {2}, {3, 4});
  expect_near(run(ShapeOf{0, -1}, x), {2}, {2, 3});
  expect_near(run(SizeOf{}, x), {}, {24});
  expect_near(run(Fill{}, ints({2, 2}), i64({1}, {7})), {2, 2}, {7, 7, 7, 7});
  expect_near(run(Range{}, i64({}, {10}), i64({}, {3}), i64({}, {-3})), {3}, {10, 7, 4});
  expect_near(run(Range{}, f32({}, {1}), f32({}, {2}), f32({}, {0.4})), {3}, {1, 1.4, 1.8});
  EXPECT_EQ(run(Range{}, i64({}, {5}), i64({}, {5}), i64({}, {1})).size(), 0);
}

TEST(Shapes, FillOfMoreThanABlock) {
  const Tensor filled = run(Fill{}, ints({7, 151}), i64({1}, {0x0102030405060708}));
  ASSERT_EQ(filled.size(), 7 * 151);
  for (const std::int64_t x : filled.values<std::int64_t>()) ASSERT_EQ(x, 0x0102030405060708);
}

/// Longer than what is made at a time, and no multiple of it.
TEST(Shapes, LongRanges) {
  for (const DType dtype : {DType::i64, DType::i16, DType::f32, DType::f64}) {
    const double start = 3000.5, step = -1.75, limit = start + 2077 * step;
    const Tensor y =
        run(Range{}, reference::tensor_of(dtype, {}, Numbers{start}), reference::tensor_of(dtype, {}, Numbers{limit}),
            reference::tensor_of(dtype, {}, Numbers{step}));
    const bool is_real = dtype == DType::f32 || dtype == DType::f64;
    const double first = is_real ? start : 3000, ahead = is_real ? step : -1;
    ASSERT_EQ(y.size(), is_real ? 2077 : 3634);
    const Numbers found = numbers(y);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], first + static_cast<double>(i) * ahead) << i;
  }
}

Resize resize(ResizeMode mode, CoordinateMode coordinates = CoordinateMode::half_pixel) {
  Resize op;
  op.mode = mode;
  op.coordinates = coordinates;
  return op;
}

TEST(Resize, NearestLinearCubic) {
  const Tensor x = f32({1, 4}, {1, 2, 3, 4}), up = f32({2}, {1, 2});
  const auto resized = [&](Resize op) { return std::move(outputs_of(op, {&x, nullptr, &up})[0]); };
  expect_near(resized(resize(ResizeMode::nearest)), {1, 8}, {1, 1, 2, 2, 3, 3, 4, 4});
  expect_near(resized(resize(ResizeMode::linear)), {1, 8}, {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4});
  expect_near(resized(resize(ResizeMode::linear, CoordinateMode::align_corners)), {1, 8},
              {1, 10.0 / 7, 13.0 / 7, 16.0 / 7, 19.0 / 7, 22.0 / 7, 25.0 / 7, 4});
  // A cubic that reproduces ramps does so wherever all four taps lie inside.
  Resize keys = resize(ResizeMode::cubic);
  keys.cubic_a = -0.5f;
  const Numbers cubic = numbers(resized(keys));
  EXPECT_NEAR(cubic[3], 2.25, 1e-6);
  EXPECT_NEAR(cubic[4], 2.75, 1e-6);
}

TEST(Resize, LinearKeepsARampInBothAxes) {
  Numbers ramp;
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 5; ++c) ramp.push_back(10 * r + c);
  }
  const Tensor x = f32({1, 4, 5, 1}, ramp), sizes = ints({1, 7, 9, 1});
  const Resize op = resize(ResizeMode::linear, CoordinateMode::align_corners);
  const Numbers y = numbers(outputs_of(op, {&x, nullptr, nullptr, &sizes})[0]);
  for (std::size_t r = 0; r < 7; ++r) {
    for (std::size_t c = 0; c < 9; ++c)
      EXPECT_NEAR(y[r * 9 + c], 10 * static_cast<double>(r) / 2 + static_cast<double>(c) / 2, 1e-5);
  }
}

TEST(Resize, CropExtrapolatesAndNearestMovesAnyType) {
  const Tensor x = f32({3}, {1, 2, 3}), roi = f32({2}, {0, 2}), sizes = ints({3});
  Resize crop = resize(ResizeMode::linear, CoordinateMode::tf_crop_and_resize);
  crop.extrapolation = 9;
  expect_near(outputs_of(crop, {&x, &roi, nullptr, &sizes})[0], {3}, {1, 3, 9});
  const Tensor bytes = tensor(DType::u8, {2}, {7, 200}), twice = f32({1}, {2});
  expect_near(outputs_of(Resize{}, {&bytes, nullptr, &twice})[0], {4}, {7, 7, 200, 200});
}

TEST(Speed, TenMillionElementsInWellUnderASecond) {
#if defined(COLONNADE_ASAN) || defined(COLONNADE_TSAN) || !defined(NDEBUG)
  GTEST_SKIP() << "timed in optimised builds only";
#endif
  const Tensor x(DType::f32, {100, 320, 320}), y(DType::f32, {100, 1, 320});
  const auto begin = std::chrono::steady_clock::now();
  run(Transpose{{2, 0, 1}}, x);
  run(Concat{1}, x, x);
  run(Binary{BinaryKind::add}, x, y);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("Transpose, Concat and Add of 10^7 elements: %.2f s\n", seconds);
  EXPECT_LT(seconds, 10);
}

}  // namespace
}  // namespace colonnade::test
