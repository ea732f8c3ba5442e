// SPDX-License-Identifier: Apache-2.0
// Operators along lines of an axis, and padding: by their families as by the reference, on every tier and any number of
// threads.
#include <limits>

#include "program/whole.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test::lines {
namespace {

using namespace whole;

constexpr DType kNumbers[] = {DType::f32, DType::f64, DType::i8,  DType::u8,  DType::i16,
                              DType::u16, DType::i32, DType::u32, DType::i64, DType::u64};
constexpr Shape::value_type kSizes[] = {1, 2, 7, 63, 64, 65, 130};

Input ints(const Ints& values) { return constant(index_tensor({std::ssize(values)}, values)); }

TEST(Lines, SumsThemUp) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      for (const DType dtype : kNumbers)
        for (std::int64_t axis = -3; axis < 0; ++axis)
          check(CumSum{exclusive, reverse}, {computed(dtype, {3, 9, 70}), ints({axis})}, families::lines,
                dtype == DType::f32 ? 1e-4 : 1e-10);
  for (const std::int64_t size : kSizes) {
    check(CumSum{}, {computed(DType::f32, {size}), ints({0})}, families::lines, 1e-4);
    check(CumSum{}, {computed(DType::f32, {9, size}), ints({1})}, families::lines, 1e-4);
  }
}

TEST(Lines, MultipliesThem) {
  const auto product = [](bool exclusive, bool reverse) {
    Attributes attributes{{"exclusive", static_cast<std::int64_t>(exclusive)},
                          {"reverse", static_cast<std::int64_t>(reverse)}};
    return make_opaque(reference::kCumProd, 26, attributes);
  };
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      for (const DType dtype : kNumbers)
        for (std::int64_t axis = -3; axis < 0; ++axis)
          check(product(exclusive, reverse), {computed(dtype, {3, 9, 9}), ints({axis})}, families::lines,
                dtype == DType::f32 ? 1e-2 : 1e-10);
  for (const std::int64_t size : kSizes) {
    const Graph graph = single(product(false, false), {computed(DType::f64, {9, size}), ints({1})}, 1);
    check(graph, families::lines, {random_tensor(DType::f64, {9, size}, 3, 0.9, 1.1)}, 1e-10);
  }
}

TEST(Lines, MarksTheLargest) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const std::int64_t size : kSizes) {
      check(Hardmax{-1}, {computed(dtype, {5, size})}, families::lines);
      check(Hardmax{0}, {computed(dtype, {size, 5})}, families::lines);
      check(Hardmax{1}, {computed(dtype, {2, size, 70})}, families::lines);
    }
}

TEST(Lines, MarksTheFirstOfEqualOnes) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const auto& line :
       {std::vector<double>{nan, 1, 2}, {1, nan, 2, 2}, {-inf, nan, -inf}, {-inf, -inf}, {3, 3, 3}, {inf, inf}}) {
    std::vector<double> repeated;
    for (int i = 0; i < 40; ++i) repeated.insert(repeated.end(), line.begin(), line.end());
    for (const auto& values : {line, repeated}) {
      const auto size = std::ssize(values);
      for (const std::int64_t axis : {0, 1}) {
        const Shape shape = axis == 0 ? Shape{size, 1} : Shape{1, size};
        check(single(Hardmax{axis}, {computed(DType::f32, shape)}, 1), families::lines,
              {reference::tensor_of(DType::f32, shape, values)});
      }
      const Shape pairs{size / 2, 2};
      if (size % 2 == 0)
        check(single(Hardmax{0}, {computed(DType::f32, pairs)}, 1), families::lines,
              {reference::tensor_of(DType::f32, pairs, values)});
    }
  }
}

TEST(TopK, FindsExtremes) {
  for (const bool largest : {true, false}) {
    const auto top = [&](std::int64_t axis) { return TopK{axis, largest, true}; };
    for (const DType dtype : kNumbers)
      for (const std::int64_t k : {1, 5, 16, 17, 64, 128, 300})  // 64: as many as are taken at first
        check(top(-1), {computed(dtype, {3, 700}), ints({k})}, families::top_k, 0, 2);
    for (const DType dtype : {DType::f16, DType::bf16})
      check(top(1), {computed(dtype, {2, 90, 3}), ints({20})}, families::top_k, 0, 2);
    for (const std::int64_t size : kSizes)
      for (const std::int64_t k : {std::int64_t{1}, (size + 1) / 2, size}) {
        check(top(0), {computed(DType::f32, {size, 3}), ints({k})}, families::top_k, 0, 2);
        check(top(-2), {computed(DType::i32, {2, size, 37}), ints({k})}, families::top_k, 0, 2);
        check(top(0), {computed(DType::f64, {size}), ints({k})}, families::top_k, 0, 2);
      }
  }
}

