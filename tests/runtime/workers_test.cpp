// SPDX-License-Identifier: Apache-2.0
// Workers: everyone called once, never more than the machine has, asleep without work, fine without threads.
#include "runtime/workers.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "allocations.hpp"
#include "runtime/barrier.hpp"
#include "support/execute.hpp"
#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

/// Sixteen cores in two nodes, of which `limit` may be used. This machine has fewer: that workers cannot be kept to
/// their processors must not matter.
Topology machine_of(int limit) {
  Topology topology = fixed_topology("server-16");
  topology.cpu_quota = limit;
  return topology;
}

TEST(Workers, CallEachThreadOnce) {
  Workers workers(machine_of(6));
  EXPECT_EQ(workers.limit(), 6);
  for (const int most : {1, 2, 6, 6, 9, 3}) {
    std::array<std::atomic<int>, 16> calls{};
    std::atomic<int> wrong{0};
    workers.run(most, [&](int thread, int threads) {
      calls[static_cast<std::size_t>(thread)].fetch_add(1);
      if (threads != std::min(most, 6)) wrong.fetch_add(1);
    });
    EXPECT_EQ(wrong.load(), 0);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)].load(), i < std::min(most, 6) ? 1 : 0);
  }
}

TEST(Workers, CallerIsThreadZeroAndKeepsItsOwn) {
  Workers workers(machine_of(3));
  const auto me = std::this_thread::get_id();
  std::array<std::thread::id, 3> first, second;
  const auto ids = [&](std::array<std::thread::id, 3>& into) {
    workers.run(3, [&](int thread, int) { into[static_cast<std::size_t>(thread)] = std::this_thread::get_id(); });
  };
  ids(first);
  ids(second);
  EXPECT_EQ(first[0], me);
  EXPECT_EQ(first, second) << "a thread keeps its part of the work, which its cache holds";
}

