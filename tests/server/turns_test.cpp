// SPDX-License-Identifier: Apache-2.0
// Every order in which a few requests, threads and a clock can act: from each state that can be reached, every next
// event is tried.
#include <unordered_set>

#include "turns_world.hpp"

namespace colonnade::serve {
namespace {

/// Goes through all states that can be reached, each once.
class Search {
 public:
  explicit Search(const Setting& setting) : setting_(setting) {}

  std::size_t run() {
    explore();
    return seen_.size();
  }

 private:
  void explore() {
    World world(setting_);
    for (const Event& event : path_) world.apply(event);
    if (!seen_.insert(world.key()).second) return;
    world.check();
    const std::vector<Event> events = world.events();
    if (!::testing::Test::HasFatalFailure()) world.end_well();
    if (::testing::Test::HasFatalFailure()) return tell();
    for (const Event& event : events) {
      path_.push_back(event);
      explore();
      path_.pop_back();
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

  void tell() const {
    static constexpr const char* kNames[] = {"arrive",   "leave",  "worker", "bringer",
                                             "gives up", "finish", "clock",  "tick"};
    std::string text;
    for (const Event& event : path_) text += std::string(" ") + kNames[event.kind] + std::to_string(event.which);
    ADD_FAILURE() << "after" << text;
  }

  const Setting& setting_;
  std::vector<Event> path_;
  std::unordered_set<std::string> seen_;
};

QueuePolicy batches(std::int64_t largest, std::vector<std::int64_t> preferred, milliseconds delay, int instances = 1) {
  QueuePolicy policy;
  policy.largest_batch = largest;
  policy.preferred = std::move(preferred);
  policy.delay = delay;
  policy.instances = instances;
  return policy;
}

void expect_nobody_is_forgotten(const Setting& setting, std::size_t least_states) {
  const std::size_t states = Search(setting).run();
  ::testing::Test::RecordProperty("states", static_cast<int>(states));
  EXPECT_GE(states, least_states);
}

TEST(Turns, ModelsWithoutBatches) {
  expect_nobody_is_forgotten(
      {.lines = {batches(1, {}, milliseconds(0))}, .visitors = {{}, {.timeout = kTick}, {.may_leave = true}}}, 15000);
}

TEST(Turns, BatchesThatWaitForOthers) {
  expect_nobody_is_forgotten(
      {.lines = {batches(4, {}, 2 * kTick)}, .visitors = {{}, {}, {.timeout = kTick}, {.may_leave = true}}}, 45000);
}

TEST(Turns, PreferredSizesLeaveSomeBehind) {
  expect_nobody_is_forgotten({.lines = {batches(8, {4, 8}, 3 * kTick)}, .visitors = {{}, {}, {}, {.may_leave = true}}},
                             17000);
}

TEST(Turns, SizesThatDoNotAddUp) {
  expect_nobody_is_forgotten({.lines = {batches(6, {3, 6}, 2 * kTick, 2)},
                              .visitors = {{.samples = 2}, {.samples = 5}, {}, {.timeout = kTick}},
                              .streams = 2},
                             60000);
}

TEST(Turns, PrioritiesAndTimeOuts) {
  QueuePolicy policy = batches(4, {2}, 2 * kTick);
  policy.levels.resize(2);
  policy.levels[1].delay = true;
  expect_nobody_is_forgotten({.lines = {policy},
                              .visitors = {{.priority = 1},
                                           {.priority = 2, .timeout = kTick},
                                           {.priority = 2},
                                           {.priority = 1, .may_leave = true}}},
                             80000);
}

TEST(Turns, SeveralInstances) {
  expect_nobody_is_forgotten({.lines = {batches(2, {}, kTick, 2)},
                              .visitors = {{}, {}, {.timeout = kTick}, {.may_leave = true}},
                              .streams = 3,
                              .ticks = 2},
                             130000);
}

TEST(Turns, TwoModels) {
  expect_nobody_is_forgotten({.lines = {batches(4, {2, 4}, 2 * kTick), batches(1, {}, milliseconds(0), 2)},
                              .visitors = {{.line = 0}, {.line = 0, .may_leave = true}, {.line = 1}, {.line = 1}},
                              .ticks = 2},
                             27000);
}

TEST(Turns, BriefRunsByThoseWhoBringThem) {
  expect_nobody_is_forgotten({.lines = {batches(4, {2}, kTick, 2)},
                              .visitors = {{}, {}, {.may_leave = true}, {.timeout = kTick}},
                              .streams = 2,
                              .ticks = 1,
                              .brief = true},
                             20000);
}

}  // namespace
}  // namespace colonnade::serve
