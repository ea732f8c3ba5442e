// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/call.hpp"

namespace colonnade::reference {
namespace {

Tensors in_braces(Tensor one, const Tensor& other) { return {std::move(one), other}; }

TEST(Results, InBracesAreMoved) {
  Tensor one(DType::f32, {1000});
  const Tensor other(DType::f32, {10});
  const void* const memory = one.data();
  const Tensors results = in_braces(std::move(one), other);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].data(), memory);
  EXPECT_NE(results[1].data(), other.data()) << "a copy";
}

}  // namespace
}  // namespace colonnade::reference
