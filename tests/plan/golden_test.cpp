// SPDX-License-Identifier: Apache-2.0
// Whole plans as text, on machines that never change. COLONNADE_UPDATE_GOLDEN=1 writes the files anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plan/plan.hpp"
#include "support/known_networks.hpp"
#include "support/typed_networks.hpp"

namespace colonnade::test {
namespace {

struct GoldenCase {
  std::string file;
  Graph (*make)();
};

std::ostream& operator<<(std::ostream& out, const GoldenCase& golden) { return out << golden.file; }

std::string plans_of(const Graph& graph) {
  std::string text;
  for (const char* name : {"zen4-2", "emerald-2", "tiny-1", "server-16"}) {
    const Topology topology = fixed_topology(name);
    PlanOptions options;
    options.threads = topology.default_threads();
    const Plan plan = make_plan(graph, topology, options);
    verify(plan, graph);
    text += "# " + std::string(name) + "\n" + to_text(plan, graph);
  }
  return text;
}

class Golden : public testing::TestWithParam<GoldenCase> {};

TEST_P(Golden, PlansAreAsRecorded) {
  const std::string path = std::string(COLONNADE_SOURCE_DIR) + "/tests/plan/golden/" + GetParam().file + ".txt";
  const std::string found = plans_of(GetParam().make());
  if (std::getenv("COLONNADE_UPDATE_GOLDEN")) {
    std::ofstream(path) << found;
    return;
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing: run with COLONNADE_UPDATE_GOLDEN=1";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(found, expected.str()) << "if the change is meant, run with COLONNADE_UPDATE_GOLDEN=1";
}

const GoldenCase kCases[] = {
    {"six_layers_1080p", [] { return six_layers(1080, 1920, 16); }},
    {"inverted_residual_56", [] { return inverted_residual(56, 56); }},
    {"inverted_residual_180x320", [] { return inverted_residual(180, 320); }},
    {"residual_stage", [] { return residual_stage(); }},
    {"residual_stage_batch4", [] { return residual_stage(4); }},
    {"dense_block", dense_block},
    {"encoder_decoder", encoder_decoder},
    {"strided_pyramid", strided_pyramid},
    {"pooling", pooling_net},
    {"bf16_and_bytes", [] { return bf16_and_bytes(120, 160); }},
};

INSTANTIATE_TEST_SUITE_P(Networks, Golden, testing::ValuesIn(kCases), [](const auto& test) { return test.param.file; });

}  // namespace
}  // namespace colonnade::test
