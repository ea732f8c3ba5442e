// SPDX-License-Identifier: Apache-2.0
// Networks on the machines of bench/machines. COLONNADE_UPDATE_GOLDEN=1 writes the files anew.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "colonnade/colonnade.hpp"
#include "colonnade/simulate.hpp"
#include "topology/machine_file.hpp"

namespace colonnade::test {
namespace {

using Json = nlohmann::json;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string machine_file(const std::string& name) {
  return text_of(std::string(COLONNADE_SOURCE_DIR) + "/bench/machines/" + name + ".json");
}

std::string simulated(const std::string& network, const std::string& machine) {
  SimulateOptions options;
  options.machine = machine_file(machine);
  const auto cores = static_cast<int>(parse_machine(options.machine).cores.size());
  options.threads = cores > 32 ? std::vector<int>{1, 8, 32, cores} : std::vector<int>{1, 8, cores};
  const Json report = Json::parse(simulate(Model::embedded(network), {}, options).report);
  std::string text = "# " + network + "\n";
  for (const Json& run : report["runs"]) {
    text += fmt::format("{} threads, team {}: {:.3g} ms, speed-up {:.3g}", run["threads"].get<int>(),
                        run["team"].get<int>(), run["ms"].get<double>(), run["speedup"].get<double>());
    for (const auto& [name, share] : run["share"].items())
      text += fmt::format(", {} {:.2f}", name, share.get<double>());
    text += fmt::format("; {} segments\n", run["segments"].size());
  }
  return text;
}

class GoldenSimulation : public testing::TestWithParam<const char*> {};

TEST_P(GoldenSimulation, IsAsRecorded) {
  const std::string path = std::string(COLONNADE_SOURCE_DIR) + "/tests/simulate/golden/" + GetParam() + ".txt";
  std::string found;
  for (const char* network : {"mobilenet", "unet", "digits"}) found += simulated(network, GetParam());
  if (std::getenv("COLONNADE_UPDATE_GOLDEN")) {
    std::ofstream(path) << found;
    return;
  }
  EXPECT_EQ(found, text_of(path)) << "if the change is meant, run with COLONNADE_UPDATE_GOLDEN=1";
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenSimulation,
                         testing::Values("zen4-2x64", "sapphire-rapids-2x56", "graviton4-96", "raptor-lake-8p8e"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST(MachineFile, WhatTheLibraryDescribesIsOne) {
  const Topology topology = parse_machine(describe_machine(false));
  const Topology here = detect_topology();
  EXPECT_EQ(topology.cores, here.cores);
  EXPECT_EQ(topology.caches, here.caches);
  EXPECT_EQ(topology.rates.work, here.rates.work);
  EXPECT_EQ(topology.rates.fma_gflops, here.rates.fma_gflops);
  EXPECT_EQ(topology.rates.step_us, here.rates.step_us);
}

TEST(MachineFile, CountedCoresLieBelowCachesAndOnNodes) {
  const Topology topology = parse_machine(machine_file("zen4-2x64"));
  ASSERT_EQ(topology.cores.size(), 128U);
  EXPECT_EQ(topology.cores[63].numa_node, 0);
  EXPECT_EQ(topology.cores[64].numa_node, 1);
  EXPECT_EQ(topology.cores[63].l3_domain, 7);
  EXPECT_EQ(topology.cores[127].l3_domain, 15);
  EXPECT_EQ(topology.distance(0, 1), 32);
  EXPECT_EQ(topology.cores_of_node(), 64);
  EXPECT_EQ(topology.cache_bytes(3), 4 << 20);
}

/// The message that a change of a good file brings.
std::string refusal(const std::string& pointer, const Json& value) {
  Json machine = Json::parse(machine_file("zen4-2x64"));
  if (value.is_null())
    machine.erase(pointer.substr(1));
  else
    machine[Json::json_pointer(pointer)] = value;
  try {
    parse_machine(machine.dump());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

TEST(MachineFile, BadOnesAreRefused) {
  EXPECT_EQ(refusal("/about", "nothing that is read"), "");
  EXPECT_EQ(refusal("/cores", 0), "machine: cores: expected a whole number of 1 to 4096, found 0");
  EXPECT_EQ(refusal("/cores", "many"), "machine: cores: expected a count or a list of them, found \"many\"");
  EXPECT_EQ(refusal("/cores", 1e9), "machine: cores: expected a whole number of 1 to 4096, found 1000000000.0");
  EXPECT_EQ(refusal("/cores", {{{"numa_node", 0}}}),
            "machine: cores: os_processor: expected a whole number of 0 to 32768, found nothing");
  EXPECT_EQ(refusal("/cores", {{{"os_processor", 0}, {"speed", 2}}}),
            "machine: cores: speed: expected a number above 0, at most 1, found 2");
  EXPECT_EQ(refusal("/isa", "abacus"),
            "machine: isa: expected a tier, as `colonnade machine` names it, found \"abacus\"");
  EXPECT_EQ(refusal("/cpu_model", {}), "machine: cpu_model: expected a name, found nothing");
  EXPECT_EQ(refusal("/caches", Json::array()), "machine: caches: expected a list, found []");
  EXPECT_EQ(refusal("/caches/1/level", 1),
            "machine: caches: level: expected rising ones, found {\"bytes\":1048576,\"level\":1}");
  EXPECT_EQ(refusal("/caches/0/bytes", -1),
            "machine: caches: bytes: expected a whole number of 1 to 1125899906842624, found -1");
  EXPECT_EQ(refusal("/nodes", {1, 2, 3}), "machine: nodes: expected a list of 2, as cores say, found [1,2,3]");
  EXPECT_EQ(refusal("/nodes/0/distances", {10}), "machine: nodes: distances: expected one to each node, found [10]");
  EXPECT_EQ(refusal("/rates", {}), "machine: rates: expected an object, found nothing");
  EXPECT_EQ(refusal("/rates/dram_gbs", 0), "machine: rates: dram_gbs: expected a number above zero, found 0");
  EXPECT_EQ(refusal("/rates/work", {{"winograd", {{4, 1}, {4, 2}}}}),
            "machine: rates: work: winograd: expected pairs of rising depth and speed, found [4,2]");
  EXPECT_THROW(parse_machine("no JSON"), Error);
  EXPECT_THROW(parse_machine("[]"), Error);
}

}  // namespace
}  // namespace colonnade::test
