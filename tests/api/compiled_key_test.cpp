// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "api/compiled_content.hpp"

namespace colonnade {
namespace {

/// What a plan asks of a machine, part by part; how much memory there is may change.
TEST(CompiledKeys, SayWhatOfTheMachineDiffers) {
  const Topology machine = fixed_topology("emerald-2");
  const auto found = [&](const auto& change) {
    Topology other = machine;
    change(other);
    return difference(compiled_key({}, machine, 1).machine, compiled_key({}, other, 1).machine);
  };
  EXPECT_EQ(found([](Topology& other) {
              other.memory_bytes /= 2;
              other.nodes.front().memory_bytes += 4096;
              other.rates.source = "elsewhere";
            }),
            "");
  EXPECT_EQ(found([](Topology& other) { other.cores.pop_back(); }), "processors");
  EXPECT_EQ(found([](Topology& other) { other.caches.front().bytes /= 2; }), "caches");
  EXPECT_EQ(found([](Topology& other) { other.nodes.front().number = 1; }), "NUMA nodes");
  EXPECT_EQ(found([](Topology& other) { other.cpu_quota = 1.5, other.rates.l3_gbs *= 2; }), "quota, rates");
}

}  // namespace
}  // namespace colonnade
