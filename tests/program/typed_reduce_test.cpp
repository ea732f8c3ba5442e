// SPDX-License-Identifier: Apache-2.0
// Reductions of integers and doubles by their family, beside the reference.
#include "families/table.hpp"
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

constexpr ReduceKind kAll[] = {ReduceKind::sum, ReduceKind::mean,    ReduceKind::max,
                               ReduceKind::min, ReduceKind::prod,    ReduceKind::l1,
                               ReduceKind::l2,  ReduceKind::log_sum, ReduceKind::sum_square};

void check_reduction(DType type, ReduceKind kind, const Shape& shape, const Ints& axes, const Family& family) {
  const auto axis_count = static_cast<std::int64_t>(axes.size());
  const Graph graph =
      whole::single(Reduce{.kind = kind, .keepdims = false},
                    {whole::computed(type, shape), whole::constant(whole::index_tensor({axis_count}, axes))}, 1);
  const bool is_product = kind == ReduceKind::prod, is_positive = type == DType::u8 || kind == ReduceKind::log_sum;
  const Tensor whole_numbers =
      whole::random_tensor(DType::i32, shape, 1, is_product || is_positive ? 1 : -120, is_product ? 2.9 : 120);
  whole::check(graph, family, {whole_numbers.converted(type)});
}

/// Of whole numbers, whose sums are exact.
TEST(TypedReduce, AgreesWithTheReference) {
  for (const auto& [shape, axes] : {std::pair(Shape{2, 7, 5, 33}, Ints{3}),
                                    {{2, 7, 5, 33}, {1, 2}},
                                    {{3, 70, 300}, {1}},
                                    {{3, 70, 300}, {0, 1, 2}},
                                    {{3, 70, 1}, {1}},
                                    {{1000}, {-1}},
                                    {{4, 1, 6}, {0, 1}}})
    for (const ReduceKind kind : kAll) {
      const bool of_reals = kind == ReduceKind::l2 || kind == ReduceKind::log_sum;
      check_reduction(DType::f64, kind, shape, axes, families::typed_reduce);
      if (of_reals) continue;
      check_reduction(DType::i32, kind, shape, axes, families::typed_reduce);
      check_reduction(DType::i64, kind, shape, axes, families::typed_reduce);
      if (kind != ReduceKind::max && kind != ReduceKind::min) continue;
      check_reduction(DType::u8, kind, shape, axes, families::typed_reduce);
      check_reduction(DType::i8, kind, shape, axes, families::typed_reduce);
      check_reduction(DType::boolean, kind, shape, axes, families::typed_reduce);
    }
}

TEST(TypedReduce, LeavesOthersToTheReference) {
  check_reduction(DType::f64, ReduceKind::sum, {3, 4, 5}, {0, 2}, families::island);
  check_reduction(DType::f64, ReduceKind::log_sum_exp, {3, 4, 5}, {2}, families::island);
  check_reduction(DType::i32, ReduceKind::l2, {3, 4, 5}, {2}, families::island);
}

}  // namespace
}  // namespace colonnade::test
