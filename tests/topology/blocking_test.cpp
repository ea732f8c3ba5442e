// SPDX-License-Identifier: Apache-2.0
// Which class of machine a machine is of.
#include "topology/blocking.hpp"

#include <gtest/gtest.h>

#include <set>

#include "colonnade/colonnade.hpp"

namespace colonnade {
namespace {

TEST(Blocking, FollowsFromCachesAndRates) {
  EXPECT_EQ(blocking_of(fixed_topology("zen4-2")).name, "1m-near");
  EXPECT_EQ(blocking_of(fixed_topology("zen5-2")).name, "1m-near");
  EXPECT_EQ(blocking_of(fixed_topology("emerald-2")).name, "2m-far");
  EXPECT_EQ(blocking_of(fixed_topology("server-16")).name, "2m-far");
  EXPECT_EQ(blocking_of(fixed_topology("tiny-1")).name, "512k-far");
}

/// What is measured anew differs a little: bits must not.
TEST(Blocking, IsTheSameWhereRatesAreAboutTheSame) {
  for (const char* name : {"zen4-2", "zen5-2", "emerald-2", "server-16", "tiny-1"}) {
    Topology topology = fixed_topology(name);
    const Blocking& usual = blocking_of(topology);
    for (const double share : {0.75, 1.3}) {
      topology.rates = fixed_topology(name).rates;
      topology.rates.l3_gbs *= share;
      EXPECT_EQ(blocking_of(topology), usual) << name << " " << share;
      topology.rates.l3_gbs /= share;
      topology.rates.fma_gflops *= share;
      EXPECT_EQ(blocking_of(topology), usual) << name << " " << share;
    }
  }
}

TEST(Blocking, IsWhatWasAskedFor) {
  Topology topology = fixed_topology("zen4-2");
  std::set<std::string_view> names;
  for (const Blocking& blocking : blockings()) {
    topology.blocking = blocking.name;
    EXPECT_EQ(&blocking_of(topology), &blocking);
    names.insert(blocking.name);
  }
  EXPECT_EQ(names.size(), blockings().size());
  topology.blocking = "3m";
  try {
    blocking_of(topology);
    FAIL() << "no class '3m'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    const std::string text = error.what();
    for (const char* part : {"'3m'", "2m-far", "this machine is of 1m-near"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace colonnade
