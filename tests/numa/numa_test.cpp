// SPDX-License-Identifier: Apache-2.0
// On a machine of several nodes (tests/numa/machine.sh emulates one): where pages of weights, arenas and rings lie, and
// where the threads are that read and write them.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "api/impl.hpp"
#include "api/runner.hpp"
#include "colonnade/colonnade.hpp"

namespace colonnade::test {
namespace {

constexpr double kNear = 0.95;

std::vector<NumaNode> nodes() { return Workers::process().nodes(); }

#define NEEDS_NODES() \
  if (nodes().size() < 2) GTEST_SKIP() << "this machine has one node; ./dev numa emulates others"

/// Pages that are in memory, by node.
class Pages {
 public:
  void count(const void* memory, std::size_t bytes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGE_SIZE));
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(memory) / page * page;
    std::vector<void*> pages;
    for (std::uintptr_t at = begin; at < reinterpret_cast<std::uintptr_t>(memory) + bytes; at += page)
      pages.push_back(reinterpret_cast<void*>(at));
    std::vector<int> found(pages.size(), -1);
    ASSERT_EQ(syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, found.data(), 0), 0);
    for (const int node : found)
      if (node >= 0) ++by_node_[node];
  }
  int all() const {
    int sum = 0;
    for (const auto& item : by_node_) sum += item.second;
    return sum;
  }
  double share(int node) const {
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? 0 : static_cast<double>(found->second) / std::max(1, all());
  }

 private:
  std::map<int, int> by_node_;
};

Pages pages_of(std::span<const PackedWeights> weights) {
  Pages pages;
  for (const PackedWeights& held : weights) pages.count(held.floats.get(), held.bytes);
  return pages;
}

Options with(const std::string& numa, int threads = 0) {
  Options options;
  options.numa = numa;
  options.threads = threads;
  options.duel = false;
  return options;
}

