// SPDX-License-Identifier: Apache-2.0
// The executor: no allocation in a run, failures that leave it usable, barriers under stress, the same bits always.
#include "runtime/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "allocations.hpp"
#include "support/execute.hpp"
#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

/// An executor with tensors bound to it, so that a run is nothing but Executor::run.
struct Bound {
  Bound(const Graph& graph, const PlanOptions& options)
      : executor(program_of(graph, options, kernels::usable_features())), tensors(random_inputs(graph, 7)) {
    const Program& program = executor.program();
    for (const Tensor& input : tensors) in.push_back(input.data());
    for (std::size_t i = 0; i < program.output_shapes.size(); ++i)
      results.emplace_back(program.output_types[i], program.output_shapes[i]);
    for (Tensor& output : results) out.push_back(output.data());
  }
  void run() { executor.run(in, out); }

  Executor executor;
  std::vector<Tensor> tensors, results;
  std::vector<const void*> in;
  std::vector<void*> out;
};

std::vector<Graph> small_networks() {
  std::vector<Graph> graphs;
  graphs.push_back(six_layers(24, 20, 16));
  graphs.push_back(inverted_residual(28, 28));
  graphs.push_back(pooling_net());
  graphs.push_back(residual_stage(2));
  return graphs;
}

TEST(Executor, CountsAllocationsOfThisProcess) {
#if defined(COLONNADE_TSAN)
  GTEST_SKIP() << "operator new is the sanitizer's";
#endif
  const std::int64_t before = allocations();
  const std::vector<int> block(10);
  EXPECT_EQ(allocations(), before + 1) << block.size();
}

TEST(Executor, AllocatesNothingAfterTheFirstRun) {
  for (const Graph& graph : small_networks())
    for (const Schedule schedule : {Schedule::automatic, Schedule::columns, Schedule::layers})
      for (const int threads : {1, 2}) {
        Bound bound(graph, {schedule, Math::fast, threads, 0});
        ASSERT_TRUE(bound.executor.program().islands.empty()) << graph.name;
        bound.run();
        const std::int64_t before = allocations();
        for (int i = 0; i < 3; ++i) bound.run();
        EXPECT_EQ(allocations(), before) << graph.name << ", threads " << threads;
      }
}

/// relu(table) -> Gather by an index given at run time -> relu.
Graph gather_graph() {
  Network net("gather");
  const ValueId table = net.input({4, 8});
  const ValueId index = net.input({3}, DType::i64);
  return net.finish(net.relu(net.node(Gather{0}, {net.relu(table), index})));
}

std::vector<Tensor> gather_inputs(const Graph& graph, std::int64_t last) {
  std::vector<Tensor> inputs = random_inputs(graph, 3);
  const auto index = inputs[1].values<std::int64_t>();
  index[0] = 2;
  index[1] = 0;
  index[2] = last;
  return inputs;
}

TEST(Executor, NamesTheOperatorThatFailsAndRunsAgain) {
  const Graph graph = gather_graph();
  for (const int threads : {1, 2, 3}) {
    Executor executor(program_of(graph, {Schedule::automatic, Math::fast, threads, 0}, kernels::usable_features()));
    const std::vector<Tensor> good = gather_inputs(graph, 3);
    const std::vector<Tensor> expected = run(executor, good);
    const auto table = good[0].values<float>(), row = expected[0].values<float>().subspan(16, 8);
    for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], std::max(0.0f, table[24 + i]));
    for (int round = 0; round < 3; ++round) {
      try {
        run(executor, gather_inputs(graph, 4));
        ADD_FAILURE() << "an index out of range went through, threads " << threads;
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(graph.nodes[1].name), std::string::npos) << error.what();
      }
      EXPECT_TRUE(same_bits(run(executor, good), expected)) << "threads " << threads << ", round " << round;
    }
  }
}

TEST(Executor, FailsInTheMiddleOfSharedSegmentsAndRunsAgain) {
  Network net("gather between bands");
  ValueId x = net.input({1, 24, 16, 8});
  const ValueId index = net.input({16}, DType::i64);
  for (int i = 0; i < 3; ++i) x = net.conv(x, 8, {.activation = UnaryKind::relu});
  x = net.node(Gather{2}, {x, index});
  for (int i = 0; i < 3; ++i) x = net.conv(x, 8, {.activation = UnaryKind::relu});
  const Graph graph = net.finish(x);
  for (const int threads : {1, 2, 4}) {
    Executor executor(program_of(graph, {Schedule::columns, Math::fast, threads, 0}, kernels::usable_features()));
    std::vector<Tensor> inputs = random_inputs(graph, 5);
    const std::vector<Tensor> expected = run(executor, inputs);
    for (int round = 0; round < 20; ++round) {
      inputs[1].values<std::int64_t>()[5] = 16 + round;
      EXPECT_THROW(run(executor, inputs), Error);
      inputs[1].values<std::int64_t>()[5] = 0;
      ASSERT_TRUE(same_bits(run(executor, inputs), expected)) << "threads " << threads << ", round " << round;
    }
  }
}

