// SPDX-License-Identifier: Apache-2.0
// The rates file: what is written is read, what is not ours is not.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "colonnade/colonnade.hpp"
#include "topology/topology.hpp"

namespace colonnade {
namespace {

namespace fs = std::filesystem;

class RatesFile : public testing::Test {
 protected:
  RatesFile() : folder_(fs::path(testing::TempDir()) / ("colonnade_rates_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~RatesFile() override {
    unsetenv("COLONNADE_RATES");
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name = "rates.json") const { return (folder_ / name).string(); }
  static std::string text_of(const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static void put(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

  fs::path folder_;
};

TEST_F(RatesFile, IsReadAsWritten) {
  Rates rates = fixed_topology("zen4-2").rates;
  rates.step_us = 0.123456789012345;
  rates.near_hop_us = 0.03;
  rates.speeds = {{0.5, 0.43210987654321}};
  write_rates(path("a/b/rates.json"), "key", rates);
  const auto found = read_rates(path("a/b/rates.json"), "key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->source, path("a/b/rates.json"));
  rates.source = found->source;
  EXPECT_EQ(*found, rates);
}

TEST(Rates, ABarrierOfManyPassesLinesWithinAndBetweenCaches) {
  Rates rates;
  rates.total_threads = 32;
  rates.barrier_us = 1.2;
  EXPECT_DOUBLE_EQ(rates.hop_us(), 0.1) << "eight of a group, and four groups";
  EXPECT_DOUBLE_EQ(rates.barrier_us_of(32), 1.2);
  EXPECT_DOUBLE_EQ(rates.barrier_us_of(2), 0.2);
  rates.near_hop_us = 0.03;
  EXPECT_DOUBLE_EQ(rates.hop_us(), (1.2 - 8 * 0.03) / 4);
  EXPECT_DOUBLE_EQ(rates.barrier_us_of(32), 1.2);
  EXPECT_DOUBLE_EQ(rates.barrier_us_of(8), 0.24);
  EXPECT_DOUBLE_EQ(rates.barrier_us_of(16), 8 * 0.03 + 2 * 0.24);
}

TEST_F(RatesFile, OfAnotherMachineIsIgnored) {
  write_rates(path(), "one machine", fixed_topology("zen4-2").rates);
  EXPECT_FALSE(read_rates(path(), "another machine"));
  EXPECT_FALSE(read_rates(path("absent.json"), "one machine"));
  EXPECT_FALSE(read_rates("", "one machine"));
}

TEST_F(RatesFile, DamagedIsIgnored) {
  write_rates(path(), "key", fixed_topology("zen4-2").rates);
  const std::string good = text_of(path());
  for (std::size_t length = 0; length + 2 < good.size(); length += 7) {
    put(path("cut.json"), good.substr(0, length));
    EXPECT_FALSE(read_rates(path("cut.json"), "key")) << length;
  }
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    put(path("changed.json"), text);
    return read_rates(path("changed.json"), "key");
  };
  EXPECT_FALSE(replaced("\"fma_gflops\": 113.0", "\"fma_gflops\": 0"));
  EXPECT_FALSE(replaced("\"fma_gflops\": 113.0", "\"fma_gflops\": \"fast\""));
  EXPECT_FALSE(replaced("\"winograd\"", "\"something\""));
  EXPECT_TRUE(replaced("\"fma_gflops\": 113.0", "\"fma_gflops\": 114.0"));
  put(path("list.json"), "[1, 2]");
  EXPECT_FALSE(read_rates(path("list.json"), "key"));
}

TEST_F(RatesFile, NamesTheFileThatCannotBeWritten) {
  put(path("file"), "");
  try {
    write_rates(path("file/rates.json"), "key", fixed_topology("zen4-2").rates);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_NE(std::string(error.what()).find("file/rates.json"), std::string::npos);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "a draft is left";
}

TEST_F(RatesFile, MakesTheTopologyOfThisMachine) {
  setenv("COLONNADE_RATES", path().c_str(), 1);
  EXPECT_EQ(detect_topology().rates.source, "defaults");
  Rates rates = fixed_topology("emerald-2").rates;
  write_rates(path(), machine_key(detect_topology()), rates);
  const Topology topology = detect_topology();
  rates.source = path();
  EXPECT_EQ(topology.rates, rates);
  EXPECT_NE(detect_topology("baseline").rates.source, path()) << "the tier is part of the key";
}

TEST_F(RatesFile, LiesInTheCacheFolder) {
  setenv("COLONNADE_RATES", "/some/where.json", 1);
  const Topology topology = fixed_topology("zen4-2");
  EXPECT_EQ(rates_path(topology), "/some/where.json");
  unsetenv("COLONNADE_RATES");
  const char* home = std::getenv("HOME");
  const std::string kept_home = home == nullptr ? "" : home;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const std::string kept_cache = cache == nullptr ? "" : cache;
  setenv("HOME", "/home/someone", 1);
  unsetenv("XDG_CACHE_HOME");
  const std::string path = rates_path(topology);
  EXPECT_TRUE(path.starts_with("/home/someone/.cache/colonnade/machine-")) << path;
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_TRUE(rates_path(topology).starts_with("/cache/colonnade/machine-"));
  EXPECT_NE(rates_path(topology), rates_path(fixed_topology("emerald-2")));
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(rates_path(topology), "");
  if (home != nullptr) setenv("HOME", kept_home.c_str(), 1);
  if (cache != nullptr) setenv("XDG_CACHE_HOME", kept_cache.c_str(), 1);
}

TEST(WorkRates, FollowOneOverDepth) {
  Rates rates;
  rates.work[static_cast<std::size_t>(Work::contraction)] = {{10, 50}, {40, 100}};
  const auto seconds = [&](double depth) { return rates.seconds(Work::contraction, 1e9, depth); };
  EXPECT_DOUBLE_EQ(seconds(10), 1 / 50.0);
  EXPECT_DOUBLE_EQ(seconds(40), 1 / 100.0);
  EXPECT_DOUBLE_EQ(seconds(20), (1 / 50.0 + 2 / 100.0) / 3) << "one over depth lies a third from the deeper end";
  EXPECT_DOUBLE_EQ(seconds(400), 1 / 100.0);
  EXPECT_DOUBLE_EQ(seconds(5), 2 / 50.0);
  EXPECT_EQ(rates.seconds(Work::pool, 1e9, 9), 0) << "nothing is known of it";
}

TEST(WorkRates, EveryMachineOnPaperHasThemAll) {
  for (const char* name : {"zen4-2", "emerald-2", "tiny-1", "server-16"})
    for (std::size_t kind = 0; kind < kWorkKinds; ++kind)
      EXPECT_FALSE(fixed_topology(name).rates.work[kind].empty()) << name << ' ' << name_of(static_cast<Work>(kind));
}

}  // namespace
}  // namespace colonnade
