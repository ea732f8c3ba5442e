// SPDX-License-Identifier: Apache-2.0
// The family `typed` on tensors that threads share, on every type of number, and where a divisor is zero.
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

constexpr DType kIntegers[] = {DType::i8,  DType::u8,  DType::i16, DType::u16,
                               DType::i32, DType::u32, DType::i64, DType::u64};
const Shape kShared = {3, 41, 533};  // several units, rows that no unit ends with

Input small(DType dtype, const Shape& shape, unsigned seed, double low, double high) {
  return constant(random_tensor(dtype, shape, seed, low, high));
}

TEST(TypedShared, Elementwise) {
  check(Binary{BinaryKind::add}, {computed(DType::i64, kShared), computed(DType::i64, {41, 1})});
  check(Binary{BinaryKind::less}, {computed(DType::f32, kShared), computed(DType::f32, {533})});
  check(Select{}, {computed(DType::boolean, kShared), computed(DType::f64, {3, 1, 533}), computed(DType::f64, {})});
  check(Cast{DType::i32}, {computed(DType::f32, kShared)});
  check(Unary{UnaryKind::sign}, {computed(DType::f64, kShared)});
}

TEST(TypedShared, Boxes) {
  check(Expand{}, {computed(DType::i32, {41, 1}), constant(index_tensor({3}, {3, 41, 533}))});
  check(Tile{}, {computed(DType::f32, {3, 1, 97}), constant(index_tensor({3}, {1, 41, 7}))});
  check(Tile{}, {computed(DType::f32, {2, 19, 41, 27}), constant(index_tensor({4}, {1, 1, 2, 2}))});
  for (const DType dtype : {DType::f32, DType::f64, DType::u16}) {  // few elements a row, no axis long
    check(Transpose{{3, 0, 4, 1, 5, 2, 6}}, {computed(dtype, {8, 16, 5, 3, 2, 2, 3})});
    check(Transpose{{3, 0, 4, 1, 5, 2, 6}}, {computed(dtype, {8, 16, 4, 3, 2, 2, 11})});
  }
  check(Transpose{{0, 6, 1, 4, 2, 5, 3, 7}}, {computed(DType::f32, {1, 5, 6, 7, 2, 3, 2, 9})});
  check(Concat{1}, {computed(DType::i64, kShared), computed(DType::i64, {3, 2, 533})});
  check(Split{2}, {computed(DType::i64, kShared), constant(index_tensor({2}, {530, 3}))}, families::typed, 0, 2);
}

TEST(TypedShared, Extremes) {
  for (const bool last : {false, true})
    for (const std::int64_t axis : {0, 1, 2}) {
      check(ArgReduce{true, axis, true, last}, {computed(DType::f32, kShared)});
      check(ArgReduce{false, axis, true, last}, {computed(DType::u8, kShared)});
    }
}

TEST(TypedIntegers, Arithmetic) {
  for (const DType dtype : kIntegers) {
    for (const BinaryKind kind : {BinaryKind::add, BinaryKind::mul, BinaryKind::max, BinaryKind::bitwise_and,
                                  BinaryKind::bitwise_or, BinaryKind::bitwise_xor, BinaryKind::greater})
      check(Binary{kind}, {computed(dtype, {3, 37}), computed(dtype, {37})});
    for (const BinaryKind kind : {BinaryKind::div, BinaryKind::mod, BinaryKind::fmod})
      for (const Shape& shape : {Shape{3, 37}, Shape{}})
        check(Binary{kind}, {small(dtype, {3, 37}, 1, -90, 120), small(dtype, shape, 2, 1, 9)});
    for (const BinaryKind kind : {BinaryKind::shift_left, BinaryKind::shift_right})
      if (dtype >= DType::u8 && dtype <= DType::u64)
        for (const Shape& shape : {Shape{3, 37}, Shape{}})
          check(Binary{kind}, {computed(dtype, {3, 37}), small(dtype, shape, 2, 0, 70)});
    for (const UnaryKind kind : {UnaryKind::sign, UnaryKind::bitwise_not, UnaryKind::square})
      check(Unary{kind}, {computed(dtype, {67})});
    for (const DType to : {DType::f64, DType::i16, DType::u64}) check(Cast{to}, {computed(dtype, {67})});
  }
}

TEST(TypedIntegers, DivisionByZeroIsSaid) {
  const Graph graph =
      single(Binary{BinaryKind::mod}, {computed(DType::i64, {30000}), computed(DType::i64, {30000})}, 1);
  std::vector<Tensor> inputs = {index_tensor({30000}, Ints(30000, 9)), index_tensor({30000}, Ints(30000, 4))};
  for (const int threads : {1, 2}) {
    const PlanOptions options{Schedule::layers, Math::fast, threads, 0};
    EXPECT_NO_THROW(run(graph, options, kernels::usable_features(), inputs));
    inputs[1].values<std::int64_t>()[29999] = 0;
    EXPECT_THROW(run(graph, options, kernels::usable_features(), inputs), Error);
    inputs[1].values<std::int64_t>()[29999] = 4;
  }
}

TEST(TypedIntegers, PowersAndRemaindersOfReals) {
  for (const DType dtype : kIntegers)
    for (const Shape& shape : {Shape{3, 37}, Shape{}})
      check(Binary{BinaryKind::pow}, {computed(dtype, {3, 37}), small(dtype, shape, 2, 0, 5)});
  check(Binary{BinaryKind::pow}, {computed(DType::f64, {3, 37}), computed(DType::f64, {37})}, families::typed, 1e-9);
  for (const DType dtype : {DType::f32, DType::f64})
    check(Binary{BinaryKind::fmod}, {computed(dtype, {3, 37}), computed(dtype, {37})});
}

TEST(TypedDoubles, Functions) {
  for (const UnaryKind kind :
       {UnaryKind::relu, UnaryKind::abs, UnaryKind::neg, UnaryKind::square, UnaryKind::floor, UnaryKind::ceil,
        UnaryKind::round, UnaryKind::sqrt, UnaryKind::reciprocal, UnaryKind::exp, UnaryKind::sigmoid, UnaryKind::tanh,
        UnaryKind::log, UnaryKind::erf, UnaryKind::sin, UnaryKind::cos})
    check(Unary{kind}, {computed(DType::f64, {3, 67})}, families::typed, 1e-13);
}

TEST(RowFunctions, AgreeWithTheReference) {
  for (const UnaryKind kind : {UnaryKind::sin, UnaryKind::cos, UnaryKind::tan, UnaryKind::asin, UnaryKind::acos,
                               UnaryKind::atan, UnaryKind::sinh, UnaryKind::cosh, UnaryKind::asinh, UnaryKind::acosh,
                               UnaryKind::atanh, UnaryKind::sign, UnaryKind::celu, UnaryKind::thresholded_relu})
    check(Unary{kind, 0.7f}, {computed(DType::f32, {1, 5, 7, 9})}, families::unary,
          kind == UnaryKind::tan ? 1e-2 : 2e-5);  // poles
}

}  // namespace
}  // namespace colonnade::test
