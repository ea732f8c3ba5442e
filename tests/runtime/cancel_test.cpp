// SPDX-License-Identifier: Apache-2.0
// Runs that end before they are done: within one step of a column, at any step, and the executor can be used again.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/execute.hpp"
#include "support/known_networks.hpp"

namespace colonnade::test {
namespace {

/// Counts the steps of a run, and asks for its end at one of them. Later steps wait until it was asked for: a thread
/// may lose its processor between counting a step and asking, and the others would go on meanwhile.
struct Trigger {
  std::stop_source source;
  std::int64_t at = -1;
  std::atomic<std::int64_t> steps{0};

  void step() {
    const std::int64_t index = steps.fetch_add(1);
    if (at < 0) return;
    if (index == at) source.request_stop();
    while (index > at && !source.stop_requested()) std::this_thread::yield();
  }
};

class TriggeringOp final : public RowOp {
 public:
  TriggeringOp(std::unique_ptr<RowOp> op, Trigger& trigger) : op_(std::move(op)), trigger_(trigger) {}
  void run(const StepContext& context) const override {
    trigger_.step();
    op_->run(context);
  }
  std::size_t pointer_count(std::int64_t rows) const override { return op_->pointer_count(rows); }
  std::string_view kernel() const override { return op_->kernel(); }

 private:
  std::unique_ptr<RowOp> op_;
  Trigger& trigger_;
};

/// An executor whose steps pull the trigger.
struct Triggered {
  Triggered(const Graph& graph, const PlanOptions& options) : executor(program(graph, options)) {}

  std::shared_ptr<const Program> program(const Graph& graph, const PlanOptions& options) {
    auto made = std::const_pointer_cast<Program>(program_of(graph, options, kernels::usable_features(), "server-16"));
    for (auto& op : made->ops)
      if (op) op = std::make_unique<TriggeringOp>(std::move(op), trigger);
    return made;
  }

  /// Runs until the step `at`; -1: to the end.
  std::vector<Tensor> run_to(std::int64_t at, const std::vector<Tensor>& inputs) {
    trigger.source = std::stop_source();
    trigger.at = at;
    trigger.steps = 0;
    const RunOptions options{.stop = trigger.source.get_token()};
    return run(executor, inputs, RunControl(options));
  }

  Trigger trigger;
  Executor executor;
};

struct Case {
  Graph graph;
  Schedule schedule;
  std::int64_t memory_limit = 0;
};

std::vector<Case> cases() {
  std::vector<Case> cases;
  cases.push_back({six_layers(48, 32, 16), Schedule::columns});
  cases.push_back({six_layers(24, 20, 16), Schedule::layers});
  cases.push_back({inverted_residual(28, 28), Schedule::columns});
  cases.push_back({residual_stage(4), Schedule::columns});
  cases.push_back({residual_stage(2), Schedule::columns});  // images one after another, bands shared
  return cases;
}

TEST(Cancel, EndsWithinOneStepOfEachThreadAtAnyStep) {
  for (const Case& item : cases())
    for (const int threads : {1, 2, 3, 4}) {
      Triggered triggered(item.graph, {item.schedule, Math::fast, threads, item.memory_limit});
      const std::vector<Tensor> inputs = random_inputs(item.graph, 7);
      const std::vector<Tensor> expected = triggered.run_to(-1, inputs);
      const std::int64_t steps = triggered.trigger.steps;
      std::mt19937 random(static_cast<std::uint32_t>(threads));
      for (int round = 0; round < 24; ++round) {
        const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(steps - threads));
        try {
          triggered.run_to(at, inputs);
          ADD_FAILURE() << item.graph.name << ": not cancelled at step " << at << " of " << steps;
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::cancelled) << error.what();
        }
        EXPECT_LE(triggered.trigger.steps, at + 1 + threads - 1) << item.graph.name << ", threads " << threads;
        ASSERT_TRUE(same_bits(triggered.run_to(-1, inputs), expected)) << item.graph.name << ", threads " << threads;
      }
    }
}

TEST(Cancel, RunsWithATokenAskedBeforehandOrALateDeadlineDoNothing) {
  const Graph graph = six_layers(24, 20, 16);
  const std::vector<Tensor> inputs = random_inputs(graph, 7);
  for (const int threads : {1, 3}) {
    Triggered triggered(graph, {Schedule::columns, Math::fast, threads, 0});
    std::stop_source source;
    source.request_stop();
    const RunOptions stopped{.stop = source.get_token()};
    const RunOptions late{.deadline = std::chrono::steady_clock::now()};
    for (const auto& [options, code] : {std::pair{stopped, ErrorCode::cancelled}, {late, ErrorCode::deadline}}) {
      try {
        run(triggered.executor, inputs, RunControl(options));
        ADD_FAILURE();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
      }
      EXPECT_EQ(triggered.trigger.steps, 0);
    }
  }
}

TEST(Cancel, DeadlinesThatAreNotMetEndARunAndOthersDoNot) {
  const Graph graph = residual_stage(6);
  const std::vector<Tensor> inputs = random_inputs(graph, 7);
  for (const int threads : {1, 4}) {
    Executor executor(
        program_of(graph, {Schedule::columns, Math::fast, threads, 0}, kernels::usable_features(), "server-16"));
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Tensor> expected = run(executor, inputs);
    const auto once = std::chrono::steady_clock::now() - begin;
    for (int part = 1; part < 8; ++part) {
      const RunOptions options{.deadline = std::chrono::steady_clock::now() + once * part / 50};
      EXPECT_THROW(run(executor, inputs, RunControl(options)), Error) << "threads " << threads << ", part " << part;
      const RunOptions easy{.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1)};
      ASSERT_TRUE(same_bits(run(executor, inputs, RunControl(easy)), expected)) << "threads " << threads;
    }
  }
}

}  // namespace
}  // namespace colonnade::test
