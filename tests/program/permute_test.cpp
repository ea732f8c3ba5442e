// SPDX-License-Identifier: Apache-2.0
// Axes in another order, of every size of elements: matrices that are transposed, rows that are copied.
#include "families/permute.hpp"

#include "families/table.hpp"
#include "program/whole.hpp"

namespace colonnade::test {
namespace {

using whole::check;
using whole::computed;

constexpr DType kSizes[] = {DType::u8, DType::f16, DType::f32, DType::i64};

struct Case {
  Shape shape;
  Ints order;
};

TEST(Permute, TransposesWhatLiesSideBySide) {
  const Case cases[] = {{{40, 70}, {1, 0}},
                        {{1000, 3}, {1, 0}},
                        {{3, 1000}, {}},
                        {{2, 3, 4, 5, 6}, {4, 3, 2, 1, 0}},
                        {{64, 64, 64}, {2, 1, 0}},
                        {{1, 6, 6, 16, 16, 3}, {0, 5, 1, 3, 2, 4}},
                        {{3, 6, 5, 6, 16}, {1, 2, 0, 4, 3}},
                        {{4, 8, 4, 8, 4, 8}, {1, 0, 3, 2, 5, 4}},
                        {{7, 9, 11, 2, 13}, {3, 0, 4, 2, 1}},
                        {{1, 2, 4, 5, 2, 2, 2, 16}, {0, 7, 1, 4, 2, 5, 3, 6}},
                        {{2, 1031, 2, 16}, {0, 3, 2, 1}},
                        {{2, 17, 2, 600}, {2, 3, 1, 0}},
                        {{2, 3, 4, 5}, {2, 0, 3, 1}},
                        {{3, 41, 533}, {2, 1, 0}},
                        {{8, 16, 12, 3, 2, 2, 1}, {3, 0, 4, 1, 5, 2, 6}}};
  for (const DType dtype : kSizes)
    for (const auto& [shape, order] : cases) check(Transpose{order}, {computed(dtype, shape)}, families::permute);
}

TEST(Permute, TakesShortRowsForElements) {
  check(Transpose{{1, 0, 2}}, {computed(DType::u8, {30, 50, 16})}, families::permute);
  check(Transpose{{1, 0, 2}}, {computed(DType::f32, {30, 50, 4})}, families::permute);
  check(Transpose{{1, 0, 2}}, {computed(DType::f32, {30, 50, 3})}, families::typed);
  check(Transpose{{1, 0, 2}}, {computed(DType::f32, {30, 50, 8})}, families::typed);
}

TEST(Permute, LeavesSmallMatricesToRows) {
  check(Transpose{{0, 2, 1}}, {computed(DType::f32, {500, 3, 4})}, families::typed);
  check(Transpose{{0, 2, 1}}, {computed(DType::f32, {500, 4, 8})}, families::permute);
}

TEST(Permute, MovesBlocksOfPixels) {
  for (const DType dtype : kSizes) {
    for (const bool crd : {false, true}) {
      check(DepthToSpace{2, crd, 1}, {computed(dtype, {2, 12, 31, 33})}, families::permute);
    }
    for (const std::int64_t block : {2, 4})
      check(SpaceToDepth{block, 1}, {computed(dtype, {2, 3, 60, 68})}, families::permute);
  }
}

}  // namespace
}  // namespace colonnade::test
