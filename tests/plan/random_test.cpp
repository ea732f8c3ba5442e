// SPDX-License-Identifier: Apache-2.0
// Plans of random networks read only rows that are there, and stay within memory limits.
#include <gtest/gtest.h>

#include <charconv>

#include "plan/arena.hpp"
#include "plan/plan.hpp"
#include "support/random_network.hpp"

namespace colonnade::test {
namespace {

constexpr const char* kTopologies[] = {"zen4-2", "emerald-2", "tiny-1", "server-16"};

class RandomPlans : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomPlans, Verify) {
  for (std::uint32_t seed = GetParam() * 25; seed < GetParam() * 25 + 25; ++seed) {
    const Graph graph = random_network(seed);
    for (const char* topology : kTopologies)
      for (const Schedule schedule : {Schedule::columns, Schedule::layers, Schedule::automatic})
        for (const int threads : {1, 2, 3, 5, 16}) {
          SCOPED_TRACE(graph.name + " on " + topology + ", schedule " + std::to_string(static_cast<int>(schedule)) +
                       ", threads " + std::to_string(threads));
          const Plan plan = make_plan(graph, fixed_topology(topology), {schedule, Math::fast, threads, 0});
          EXPECT_NO_THROW(verify(plan, graph)) << to_text(graph) << to_text(plan, graph);
          for (const SegmentPlan& segment : plan.segments) EXPECT_LE(static_cast<int>(segment.steps.size()), threads);
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPlans, testing::Range(0u, 8u));

/// The limit that a refusal asks for: the number before "bytes are needed".
std::int64_t asked_for(const std::string& message) {
  const std::string before = "at least ";
  const std::size_t begin = message.find(before);
  std::int64_t bytes = -1;
  if (begin != std::string::npos)
    std::from_chars(message.data() + begin + before.size(), message.data() + message.size(), bytes);
  return bytes;
}

TEST(MemoryLimit, IsHonouredOrRefusedWithTheSmallestThatWouldDo) {
  int refusals = 0;
  for (std::uint32_t seed = 1000; seed < 1080; ++seed) {
    const Graph graph = random_network(seed);
    const int threads = 1 + static_cast<int>(seed % 3);
    const Topology topology = fixed_topology(kTopologies[seed % 4]);
    const std::int64_t free_bytes =
        make_plan(graph, topology, {Schedule::automatic, Math::fast, threads, 0}).arena_bytes;
    for (const std::int64_t limit : {free_bytes, free_bytes / 2, free_bytes / 8, std::int64_t{1}}) {
      if (limit == 0) continue;
      SCOPED_TRACE(graph.name + " within " + std::to_string(limit) + " of " + std::to_string(free_bytes));
      PlanOptions options{Schedule::automatic, Math::fast, threads, limit};
      try {
        const Plan plan = make_plan(graph, topology, options);
        EXPECT_LE(plan.arena_bytes, limit);
        EXPECT_NO_THROW(verify(plan, graph));
      } catch (const Error& error) {
        ++refusals;
        EXPECT_EQ(error.code(), ErrorCode::resource_limit) << error.what();
        options.memory_limit_bytes = asked_for(error.what());
        ASSERT_GT(options.memory_limit_bytes, limit) << error.what();
        const Plan plan = make_plan(graph, topology, options);
        EXPECT_EQ(plan.arena_bytes, options.memory_limit_bytes);
        EXPECT_NO_THROW(verify(plan, graph));
      }
    }
  }
  EXPECT_GT(refusals, 40);
}

TEST(Arena, BlocksThatLiveTogetherNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Block> blocks(1 + random() % 40);
    std::int64_t total = 0, largest = 0;
    for (Block& block : blocks) {
      block.bytes = 1 + static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 100000u : 300u));
      block.first = static_cast<std::int32_t>(random() % 20);
      block.last = block.first + static_cast<std::int32_t>(random() % 6);
      total += (block.bytes + 63) / 64 * 64;
      largest = std::max(largest, block.bytes);
    }
    const std::int64_t size = place_blocks(blocks);
    EXPECT_LE(size, total);
    EXPECT_GE(size, largest);
    for (std::size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_EQ(blocks[a].offset % 64, 0);
      EXPECT_LE(blocks[a].offset + blocks[a].bytes, size);
      for (std::size_t b = 0; b < a; ++b) {
        const bool together = blocks[a].first <= blocks[b].last && blocks[b].first <= blocks[a].last;
        const bool apart = blocks[a].offset + blocks[a].bytes <= blocks[b].offset ||
                           blocks[b].offset + blocks[b].bytes <= blocks[a].offset;
        EXPECT_TRUE(!together || apart) << "round " << round << ": blocks " << a << " and " << b;
      }
    }
  }
}

TEST(Arena, HoldsNothingForNoBlocks) {
  std::vector<Block> none;
  EXPECT_EQ(place_blocks(none), 0);
}

}  // namespace
}  // namespace colonnade::test
