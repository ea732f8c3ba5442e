// SPDX-License-Identifier: Apache-2.0
// Containers found by nodes or by values: what must not compile does not.
#include <gtest/gtest.h>

#include <cstdint>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "graph/indices.hpp"

namespace colonnade::test {
namespace {

enum class OtherIndex : std::int32_t {};

template <typename Container, typename Index>
constexpr bool found_by = requires(Container container, Index index) {
  container[index];
};

static_assert(found_by<ByNode<int>, NodeIndex>);
static_assert(found_by<ByValue<int>, ValueId>);
static_assert(!found_by<ByNode<int>, ValueId>, "a value is no node");
static_assert(!found_by<ByValue<int>, NodeIndex>, "a node is no value");
static_assert(!found_by<ByNode<int>, OtherIndex>);

TEST(Indexed, IndicesRunBothWays) {
  const auto numbers = ByNode<int>{{10, 20, 30}};
  std::vector<int> down, up;
  for (const NodeIndex i : numbers.indices()) up.push_back(numbers[i]);
  for (const NodeIndex i : numbers.indices().reversed()) down.push_back(numbers[i]);
  EXPECT_EQ(up, (std::vector<int>{10, 20, 30}));
  EXPECT_EQ(down, (std::vector<int>{30, 20, 10}));
  for (const NodeIndex i : ByNode<int>{}.indices().reversed()) FAIL() << static_cast<int>(i);
}

TEST(Indexed, KnowsTheIndexOfWhatIsAddedNext) {
  auto numbers = ByNode<int>::of(2, 7);
  const NodeIndex next = numbers.next_index();
  numbers.push_back(8);
  EXPECT_EQ(numbers[next], 8);
  EXPECT_EQ(numbers[NodeIndex{1}], 7);
}

TEST(Numbers, WhatStepsCannotCountIsRefused) {
  EXPECT_EQ(to_int32(std::int64_t{2147483647}), 2147483647);
  EXPECT_THROW(to_int32(std::int64_t{2147483648}), Error);
  EXPECT_THROW(to_int32(std::int64_t{-2147483649}), Error);
}

}  // namespace
}  // namespace colonnade::test
