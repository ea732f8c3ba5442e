// SPDX-License-Identifier: Apache-2.0
// The processors that a process is kept to are those it uses.
#include <gtest/gtest.h>
#include <sched.h>

#include <nlohmann/json.hpp>

#include "support/process.hpp"

namespace colonnade::test {
namespace {

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  return processors;
}

nlohmann::json machine_on(const std::string& processors) {
  const ProcessResult result =
      run_process("taskset -c " + processors + " " + shell_word(COLONNADE_CLI) + " machine --json --no-measure");
  EXPECT_EQ(result.status, 0) << result.output;
  return nlohmann::json::parse(result.output, nullptr, false);
}

TEST(Affinity, MachineHasTheProcessorsThatTasksetLeaves) {
  const std::vector<int> all = allowed_processors();
  ASSERT_FALSE(all.empty());
  const auto last = machine_on(std::to_string(all.back()));
  ASSERT_TRUE(last.is_object());
  EXPECT_EQ(last["default_threads"], 1);
  ASSERT_EQ(last["cores"].size(), 1u);
  EXPECT_EQ(last["cores"][0]["os_processor"], all.back());
  EXPECT_LE(machine_on(std::to_string(all.front()) + "," + std::to_string(all.back()))["default_threads"], 2);
}

}  // namespace
}  // namespace colonnade::test
