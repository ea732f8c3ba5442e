// SPDX-License-Identifier: Apache-2.0
// Inside somebody else's process: forks, OpenMP programs, processes that have nothing to do.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/runs.hpp"
#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {
namespace {

using onnx_import::testing::attribute;
using onnx_import::testing::ModelBuilder;

#if defined(COLONNADE_TSAN)
constexpr bool kForks = false;
#else
constexpr bool kForks = true;
#endif

Tensor ramp(Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  float next = 0;
  for (float& x : tensor.values<float>()) x = static_cast<float>(static_cast<int>(next += 7) % 31) * 0.03f;
  return tensor;
}

/// A local response normalisation of volumes, which runs as an island, after an operator that all threads share.
std::string island_model() {
  ModelBuilder model;
  model.input("x", {1, 8, 24, 24, 24}).output("y");
  model.node("Relu", {"x"}, {"a"});
  model.node("LRN", {"a"}, {"y"}, {attribute("size", std::int64_t{3})});
  return model.bytes();
}

struct Case {
  Model model;
  Tensor input;
};

std::vector<Case> cases() {
  Options four;
  four.threads = 4;
  std::vector<Case> cases;
  cases.push_back({Model::embedded("mobilenet", four), ramp({1, 3, 224, 224})});
  cases.push_back({Model::from_bytes(onnx_import::testing::as_bytes(island_model()), four), ramp({1, 8, 24, 24, 24})});
  return cases;
}

bool has_onednn_island(const Model& model) {
  const auto plan = nlohmann::json::parse(model.describe());
  return std::any_of(plan["islands"].begin(), plan["islands"].end(), [](const auto& island) {
    return island["engine"].template get<std::string>().starts_with("onednn");
  });
}

/// Runs `action` in a child; true when it came back with true in time.
bool holds_in_child(const std::function<bool()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    bool holds = false;
    try {
      holds = action();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    _exit(holds ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Fork, SessionsOfTheParentAndNewOnesRunInTheChild) {
  if (!kForks) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  int team = 0;
#pragma omp parallel num_threads(3)
#pragma omp atomic
  ++team;
  ASSERT_EQ(team, 3) << "the program has an OpenMP team of its own";
  for (const Case& item : cases()) {
    Session session(item.model), unused(item.model);
    const Tensor expected = run_one(session, item.input);
    const auto agree = [&] {
      Session fresh(item.model);
      return same_bits(run_one(session, item.input), expected) && same_bits(run_one(unused, item.input), expected) &&
             same_bits(run_one(fresh, item.input), expected);
    };
    EXPECT_TRUE(holds_in_child(agree));
    EXPECT_TRUE(holds_in_child([&] { return agree() && holds_in_child(agree) && agree(); })) << "a child's child";
    EXPECT_TRUE(agree());
  }
}

TEST(Fork, ChildrenOfAProcessInTheMiddleOfRunsAreWell) {
  if (!kForks) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  const Case item = cases().front();
  Session mine(item.model);
  const Tensor expected = run_one(mine, item.input);
  std::atomic<bool> ends{false};
  std::jthread other([&] {
    Session session(item.model);
    while (!ends) run_one(session, item.input);
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(holds_in_child([&] { return same_bits(run_one(mine, item.input), expected); }));
    EXPECT_TRUE(same_bits(run_one(mine, item.input), expected));
  }
  ends = true;
}

TEST(OpenMp, SettingsOfTheProgramStayAsTheyAre) {
  if (!has_onednn_island(cases().back().model)) GTEST_SKIP() << "a build without oneDNN";
  const int before = omp_get_max_threads();
  for (const int threads : {3, 1, 7}) {
    omp_set_num_threads(threads);
    const int levels = omp_get_max_active_levels(), dynamic = omp_get_dynamic();
    for (const Case& item : cases()) {
      Session session(item.model);
      run_one(session, item.input);
    }
    EXPECT_EQ(omp_get_max_threads(), threads);
    EXPECT_EQ(omp_get_max_active_levels(), levels);
    EXPECT_EQ(omp_get_dynamic(), dynamic);
    std::jthread([&] { EXPECT_EQ(omp_get_max_threads(), before); });
  }
  omp_set_num_threads(before);
}

TEST(OpenMp, RunsWithinAParallelRegionAgree) {
  for (const Case& item : cases()) {
    Session first(item.model);
    const Tensor expected = run_one(first, item.input);
    int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    {
      Session session(item.model);
      for (int i = 0; i < 3; ++i) wrong += same_bits(run_one(session, item.input), expected) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Idle, ProcessesWithoutRunsTakeNoProcessor) {
  const auto cpu_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  // In a process of its own: what other tests leave running is none of this.
  if (!kForks) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  EXPECT_TRUE(holds_in_child([&] {
    for (const Case& item : cases()) {
      Session session(item.model);
      for (int i = 0; i < 3; ++i) run_one(session, item.input);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const double used = cpu_seconds() - before;
    if (used >= 0.005) std::fprintf(stderr, "child: %g s of processor time in an idle second\n", used);
    return used < 0.005;
  }));
}

}  // namespace
}  // namespace colonnade::test
