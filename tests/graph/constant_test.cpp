// SPDX-License-Identifier: Apache-2.0
#include "graph/constant.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace colonnade {
namespace {

/// 0, 1, 2, ... made on demand; `calls` counts.
std::shared_ptr<const Constant> counting(const Shape& shape, std::shared_ptr<int> calls) {
  return std::make_shared<const Constant>(DType::f32, shape, [calls](std::int64_t first, std::span<std::byte> target) {
    ++*calls;
    const std::span values(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float));
    std::iota(values.begin(), values.end(), static_cast<float>(first));
  });
}

TEST(Constant, SmallOnesAreMadeOnceLargeOnesOnDemand) {
  const auto calls = std::make_shared<int>(0);
  const auto small = counting({16, 16}, calls);
  EXPECT_TRUE(small->is_kept());
  EXPECT_EQ(small->tensor()->values<float>()[255], 255.0f);
  EXPECT_EQ(*calls, 1);
  const auto large = counting({100, 100}, calls);
  EXPECT_EQ(*calls, 1);
  {
    const auto held = large->tensor();
    EXPECT_EQ(held, large->tensor());
    EXPECT_EQ(held->values<float>()[9999], 9999.0f);
    EXPECT_EQ(*calls, 2);
  }
  EXPECT_EQ(large->tensor()->shape(), (Shape{100, 100}));
  EXPECT_EQ(*calls, 3);
}

TEST(Constant, RowsComeInOrderInBlocks) {
  const auto calls = std::make_shared<int>(0);
  for (const bool kept : {false, true}) {
    auto constant = counting({1000, 300}, calls);
    if (kept) constant = std::make_shared<const Constant>(constant->tensor());
    std::int64_t next = 0;
    constant->for_each_rows(16, [&](std::span<const float> elements, std::int64_t first) {
      ASSERT_EQ(first, next);
      ASSERT_EQ(first % 16, 0);
      ASSERT_EQ(elements.size() % 300, 0u);
      for (std::size_t i = 0; i < elements.size(); ++i)
        ASSERT_EQ(elements[i], static_cast<float>(first * 300) + static_cast<float>(i));
      next += static_cast<std::int64_t>(elements.size()) / 300;
    });
    EXPECT_EQ(next, 1000);
  }
}

TEST(Constant, ReshapedKeepsElementsAndRefusesOtherCounts) {
  const auto calls = std::make_shared<int>(0);
  const auto flat = reshaped(counting({100, 100}, calls), {10000});
  EXPECT_EQ(*calls, 0);
  float some[2] = {};
  flat->read(5000, std::as_writable_bytes(std::span(some)));
  EXPECT_EQ(some[1], 5001.0f);
  EXPECT_THROW(reshaped(flat, {3}), Error);
  Tensor words(DType::string, {2, 1});
  words.strings() = {"a", "b"};
  EXPECT_EQ(reshaped(std::make_shared<const Constant>(std::move(words)), {2})->tensor()->strings()[1], "b");
}

TEST(Constant, WhatIsMadeOfLargeOnesIsMadeOnceWhileItIsHeld) {
  const auto calls = std::make_shared<int>(0);
  const auto large = counting({100, 100}, calls), small = counting({10, 10}, calls);
  const auto flat = reshaped(large, {10000});
  EXPECT_EQ(reshaped(large, {10000}), flat);
  EXPECT_NE(reshaped(large, {200, 50}), flat);
  EXPECT_NE(reshaped(small, {100}), reshaped(small, {100}));
  int made = 0;
  const auto make_of = [&](std::int64_t size) {
    return [&made, size] {
      ++made;
      return std::make_shared<const Constant>(Tensor(DType::f32, {size}));
    };
  };
  auto held = derived(large, "one", make_of(10000));
  EXPECT_EQ(derived(large, "one", make_of(10000)), held);
  EXPECT_NE(derived(large, "two", make_of(10000)), held);
  EXPECT_EQ(made, 2);
  held.reset();
  derived(large, "one", make_of(10000));
  EXPECT_EQ(made, 3);
  derived(large, "tiny", make_of(1));
  derived(large, "tiny", make_of(1));
  EXPECT_EQ(made, 4) << "tiny ones are kept";
  EXPECT_NE(large->serial(), small->serial());
}

/// What stands between stays as long as what was made of it: the next shape finds the way.
TEST(Constant, WhatIsMadeHoldsOfWhatItWasMade) {
  const auto large = counting({100, 100}, std::make_shared<int>(0));
  int made = 0;
  const auto make = [&] {
    ++made;
    return std::make_shared<const Constant>(Tensor(DType::f32, {10000}));
  };
  const auto end = derived(derived(large, "first", make), "second", make);
  EXPECT_EQ(derived(derived(large, "first", make), "second", make), end);
  EXPECT_EQ(made, 2);
}

TEST(Constant, PartsLieInTheMemoryOfTheirWhole) {
  const auto calls = std::make_shared<int>(0);
  const auto whole = counting({100, 100}, calls);
  const auto part = part_of(whole, 2000, {50, 100}), inner = part_of(part, 100, {45, 100});
  EXPECT_EQ(*calls, 0);
  const auto bytes = whole->bytes(), of_inner = inner->bytes();
  EXPECT_EQ(*calls, 1);
  EXPECT_EQ(of_inner.get(), bytes.get() + 2100 * sizeof(float));
  EXPECT_EQ(inner->tensor()->values<float>()[4499], 6599.0f);
  const auto small = part_of(whole, 9990, {10});
  EXPECT_TRUE(small->is_kept());
  EXPECT_EQ(*reinterpret_cast<const float*>(small->bytes().get()), 9990.0f);
  EXPECT_THROW(part_of(whole, 9990, {11}), Error);
  EXPECT_THROW(part_of(whole, -1, {1}), Error);
}

TEST(Constant, FilledOnesRepeatAnElement) {
  Tensor element(DType::i64, {});
  element.values<std::int64_t>()[0] = -7;
  for (const Shape& shape : {Shape{5}, Shape{300, 100}}) {
    const auto constant = filled(element, shape);
    EXPECT_TRUE(constant->is_uniform());
    EXPECT_EQ(constant->is_kept(), shape.size() == 1);
    EXPECT_EQ(constant->shape(), shape);
    const auto tensor = constant->tensor();
    for (const std::int64_t x : tensor->values<std::int64_t>()) ASSERT_EQ(x, -7);
    std::vector<std::int64_t> part(3);
    constant->read(2, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(part, (std::vector<std::int64_t>{-7, -7, -7}));
  }
  EXPECT_FALSE(Constant(element).is_uniform());
}

}  // namespace
}  // namespace colonnade
