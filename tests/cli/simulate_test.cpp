// SPDX-License-Identifier: Apache-2.0
// `colonnade simulate` as a process.
#include <gtest/gtest.h>

#include <algorithm>

#include "frontends/cli/files.hpp"
#include "shell.hpp"

namespace colonnade::test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kMachines = std::string(COLONNADE_SOURCE_DIR) + "/bench/machines/";

CliResult good(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"simulate", "embedded:mobilenet"});
  CliResult result = run_cli(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result;
}

void refused(std::vector<std::string> arguments, int status, const std::string& part) {
  arguments.insert(arguments.begin(), {"simulate", "embedded:mobilenet"});
  const CliResult result = run_cli(arguments);
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(SimulateCommand, PrintsARowForEachTeamAndWhatBoundsTheLast) {
  const std::string out = good({"--machine", kMachines + "zen4-2x64.json", "--threads", "1,8,32"}).out;
  EXPECT_NE(out.find("machine  2x64 Zen 4, 128 cores, 2 NUMA nodes, bf16; rates: machine file\n"), std::string::npos);
  for (const char* row :
       {"\n      1  ", "\n      8  ", "\n     32  ", "\n32 threads: most of what is not arithmetic is "})
    EXPECT_NE(out.find(row), std::string::npos) << out;
  EXPECT_NE(out.find("segment  operators  lists"), std::string::npos) << out;
}

TEST(SimulateCommand, WithoutAMachineItIsThisOne) {
  const Json report = Json::parse(good({"--json"}).out);
  const Json machine = Json::parse(run_cli({"machine", "--no-measure", "--json"}).out);
  EXPECT_EQ(report["machine"]["cpu_model"], machine["cpu_model"]);
  EXPECT_EQ(report["runs"].back()["threads"], machine["physical_cores"]);
}

TEST(SimulateCommand, TakesWhatTheMachineCommandPrints) {
  const TemporaryFolder folder;
  cli::write_file(folder.file("this.json"), run_cli({"machine", "--no-measure", "--json"}).out);
  const Json there = Json::parse(good({"--json", "--machine", folder.file("this.json"), "--threads", "1"}).out);
  const Json here = Json::parse(good({"--json", "--threads", "1"}).out);
  EXPECT_EQ(there["runs"], here["runs"]);
}

TEST(SimulateCommand, WritesATrace) {
  const TemporaryFolder folder;
  good({"--machine", kMachines + "graviton4-96.json", "--threads", "4", "--trace", folder.file("trace.json")});
  const std::vector<std::byte> bytes = cli::read_file(folder.file("trace.json"));
  const Json trace = Json::parse(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::vector<double> ends(4);
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    double& end = ends.at(event["tid"].get<std::size_t>());
    EXPECT_GE(event["ts"].get<double>(), end - 0.002);  // nanoseconds are whole
    end = event["ts"].get<double>() + event["dur"].get<double>();
  }
  for (const double end : ends) EXPECT_GT(end, 0);
}

TEST(SimulateCommand, RefusesBadMachinesAndTeams) {
  const TemporaryFolder folder;
  cli::write_file(folder.file("no.json"), "no JSON");
  cli::write_file(folder.file("empty.json"), "{}");
  refused({"--machine", folder.file("absent.json")}, 3, "absent.json");
  refused({"--machine", folder.file("no.json")}, 3, "machine: expected a JSON object");
  refused({"--machine", folder.file("empty.json")}, 3, "machine: cpu_model: expected a name, found nothing");
  refused({"--machine", kMachines + "graviton4-96.json", "--threads", "97"}, 2,
          "threads: expected 1 to 96, the cores of '96 Graviton 4', found 97");
  refused({"--threads", "0"}, 2, "--threads: expected 1 to 4096, found 0");
  refused({"--threads", "1,many"}, 2, "--threads");
}

}  // namespace
}  // namespace colonnade::test
