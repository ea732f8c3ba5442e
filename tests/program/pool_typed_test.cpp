// SPDX-License-Identifier: Apache-2.0
// Largest elements of windows of any type.
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using namespace whole;

Pool largest(Ints kernel, Ints strides, Ints pads, Ints dilations = {}) {
  Pool pool;
  pool.kind = PoolKind::max;
  pool.kernel = std::move(kernel);
  pool.strides = std::move(strides);
  pool.pads = std::move(pads);
  pool.dilations = std::move(dilations);
  return pool;
}

TEST(TypedPool, OfEveryTypeAndRank) {
  for (const DType dtype : {DType::f64, DType::i32, DType::u16, DType::i64}) {
    check(largest({3, 3}, {2, 2}, {1, 1, 1, 1}), {computed(dtype, {2, 9, 8, 5})}, families::pool_typed);
    check(largest({2, 3}, {1, 2}, {0, 2, 1, 0}, {2, 1}), {computed(dtype, {1, 7, 8, 67})}, families::pool_typed);
    check(largest({4}, {3}, {1, 2}), {computed(dtype, {3, 20, 3})}, families::pool_typed);
    check(largest({2, 1, 3}, {1, 2, 2}, {1, 0, 1, 0, 0, 1}), {computed(dtype, {1, 4, 5, 6, 9})}, families::pool_typed);
    check(largest({1, 1}, {2, 2}, {0, 0, 0, 0}), {computed(dtype, {1, 5, 5, 4})}, families::pool_typed);
  }
}

TEST(TypedPool, KeepsWhatIsNotANumber) {
  const double nan = std::nan("");
  const Graph graph = single(largest({2, 2}, {1, 1}, {0, 0, 0, 0}), {computed(DType::f64, {1, 3, 3, 1})}, 1);
  for (const std::vector<double>& values : {std::vector<double>{1, 2, 3, nan, 5, 6, 7, 8, 9},
                                            {nan, nan, nan, nan, nan, nan, nan, nan, nan},
                                            {-HUGE_VAL, -HUGE_VAL, 1, -HUGE_VAL, -HUGE_VAL, 1, 2, 2, nan}})
    check(graph, families::pool_typed, {reference::tensor_of(DType::f64, {1, 3, 3, 1}, values)});
}

TEST(TypedPool, LeavesWindowsOfNothingToTheReference) {
  check(largest({2, 2}, {1, 1}, {3, 3, 0, 0}), {computed(DType::f64, {1, 4, 4, 3})}, families::island);
}

}  // namespace
}  // namespace colonnade::test