TEST(Workers, BriefRunsLeaveSleepersUntilTheyFollowEachOther) {
  Workers workers(machine_of(2));
  const auto threads_of_run = [&](Workers::Sleepers sleepers) {
    int found = 0;
    workers.run(
        2,
        [&](int thread, int threads) {
          if (thread == 0) found = threads;
        },
        sleepers);
    return found;
  };
  EXPECT_EQ(threads_of_run(Workers::Sleepers::leave), 1) << "no worker has started";
  EXPECT_EQ(threads_of_run(Workers::Sleepers::wake), 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(threads_of_run(Workers::Sleepers::leave), 1) << "it sleeps";
  int most = 0;
  for (int run = 0; run < 1000; ++run) most = std::max(most, threads_of_run(Workers::Sleepers::leave));
  EXPECT_EQ(most, 2);
}

TEST(Workers, LeaveTheProcessorOfTheirCaller) {
  Workers& workers = Workers::process();
  cpu_set_t before, mine;
  CPU_ZERO(&before);
  sched_getaffinity(0, sizeof before, &before);
  const int here = sched_getcpu();
  if (workers.limit() < 2 || CPU_COUNT(&before) < 2) GTEST_SKIP() << "needs two processors";
  CPU_ZERO(&mine);
  CPU_SET(static_cast<std::size_t>(here), &mine);
  sched_setaffinity(0, sizeof mine, &mine);
  int helper = -1;
  workers.run(2, [&](int thread, int) {
    if (thread == 1) helper = sched_setaffinity(0, sizeof mine, &mine);
  });
  EXPECT_EQ(helper, 0);
  workers.run(2, [&](int thread, int) {
    if (thread == 1) helper = sched_getcpu();
  });
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_NE(helper, here) << "both would take turns while another processor idles";
}

TEST(Workers, AreSharedAndNeverMoreThanTheLimit) {
  Workers workers(machine_of(4));
  int inner = 0, after = 0;
  const auto nested = [&](int outer_most, int inner_most) {
    workers.run(outer_most, [&](int thread, int) {
      if (thread == 0)
        workers.run(inner_most, [&](int mine, int n) {
          if (mine == 0) inner = n;
        });
    });
    return inner;
  };
  EXPECT_EQ(nested(3, 4), 1) << "a caller with two workers, another caller: nobody is left";
  EXPECT_EQ(nested(2, 4), 2) << "a caller with a worker, another caller: one is left";
  EXPECT_EQ(nested(1, 4), 2) << "two are left, but each caller has a share of two";
  workers.run(4, [&](int thread, int n) {
    if (thread == 0) after = n;
  });
  EXPECT_EQ(after, 4);
}

TEST(Workers, ServeManyCallers) {
  constexpr int kCallers = 6, kRuns = 400;
  Workers workers(machine_of(4));
  std::atomic<int> wrong{0};
  std::vector<std::jthread> callers;
  for (int caller = 0; caller < kCallers; ++caller)
    callers.emplace_back([&, caller] {
      Barrier barrier;
      std::array<std::int64_t, 4> written{};
      for (std::int64_t run = 1; run <= kRuns; ++run)
        workers.run(1 + (caller + static_cast<int>(run)) % 4, [&](int thread, int threads) {
          written[static_cast<std::size_t>(thread)] = run;
          barrier.wait(thread, threads);
          for (int other = 0; other < threads; ++other)
            if (written[static_cast<std::size_t>(other)] != run) wrong.fetch_add(1);
        });
    });
  callers.clear();
  EXPECT_EQ(wrong.load(), 0);
  workers.run(4, [&](int, int threads) { wrong.fetch_add(threads == 4 ? 0 : 1); });
  EXPECT_EQ(wrong.load(), 0) << "all are idle again";
}

/// Of two fast cores and two slow ones, on paper, which share a real processor each: who helps is known by where it may
/// run.
TEST(Workers, OfFastCoresComeFirst) {
  if (processors_of_process().size() < 2) GTEST_SKIP() << "needs two processors";
  const int fast = processors_of_process()[0], slow = processors_of_process()[1];
  Topology topology = fixed_topology("server-16");
  topology.cores = {{.os_processor = fast}, {.os_processor = fast}, {.os_processor = slow}, {.os_processor = slow}};
  topology.cores[2].speed = topology.cores[3].speed = 0.5;
  topology.core_of.assign(static_cast<std::size_t>(std::max(fast, slow)) + 1, -1);
  topology.core_of[static_cast<std::size_t>(fast)] = 0;
  topology.core_of[static_cast<std::size_t>(slow)] = 2;
  Workers workers(topology);
  std::jthread([&] {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(static_cast<std::size_t>(slow), &mine);
    ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
    std::atomic<int> helper{-1};
    workers.run(2, [&](int thread, int) {
      if (thread > 0) helper = sched_getcpu();
    });
    EXPECT_EQ(helper.load(), fast) << "the caller's own neighbours are slow";
  }).join();
}

TEST(Workers, PreferTheCallersDomain) {
  Topology topology = fixed_topology("server-16");
  topology.cores.resize(4);
  topology.core_of = {0, 1, 2, 3};
  for (int i = 0; i < 4; ++i)
    topology.cores[static_cast<std::size_t>(i)] = {.os_processor = i, .numa_node = i / 2, .l3_domain = i / 2};
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  for (int i = 0; i < 4; ++i)
    if (!CPU_ISSET(i, &all)) GTEST_SKIP() << "needs processors 0 to 3";
  Workers workers(topology);
  for (const int processor : {2, 0, 3, 1}) {
    std::jthread([&] {
      cpu_set_t mine;
      CPU_ZERO(&mine);
      CPU_SET(processor, &mine);
      ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
      EXPECT_EQ(workers.node_of_caller(), processor / 2);
      cpu_set_t found;
      CPU_ZERO(&found);
      workers.run(2, [&](int thread, int) {
        if (thread == 1) sched_getaffinity(0, sizeof found, &found);
      });
      // It may have left the caller's own processor.
      for (int i = 0; i < 4; ++i) {
        if (i == processor) continue;
        EXPECT_EQ(CPU_ISSET(i, &found) != 0, i / 2 == processor / 2) << i;
      }
    });
  }
}

TEST(Workers, LeaveSignalsToTheThreadsOfTheProgram) {
  Workers workers(machine_of(2));
  sigset_t mine, before, after;
  sigemptyset(&mine);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  workers.run(2, [&](int thread, int) {
    if (thread == 1) pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  });
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_TRUE(sigismember(&mine, SIGTERM) && sigismember(&mine, SIGPROF));
  EXPECT_FALSE(sigismember(&mine, SIGSEGV)) << "who reports crashes wants this one";
  EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(Workers, SleepWithoutWork) {
  Workers workers(machine_of(4));
  for (int i = 0; i < 100; ++i) workers.run(4, [](int, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_LT(cpu_seconds() - before, 0.005);
  int threads = 0;
  workers.run(4, [&](int thread, int n) {
    if (thread == 0) threads = n;
  });
  EXPECT_EQ(threads, 4) << "and wake up";
}

/// Runs `action` in a child; true when it came back with true in time.
template <class Action>
bool holds_in_child(const Action& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // ends a child that hangs
    _exit(action() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#if defined(COLONNADE_TSAN)
constexpr bool kForks = false;
#else
constexpr bool kForks = true;
#endif

TEST(Workers, AreMadeAnewInAForkedChild) {
  if (!kForks) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  const auto threads = [] {
    int found = 0;
    Workers::process().run(64, [&](int thread, int n) {
      if (thread == 0) found = n;
    });
    return found;
  };
  const int here = threads();
  EXPECT_EQ(here, Workers::process().limit());
  EXPECT_TRUE(holds_in_child([&] { return threads() == here && threads() == here; }));
  EXPECT_EQ(threads(), here);
}

TEST(Workers, AreNoMoreThanTheAffinityOfTheProcessAllows) {
  if (!kForks) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  cpu_set_t all;
  CPU_ZERO(&all);
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int last = 0;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &all)) last = i;
  const auto keep_to_last = [last] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  };
  const int here = Workers::process().limit();
  EXPECT_TRUE(holds_in_child([&] {
    int found = 0;
    if (!keep_to_last()) return false;
    Workers::process().run(4, [&](int, int threads) { found += threads; });
    return found == 1 && Workers::process().limit() == 1;
  })) << "a process that is kept to one processor";
  EXPECT_TRUE(holds_in_child([&] {
    bool holds = false;
    std::jthread([&] { holds = keep_to_last() && Workers::process().limit() == here; }).join();
    return holds;
  })) << "a thread that keeps itself to one processor says nothing about the others";
}

TEST(Workers, DoWithoutThreadsThatTheSystemDoesNotGive) {
  if (!kForks) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  EXPECT_TRUE(holds_in_child([] {
    if (getuid() == 0 && setuid(65534) != 0) return false;  // root has as many threads as it likes
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) return false;
    Workers workers(machine_of(4));
    int calls = 0;
    for (int i = 0; i < 3; ++i) workers.run(4, [&](int, int threads) { calls += threads; });
    return calls == 3;
  }));
}

TEST(Workers, GiveTheSameBitsHoweverManyThereAre) {
  std::vector<Graph> graphs;
  graphs.push_back(six_layers(48, 32, 16));
  graphs.push_back(inverted_residual(28, 28));
  graphs.push_back(pooling_net());
  graphs.push_back(residual_stage(5));
  for (const Graph& graph : graphs) {
    const std::vector<Tensor> inputs = random_inputs(graph, 13);
    for (const Schedule schedule : {Schedule::columns, Schedule::layers}) {
      const std::vector<Tensor> expected = run(graph, {schedule, Math::fast, 1, 0}, kernels::usable_features(), inputs);
      for (const int lists : {2, 3, 5}) {
        const auto program =
            program_of(graph, {schedule, Math::fast, lists, 0}, kernels::usable_features(), "server-16");
        for (int threads = 1; threads <= lists; ++threads) {
          Workers workers(machine_of(threads));
          Executor executor(program, nullptr, &workers);
          for (int i = 0; i < 3; ++i)
            EXPECT_TRUE(same_bits(run(executor, inputs), expected))
                << graph.name << ": " << threads << " threads run " << lists << " lists";
        }
      }
    }
  }
}

TEST(Workers, AllocateNothingOnceStarted) {
  Workers workers(machine_of(4));
  workers.run(4, [](int, int) {});
  const std::int64_t before = allocations();
  for (int i = 0; i < 10; ++i) workers.run(4, [](int, int) {});
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace colonnade::test