TEST(TopK, KeepsUpWithRisingAndFallingLines) {
  for (const std::int64_t k : {3, 100, 4000}) {
    std::vector<double> rising(5000);
    std::iota(rising.begin(), rising.end(), -2500);
    const std::vector<double> falling(rising.rbegin(), rising.rend());
    for (const auto& line : {rising, falling})
      check(single(TopK{}, {computed(DType::f32, {5000}), ints({k})}, 2), families::top_k,
            {reference::tensor_of(DType::f32, {5000}, line)});
  }
}

TEST(TopK, OrdersWhatIsNoUsualNumber) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> line{-0.0, 0.0, nan, -inf, 1, -nan, inf, 0.0, -1, 1, -0.0, 1e-40};
  for (const bool largest : {true, false})
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
      for (const std::int64_t k : {1, 4, 12})
        check(single(TopK{0, largest}, {computed(dtype, {12}), ints({k})}, 2), families::top_k,
              {reference::tensor_of(dtype, {12}, line)});
}

TEST(Trilu, KeepsAPart) {
  for (const bool upper : {true, false}) {
    for (const DType dtype : {DType::f32, DType::boolean, DType::f16, DType::i64, DType::c128}) {
      const Graph graph = single(Trilu{upper}, {computed(dtype, {2, 3, 5})}, 1);
      if (dtype == DType::c128) {
        EXPECT_EQ(choose_family(graph, graph.nodes[0], Math::fast, kernels::Isa::avx512, known_blocking()).family->name,
                  "trilu");
      } else {
        check(graph, families::trilu, inputs_of(graph, 1));
      }
    }
    for (const std::int64_t k : {-1000, -5, -1, 0, 1, 2, 6, 7, 1000})
      for (const Shape& shape : {Shape{5, 7}, Shape{3, 7, 5}, Shape{1, 1}}) {
        check(Trilu{upper}, {computed(DType::f32, shape), constant(index_tensor({}, {k}))}, families::trilu);
        const Graph graph = single(Trilu{upper}, {computed(DType::f32, shape), computed(DType::i64, {1})}, 1);
        check(graph, families::trilu, {random_tensor(DType::f32, shape, 1), index_tensor({1}, {k})});
      }
  }
}

constexpr PadMode kModes[] = {PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap};

TEST(Pad, AnyAxes) {
  for (const PadMode mode : kModes) {
    for (const DType dtype : {DType::f32, DType::f64, DType::i8, DType::f16, DType::boolean, DType::i64})
      check(Pad{mode}, {computed(dtype, {4, 3, 7}), ints({2, 1, 0, 1, 2, 3})}, families::pad_whole);
    check(Pad{mode}, {computed(DType::f32, {7}), ints({5, 3})}, families::pad_whole);
    check(Pad{mode}, {computed(DType::f32, {300}), ints({200, 290})}, families::pad_whole);
    check(Pad{mode}, {computed(DType::f32, {2, 3, 4, 5, 6}), ints({0, 0, 1, 0, 0, 0, 0, 2, 0, 0})},
          families::pad_whole);
    check(Pad{mode}, {computed(DType::f32, {2, 9, 4}), ints({0, -2, 0, 1, -3, 2})}, families::pad_whole);
    check(Pad{mode}, {computed(DType::f32, {2, 3, 4}), ints({0, 0, 0, 0, 0, 0})}, families::pad_whole);
    check(Pad{mode}, {computed(DType::f32, {2, 3, 4}), ints({3, 0}), absent(), ints({-2})}, families::pad_whole);
  }
}

/// Of the axis that is copied in pieces, and of one before it.
TEST(Pad, CutsEnds) {
  for (const PadMode mode : kModes) {
    for (const Ints& pads : {Ints{-2, 0}, {0, -3}, {-2, -3}, {-2, 3}, {3, -2}, {-8, 0}, {0, -8}, {-4, 4}, {4, -4}})
      check(Pad{mode}, {computed(DType::f32, {9}), ints(pads)}, families::pad_whole);
    check(Pad{mode}, {computed(DType::i64, {2, 6, 9}), ints({0, -1, -2, 0, 1, -3})}, families::pad_whole);
    check(Pad{mode}, {computed(DType::u8, {6, 9, 2}), ints({-1, -2, 0, 1, 2, 0})}, families::pad_whole);
  }
}

TEST(Pad, WithAValue) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i8, DType::f16}) {
    const Tensor value = random_tensor(dtype, {}, 7);
    check(Pad{}, {computed(dtype, {4, 3}), ints({2, 1, 0, 1}), constant(value)}, families::pad_whole);
    check(Pad{}, {computed(dtype, {4, 3}), ints({2, 1, 0, 1}), computed(dtype, {1})}, families::pad_whole);
  }
}

}  // namespace
}  // namespace colonnade::test::lines