Tensor picture() {
  Tensor tensor(DType::f32, {1, 3, 224, 224});
  float* const values = static_cast<float*>(tensor.data());
  for (std::int64_t i = 0; i < tensor.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  return tensor;
}

/// A session's inner part, used by a thread on a node.
struct Used {
  std::unique_ptr<Runner> runner;
  Tensor output;
  int threads = 0;
};

Used used_on(const Model& model, int node) {
  Used used;
  std::jthread([&] {
    Workers::process().keep_caller_on(node);
    used.runner = std::make_unique<Runner>(model.impl());
    const RunOptions options;
    const RunControl control(options);
    const Tensor input = picture();
    const TensorView view(input);
    for (int run = 0; run < 2; ++run) {
      const auto entry = used.runner->use(model.impl()->optimized, {&view, 1}, control);
      const Program& program = *entry->prepared->program;
      used.threads = program.threads;
      used.output = Tensor(program.output_types[0], program.output_shapes[0]);
      const MutableTensorView output(used.output);
      used.runner->run(*entry, {&view, 1}, {&output, 1}, control);
    }
  });
  return used;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.byte_size() == b.byte_size() && std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

/// By one thread that takes no notice of nodes.
const Tensor& expected() {
  static const Tensor output = used_on(Model::embedded("mobilenet", with("off", 1)), nodes().front().number).output;
  return output;
}

TEST(Numa, IsKnown) {
  NEEDS_NODES();
  for (const NumaNode& node : nodes()) {
    EXPECT_GT(node.memory_bytes, 0);
    ASSERT_EQ(node.distances.size(), nodes().size());
    EXPECT_GT(Workers::process().cores_of(node.number), 0);
  }
  EXPECT_EQ(nodes().front().distances.front(), 10);
  EXPECT_EQ(nodes().front().distances.back(), 21) << "as tests/numa/machine.sh says";
  EXPECT_EQ(Model::embedded("digits").impl()->numa.text(), "replicate") << "there is memory for it";
  EXPECT_THROW(Model::embedded("digits", with("node=77")), Error);
}

TEST(Numa, SessionsReadAndWriteMemoryOfTheirNode) {
  NEEDS_NODES();
  const Tensor& wanted = expected();
  const Model model = Model::embedded("mobilenet", with(""));
  std::vector<Used> sessions;
  for (const NumaNode& node : nodes()) sessions.push_back(used_on(model, node.number));
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    const int node = nodes()[i].number;
    const Pages weights = pages_of(model.impl()->weights.of_node(node).held());
    EXPECT_GT(weights.all(), 2000);
    EXPECT_GE(weights.share(node), kNear) << "weights of node " << node;
    Pages arena;
    arena.count(sessions[i].runner->arena().data(), sessions[i].runner->arena().bytes());
    EXPECT_GT(arena.all(), 20);
    EXPECT_GE(arena.share(node), kNear) << "arena of node " << node;
    EXPECT_LE(sessions[i].threads, Workers::process().cores_of(node));
    EXPECT_TRUE(same_bytes(sessions[i].output, wanted)) << "on node " << node;
    std::printf("node %d: %.2f %% of %d pages of weights, %.2f %% of %d of the arena\n", node,
                100 * weights.share(node), weights.all(), 100 * arena.share(node), arena.all());
  }
}

TEST(Numa, ASessionFollowsItsCaller) {
  NEEDS_NODES();
  const int first = nodes().front().number, last = nodes().back().number;
  const Model model = Model::embedded("digits", with("replicate"));
  Runner runner(model.impl());
  const auto arena_share = [&](int node) {
    Pages pages;
    pages.count(runner.arena().data(), runner.arena().bytes());
    return pages.share(node);
  };
  std::jthread([&] {
    const RunOptions options;
    const RunControl control(options);
    const Tensor input(DType::f32, {1, 1, 28, 28});
    const TensorView view(input);
    const auto run = [&](int times) {
      for (int i = 0; i < times; ++i) {
        const auto entry = runner.use(model.impl()->optimized, {&view, 1}, control);
        Tensor made(entry->prepared->program->output_types[0], entry->prepared->program->output_shapes[0]);
        const MutableTensorView output(made);
        runner.run(*entry, {&view, 1}, {&output, 1}, control);
      }
    };
    Workers::process().keep_caller_on(first);
    run(2);
    EXPECT_GE(arena_share(first), kNear);
    Workers::process().keep_caller_on(last);
    run(2);
    EXPECT_GE(arena_share(first), kNear) << "it may go back soon";
    run(20);
    EXPECT_GE(arena_share(last), kNear);
  });
}

TEST(Numa, TeamsStayOnTheirNode) {
  NEEDS_NODES();
  Workers& workers = Workers::process();
  for (const NumaNode& node : nodes()) {
    std::jthread([&] {
      workers.keep_caller_on(node.number);
      std::mutex mutex;
      std::set<int> found;
      int most = 0;
      for (int run = 0; run < 20; ++run)
        workers.run(
            workers.limit(),
            [&](int, int threads) {
              const std::lock_guard lock(mutex);
              found.insert(workers.node_of_caller());
              most = std::max(most, threads);
            },
            Workers::Sleepers::wake, node.number);
      EXPECT_EQ(found, std::set<int>{node.number});
      EXPECT_EQ(most, workers.cores_of(node.number));
    });
  }
}

TEST(Numa, TheWholeMachineHasAThreadACore) {
  NEEDS_NODES();
  Workers& workers = Workers::process();
  std::mutex mutex;
  std::map<int, int> threads_of;
  std::jthread([&] {
    workers.keep_caller_on(nodes().back().number);
    workers.run(workers.limit(), [&](int, int) {
      const std::lock_guard lock(mutex);
      ++threads_of[workers.node_of_caller()];
    });
  });
  for (const NumaNode& node : nodes()) EXPECT_EQ(threads_of[node.number], workers.cores_of(node.number));
}

TEST(Numa, WeightsLieAsThePolicySays) {
  NEEDS_NODES();
  const Tensor& wanted = expected();
  const int last = nodes().back().number;

  const Model everywhere = Model::embedded("mobilenet", with("interleave"));
  Used keeps = used_on(everywhere, last);
  EXPECT_TRUE(same_bytes(keeps.output, wanted));
  const Pages shared = pages_of(everywhere.impl()->weights.held());
  for (const NumaNode& node : nodes())
    EXPECT_GE(shared.share(node.number), 0.4 / static_cast<double>(nodes().size())) << "by large pages";

  const Model one = Model::embedded("mobilenet", with("node=" + std::to_string(last)));
  keeps = used_on(one, last);
  EXPECT_TRUE(same_bytes(keeps.output, wanted));
  EXPECT_GE(pages_of(one.impl()->weights.held()).share(last), kNear);
  Pages arena;
  arena.count(keeps.runner->arena().data(), keeps.runner->arena().bytes());
  EXPECT_GE(arena.share(last), kNear);
}

TEST(Numa, ATeamOfSeveralNodesReadsACopyOnEach) {
  NEEDS_NODES();
  const Model model = Model::embedded("mobilenet", with("replicate"));
  const int all = Workers::process().limit();
  auto impl = std::const_pointer_cast<Model::Impl>(model.impl());
  const PlanKey key{impl->optimized, {Shape{1, 3, 224, 224}}, {}, nodes().front().number, all};
  // The same plan as for a machine without nodes: for all its threads.
  Prepared prepared;
  static_cast<PlanKey&>(prepared) = key;
  auto bound = bound_graph(*impl->optimized, key.shapes, {}, Math::fast);
  prepared.graph = std::move(bound.graph);
  prepared.plan = make_plan(prepared.graph, impl->topology, {Schedule::automatic, Math::fast, all, 0});
  ASSERT_GT(prepared.plan.threads, impl->numa.cores) << "it is for several nodes";
  impl->compile_for(prepared);
  ASSERT_EQ(prepared.elsewhere.size() + 1, nodes().size());
  for (const NumaNode& node : nodes())
    EXPECT_GE(pages_of(impl->weights.of_node(node.number).held()).share(node.number), kNear);

  Executor executor(prepared.program);
  executor.set_elsewhere(prepared.elsewhere);
  const Tensor input = picture();
  Tensor output(prepared.program->output_types[0], prepared.program->output_shapes[0]);
  const void* const in[] = {input.data()};
  void* const out[] = {output.data()};
  for (int run = 0; run < 3; ++run) executor.run(in, out);
  EXPECT_TRUE(same_bytes(output, expected()));
}

}  // namespace
}  // namespace colonnade::test
