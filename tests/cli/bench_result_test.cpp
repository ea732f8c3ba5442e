// SPDX-License-Identifier: Apache-2.0
// What a benchmark says of what it measured.
#include "frontends/cli/bench_result.hpp"

#include <gtest/gtest.h>

namespace colonnade::test {
namespace {

using cli::BenchResult;
using cli::Json;

/// A network of a product, 60 % of the time, and two islands, of 35 % and 5 %.
BenchResult result_of(double peak_gflops) {
  BenchResult result;
  result.model = "net.onnx";
  result.machine = Json::object();
  result.description = Json::parse(R"({"flop": 2e9, "schedule": "automatic", "segments": [], "islands": [
      {"node": "mix", "op": "Einsum", "engine": "reference", "reason": "no kernel"},
      {"node": "small", "op": "Det", "engine": "reference", "reason": "no kernel"}]})");
  result.profile = Json::parse(R"({"segments": [], "operators": [
      {"node": "product", "op": "MatMul", "segment": 0, "ms": 6.0, "calls": 1},
      {"node": "mix", "op": "Einsum", "segment": 1, "ms": 3.5, "calls": 1},
      {"node": "small", "op": "Det", "segment": 2, "ms": 0.5, "calls": 1}]})");
  result.latencies_ms = {10};
  result.elapsed_ms = 10;
  result.peak_gflops = peak_gflops;
  return result;
}

TEST(BenchResult, WarnsOfIslandsThatTakeLong) {
  const std::string text = cli::to_text(result_of(400), false);
  EXPECT_NE(
      text.find(
          "warning: 'mix' (Einsum) takes 35 % of the time, an island that the slow reference implementation runs"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("warning: 'small'"), std::string::npos) << text;
  EXPECT_EQ(text.find("warning: 'product'"), std::string::npos) << text;
  const Json slow = cli::to_json(result_of(400))["slow_islands"];
  ASSERT_EQ(slow.size(), 1u);
  EXPECT_EQ(slow[0]["node"], "mix");
  EXPECT_EQ(slow[0]["engine"], "reference");
  EXPECT_DOUBLE_EQ(slow[0]["share"].get<double>(), 0.35);
}

TEST(BenchResult, ExplainsMoreThanThePeak) {
  EXPECT_EQ(cli::to_text(result_of(400), false).find("above 100 %"), std::string::npos);
  const std::string text = cli::to_text(result_of(160), false);
  EXPECT_NE(text.find("125.0 % of the FMA peak (160 GFLOP/s)"), std::string::npos) << text;
  EXPECT_NE(text.find("above 100 %: a convolution counts as direct"), std::string::npos) << text;
}

}  // namespace
}  // namespace colonnade::test
