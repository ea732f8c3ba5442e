// SPDX-License-Identifier: Apache-2.0
#include "api/numa.hpp"

#include <gtest/gtest.h>

#include "colonnade/colonnade.hpp"
#include "colonnade/numa.hpp"

namespace colonnade::test {
namespace {

using Kind = NumaPolicy::Kind;

std::string refused(const std::string& numa, const Workers* workers) {
  try {
    numa_policy(numa, 0, workers);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NumaPolicy, IsWhatTheWordSays) {
  const Workers workers(fixed_topology("server-16"));
  const NumaPolicy copies = numa_policy("replicate", 0, &workers);
  EXPECT_EQ(copies.text(), "replicate");
  EXPECT_EQ(copies.copies(), 2u);
  EXPECT_EQ(copies.cores, 8);
  EXPECT_EQ(copies.home(1), 1);
  EXPECT_EQ(copies.weights_node(1), 1);
  EXPECT_EQ(copies.weights_at(1), NumaNodes{1});

  const NumaPolicy shared = numa_policy("interleave", 0, &workers);
  EXPECT_EQ(shared.weights_node(1), 0);
  EXPECT_EQ(shared.weights_at(0), (NumaNodes{0, 1}));
  EXPECT_EQ(shared.home(1), 1);

  const NumaPolicy one = numa_policy("node=1", 0, &workers);
  EXPECT_EQ(one.text(), "node=1");
  EXPECT_EQ(one.home(0), 1);
  EXPECT_EQ(one.weights_at(one.weights_node(1)), NumaNodes{1});

  const NumaPolicy off = numa_policy("off", 0, &workers);
  EXPECT_EQ(off.home(1), Workers::kAnyNode);
  EXPECT_EQ(off.weights_at(0), NumaNodes{});
  EXPECT_EQ(off.cores, 0);
}

TEST(NumaPolicy, CopiesWeightsWhereThereIsMemory) {
  const Workers workers(fixed_topology("server-16"));
  EXPECT_EQ(numa_policy("", 1, &workers).text(), "replicate");
  if (free_memory_of_node(0) == 0) GTEST_SKIP() << "nothing says how much memory is free";
  const NumaPolicy large = numa_policy("", std::int64_t{1} << 50, &workers);
  EXPECT_EQ(large.text(), "interleave");
  EXPECT_EQ(large.reason, "node 0 has no memory for a copy of the weights");
}

TEST(NumaPolicy, NamesWhatItExpects) {
  const Workers workers(fixed_topology("server-16"));
  EXPECT_EQ(refused("copy", &workers), "numa: expected replicate, interleave, node=N or off, found 'copy'");
  EXPECT_EQ(refused("node=7", &workers), "numa: expected node=0 or node=1, found 'node=7'");
  EXPECT_EQ(refused("node=", &workers), "numa: expected node=0 or node=1, found 'node='");
  EXPECT_EQ(refused("node=1x", &workers), "numa: expected node=0 or node=1, found 'node=1x'");
}

TEST(NumaPolicy, AsksNothingOfOneNode) {
  for (const char* numa : {"", "off", "replicate", "interleave", "node=0"}) {
    const NumaPolicy policy = numa_policy(numa, 0, nullptr);
    EXPECT_EQ(policy.kind, Kind::off) << numa;
    EXPECT_EQ(policy.cores, 0) << numa;
  }
  EXPECT_EQ(refused("node=1", nullptr), "numa: expected node=0, found 'node=1'");
}

TEST(NumaPolicy, IsChecked) {
  Options options;
  options.numa = "everywhere";
  EXPECT_THROW(Model::embedded("digits", options), Error);
  EXPECT_THROW(stay_on_node("everywhere"), Error);
  EXPECT_GE(current_node(), 0);
}

}  // namespace
}  // namespace colonnade::test
