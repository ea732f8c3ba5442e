// SPDX-License-Identifier: Apache-2.0
#include "api/spares.hpp"

#include <gtest/gtest.h>

namespace colonnade::test {
namespace {

TEST(Spares, AreWhatNobodyHolds) {
  Spares spares;
  auto first = spares.take(DType::f32, {2, 3}), second = spares.take(DType::f32, {2, 3});
  ASSERT_NE(first, second);
  const Tensor* const memory = first.get();
  first.reset();
  EXPECT_EQ(spares.take(DType::f32, {2, 3}).get(), memory);
  EXPECT_NE(spares.take(DType::f32, {2, 3}).get(), second.get());
}

TEST(Spares, HaveTheTypeAndShapeAskedFor) {
  Spares spares;
  for (const DType dtype : {DType::f32, DType::i64})
    for (const Shape& shape : {Shape{4}, Shape{2, 2}, Shape{}}) {
      const auto tensor = spares.take(dtype, shape);
      EXPECT_EQ(tensor->dtype(), dtype);
      EXPECT_EQ(tensor->shape(), shape);
    }
}

TEST(Spares, OfOldShapesGo) {
  Spares spares;
  std::weak_ptr<Tensor> old = spares.take(DType::f32, {8});
  EXPECT_FALSE(old.expired());
  spares.take(DType::f32, {9});
  EXPECT_TRUE(old.expired());
}

TEST(Spares, AreFew) {
  Spares spares;
  std::vector<std::shared_ptr<Tensor>> held;
  for (int i = 0; i < 100; ++i) held.push_back(spares.take(DType::f32, {1}));
  const std::weak_ptr<Tensor> oldest = held.front();
  held.clear();
  EXPECT_TRUE(oldest.expired());
}

}  // namespace
}  // namespace colonnade::test