TEST(Executor, CountsSubnormalsAsZeroWhileItRuns) {
  Network net("subnormal");
  const ValueId a = net.input({1, 4, 4, 8});
  const ValueId b = net.input({1, 4, 4, 8});
  const Graph graph = net.finish(net.node(Binary{BinaryKind::mul}, {a, b}));
  std::vector<Tensor> inputs = random_inputs(graph, 1);
  for (Tensor& input : inputs)
    for (float& x : input.values<float>()) x = 1e-20f;
  volatile float tiny = 1e-20f;
  for (const int threads : {1, 2}) {
    const std::vector<Tensor> outputs =
        run(graph, {Schedule::layers, Math::fast, threads, 0}, kernels::usable_features(), inputs);
    for (const float y : outputs[0].values<float>()) EXPECT_EQ(y, 0.0f);
    EXPECT_NE(tiny * tiny, 0.0f) << "the caller's mode is gone";
  }
}

TEST(Executor, UnderflowsGraduallyInDoubles) {
  Network net("subnormal");
  const ValueId a = net.input({4, 8}, DType::f64);
  const ValueId b = net.input({4, 8}, DType::f64);
  const Graph graph = net.finish(net.node(Binary{BinaryKind::add}, {a, b}));
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2; ++i) {
    inputs.emplace_back(DType::f64, Shape{4, 8});
    std::ranges::fill(inputs.back().values<double>(), 7e-310);
  }
  for (const int threads : {1, 2}) {
    const std::vector<Tensor> outputs =
        run(graph, {Schedule::layers, Math::fast, threads, 0}, kernels::usable_features(), inputs);
    for (const double y : outputs[0].values<double>()) EXPECT_EQ(y, 2 * 7e-310);
  }
}

TEST(Executor, UnderflowsGraduallyWhereMathIsExact) {
  Network net("subnormal");
  const ValueId a = net.input({1, 4, 4, 8});
  const ValueId b = net.input({1, 4, 4, 8});
  const Graph graph = net.finish(net.node(Binary{BinaryKind::mul}, {a, b}));
  std::vector<Tensor> inputs = random_inputs(graph, 1);
  for (Tensor& input : inputs)
    for (float& x : input.values<float>()) x = 1e-20f;
  volatile float tiny = 1e-20f;
  const float expected = tiny * tiny;
  ASSERT_NE(expected, 0.0f);
  for (const int threads : {1, 2}) {
    const std::vector<Tensor> outputs =
        run(graph, {Schedule::layers, Math::exact, threads, 0}, kernels::usable_features(), inputs);
    for (const float y : outputs[0].values<float>()) EXPECT_EQ(y, expected);
  }
}

TEST(Executor, KeepsTinySegmentsInOrder) {
  constexpr int kRuns = 2000, kCrowdedRuns = 500;
  const Graph graph = six_layers(6, 4, 4);
  const std::vector<Tensor> inputs = random_inputs(graph, 11);
  const std::vector<Tensor> expected =
      run(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features(), inputs);
  for (const Schedule schedule : {Schedule::layers, Schedule::columns})
    for (const int threads : {2, 3, 4}) {
      Executor executor(program_of(graph, {schedule, Math::fast, threads, 0}, kernels::usable_features(), "server-16"));
      for (int i = 0; i < (threads == 2 ? kRuns : kCrowdedRuns); ++i)
        ASSERT_TRUE(same_bits(run(executor, inputs), expected)) << "threads " << threads << ", run " << i;
    }
}

bool shares(const Graph& graph, const PlanOptions& options, const char* machine, Sharing sharing) {
  const Plan plan = make_plan(graph, fixed_topology(machine), options);
  return std::any_of(plan.segments.begin(), plan.segments.end(),
                     [&](const SegmentPlan& segment) { return segment.sharing == sharing; });
}

void expect_one_threads_bits(const Graph& graph, Sharing sharing) {
  const std::vector<Tensor> inputs = random_inputs(graph, 13);
  const std::vector<Tensor> expected =
      run(graph, {Schedule::columns, Math::fast, 1, 0}, kernels::usable_features(), inputs);
  for (const int threads : {2, 3, 4}) {
    const PlanOptions options{Schedule::columns, Math::fast, threads, 0};
    ASSERT_TRUE(shares(graph, options, "server-16", sharing)) << "threads " << threads;
    Executor executor(program_of(graph, options, kernels::usable_features(), "server-16"));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(run(executor, inputs), expected)) << "threads " << threads;
  }
}

TEST(Executor, GivesTheBitsOfOneThreadWhenBandsAreShared) {
  expect_one_threads_bits(six_layers(144, 64, 16), Sharing::bands);
}

TEST(Executor, GivesTheBitsOfOneThreadWhenImagesAreShared) {
  expect_one_threads_bits(residual_stage(12), Sharing::rounds);
}

TEST(Executor, GivesTheBitsOfOneThreadWhenStripsAreShared) {
  Network net("one row");
  ValueId x = net.input({3, 1, 700, 24});
  for (int i = 0; i < 3; ++i) x = net.conv(x, 24, {.kernel = 5, .activation = UnaryKind::relu});
  x = net.conv(x, 24, {.kernel = 3, .groups = 24});
  expect_one_threads_bits(net.finish(net.conv(x, 40, {.kernel = 3, .stride = 2})), Sharing::rounds);
}

}  // namespace
}  // namespace colonnade::test
