// SPDX-License-Identifier: Apache-2.0
// Two plans of a shape: the faster one is kept, the other one's memory goes, and results are the same bits meanwhile.
#include "api/duel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/entry.hpp"

namespace colonnade::test {
namespace {

void add_rounds(Scores& scores, int rounds, double predicted_ms, double runner_up_ms) {
  for (int i = 0; i < rounds; ++i) {
    scores.add(scores.next(), scores.next() == Side::predicted ? predicted_ms : runner_up_ms);
    scores.add(scores.next(), scores.next() == Side::predicted ? predicted_ms : runner_up_ms);
  }
}

TEST(Scores, SidesTakeTurns) {
  Scores scores;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(scores.next(), Side::predicted);
    scores.add(Side::predicted, 1);
    EXPECT_EQ(scores.next(), Side::runner_up);
    scores.add(Side::runner_up, 1);
  }
}

TEST(Scores, TheBetterMedianWins) {
  Scores scores;
  add_rounds(scores, 2, 100, 1);  // two slow runs of five are noise
  add_rounds(scores, 2, 8, 10);
  EXPECT_FALSE(scores.verdict());
  add_rounds(scores, 1, 8, 10);
  ASSERT_TRUE(scores.verdict());
  EXPECT_EQ(scores.verdict()->winner, Side::predicted) << "medians are 8 and 10";
}

TEST(Scores, SayByHowMuch) {
  Scores scores;
  add_rounds(scores, 5, 10, 9);
  ASSERT_TRUE(scores.verdict());
  EXPECT_EQ(scores.verdict()->winner, Side::runner_up);
  EXPECT_NEAR(scores.verdict()->gain, 0.1, 1e-9);
  EXPECT_EQ(scores.verdict()->runs, 10);
}

TEST(Scores, EqualTimesKeepThePrediction) {
  Scores scores;
  add_rounds(scores, 5, 10, 10);
  EXPECT_EQ(scores.verdict()->winner, Side::predicted);
}

TEST(Duel, WaitsUntilRunsTookMuchLongerThanThePlan) {
  Duel duel(1.0);
  EXPECT_FALSE(duel.ripens(3));
  EXPECT_FALSE(duel.ripens(3));
  EXPECT_FALSE(duel.ripens(3));
  EXPECT_TRUE(duel.ripens(100));
  EXPECT_FALSE(duel.ripens(100)) << "one caller makes the runner-up";
  duel.open(nullptr);
  EXPECT_TRUE(duel.is_over());
  EXPECT_FALSE(duel.verdict());
}

TEST(Duel, IsNotForShapesThatAreRunOnce) {
  Duel duel(0);
  EXPECT_FALSE(duel.ripens(1e6));
  EXPECT_FALSE(duel.ripens(1e6));
  EXPECT_TRUE(duel.ripens(1e6));
}

/// A model, the plan that it predicts and one of another schedule, with inputs to run both.
struct Ring {
  explicit Ring(int threads) : model(Model::embedded("unet", options(threads))), impl(*known(model)) {
    predicted = impl.prepare(model.resolve_shapes({}));
    const Schedule other = outline(predicted->plan).starts_with("columns") ? Schedule::layers : Schedule::columns;
    auto made = std::make_shared<Prepared>();
    static_cast<PlanKey&>(*made) = *predicted;
    made->graph = predicted->graph;
    made->plan = make_plan(made->graph, impl.topology, {other, Math::fast, threads, 0});
    made->program = compile(made->graph, made->plan, impl.topology.features, impl.weights.of_node(0));
    runner_up = made;
    for (const Shape& shape : predicted->program->input_shapes) {
      inputs.emplace_back(DType::f32, shape);
      int x = 0;
      for (float& element : inputs.back().values<float>()) element = static_cast<float>(x++ % 97) / 97;
    }
  }
  static Options options(int threads) {
    Options options;
    options.threads = threads;
    return options;
  }
  std::vector<Tensor> run(Entry& entry, const RunOptions& run_options = {}) const {
    std::vector<Tensor> outputs;
    for (const Shape& shape : entry.prepared->program->output_shapes) outputs.emplace_back(DType::f32, shape);
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Tensor& input : inputs) from.push_back(input.data());
    for (Tensor& output : outputs) to.push_back(output.data());
    const RunControl control(run_options);
    entry.follow_duel(control);
    entry.run(impl, from, to, control);
    return outputs;
  }
  /// As if runs of these times had been timed.
  void decide(double predicted_ms, double runner_up_ms) const {
    bool decided = false;
    while (!decided) {
      const Side side = predicted->duel->next();
      decided = predicted->duel->record(side, side == Side::predicted ? predicted_ms : runner_up_ms);
    }
    impl.end_duel(*predicted);
  }

  Model model;
  const Model::Impl& impl;
  std::shared_ptr<const Prepared> predicted, runner_up;
  std::vector<Tensor> inputs;
};

bool have_same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a[i].data(), b[i].data(), a[i].byte_size()) != 0) return false;
  return true;
}

TEST(Duel, BothSidesGiveTheSameBitsInOneArena) {
  const Ring ring(2);
  Entry entry(ring.predicted, std::make_shared<Arena>());
  const std::vector<Tensor> expected = ring.run(entry);
  ring.predicted->duel->open(ring.runner_up);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(have_same_bits(ring.run(entry), expected)) << i;
  const auto larger = std::max(ring.predicted->program->arena_bytes, ring.runner_up->program->arena_bytes);
  EXPECT_EQ(entry.arena_bytes(), static_cast<std::size_t>(larger));
}

TEST(Duel, TheFasterPlanGoesOnAndTheOtherOneIsFreed) {
  Ring ring(1);
  Entry entry(ring.predicted, std::make_shared<Arena>());
  const std::vector<Tensor> expected = ring.run(entry);
  ring.predicted->duel->open(ring.runner_up);
  ring.run(entry);
  ring.decide(10, 8);
  const std::weak_ptr<const Prepared> loser = ring.predicted;
  const std::string outline_of_loser = outline(ring.predicted->plan);
  EXPECT_EQ(ring.impl.prepare(ring.model.resolve_shapes({})), ring.runner_up) << "for new sessions too";
  ring.predicted.reset();
  EXPECT_TRUE(have_same_bits(ring.run(entry), expected));
  EXPECT_EQ(entry.prepared, ring.runner_up);
  EXPECT_EQ(entry.arena_bytes(), static_cast<std::size_t>(ring.runner_up->program->arena_bytes));
  EXPECT_TRUE(loser.expired());
  const auto described = nlohmann::json::parse(ring.model.describe());
  EXPECT_EQ(described["duel"]["state"], "won");
  EXPECT_EQ(described["duel"]["against"], outline_of_loser);
  EXPECT_NEAR(described["duel"]["gain"], 0.2, 1e-6);
}

TEST(Duel, ThePredictionGoesOnWhereItWins) {
  Ring ring(1);
  Entry entry(ring.predicted, std::make_shared<Arena>());
  ring.predicted->duel->open(ring.runner_up);
  const std::vector<Tensor> expected = ring.run(entry);
  ring.decide(8, 10);
  const std::weak_ptr<const Prepared> loser = ring.runner_up;
  ring.runner_up.reset();
  EXPECT_TRUE(have_same_bits(ring.run(entry), expected));
  EXPECT_EQ(entry.prepared, ring.predicted);
  EXPECT_EQ(entry.arena_bytes(), static_cast<std::size_t>(ring.predicted->program->arena_bytes));
  EXPECT_TRUE(loser.expired());
}

TEST(Duel, CountsNeitherColdRunsNorThoseThatThrowOrAreLateOrProfiled) {
  const Ring ring(1);
  Entry entry(ring.predicted, std::make_shared<Arena>());
  ring.predicted->duel->open(ring.runner_up);
  Duel& duel = *ring.predicted->duel;
  ring.run(entry);  // cold
  EXPECT_EQ(duel.next(), Side::predicted);
  std::stop_source stopped;
  stopped.request_stop();
  RunOptions stop, late;
  stop.stop = stopped.get_token();
  late.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_THROW(ring.run(entry, stop), Error);
  ring.run(entry, late);
  entry.set_profiling(true);
  ring.run(entry);
  entry.set_profiling(false);
  EXPECT_EQ(duel.next(), Side::predicted);
  ring.run(entry);
  EXPECT_EQ(duel.next(), Side::runner_up);
  ring.run(entry);  // cold
  EXPECT_EQ(duel.next(), Side::runner_up);
  ring.run(entry);
  EXPECT_EQ(duel.next(), Side::predicted);
}

TEST(Duel, APlanThatIsMadeAgainIsTheOneThatWon) {
  Ring ring(1);
  ring.predicted->duel->open(ring.runner_up);
  ring.decide(10, 8);
  const Plan predicted = ring.predicted->plan;
  ring.predicted.reset();
  ring.runner_up.reset();
  const auto again = ring.impl.prepare(ring.model.resolve_shapes({}));
  EXPECT_EQ(again->duel, nullptr);
  const auto runner_up = make_runner_up(again->graph, ring.impl.topology, predicted);
  EXPECT_EQ(to_text(again->plan, again->graph), to_text(runner_up ? *runner_up : predicted, again->graph));
}

TEST(Duel, AModelHoldsAFewOnly) {
  const Model model = Model::embedded("digits", Ring::options(2));
  const Model::Impl& impl = *known(model);
  const RunOptions options;
  const auto with_threads = [&](int threads) {
    return impl.prepare(PlanKey{impl.optimized, model.resolve_shapes({}), {}, 0, threads});
  };
  const auto prepared = with_threads(2);
  ASSERT_TRUE(prepared->duel);
  for (int i = 0; i < 8; ++i) impl.open_duel(*prepared, RunControl(options));
  EXPECT_TRUE(prepared->duel->is_over()) << "runs of this model are too short to tell";
  EXPECT_FALSE(impl.verdict_of(*prepared));
  EXPECT_FALSE(with_threads(1)->duel);
}

TEST(Duel, SessionsOfFourThreadsRunOneModelMeanwhile) {
  const Ring ring(2);
  const std::vector<TensorView> views(ring.inputs.begin(), ring.inputs.end());
  Session alone(ring.model);
  const std::vector<Tensor> expected = alone.run(views);
  ring.predicted->duel->open(ring.runner_up);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        Session session(ring.model);
        for (int run = 0; run < 12; ++run) wrong += have_same_bits(session.run(views), expected) ? 0 : 1;
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(ring.predicted->duel->is_over());
  EXPECT_TRUE(ring.impl.verdict_of(*ring.predicted));
}

TEST(Duel, IsOffWhereSomethingElseDecides) {
  const auto duels = [](const Options& options) {
    const Model model = Model::embedded("unet", options);
    return known(model)->prepare(model.resolve_shapes({}))->duel != nullptr;
  };
  Options off, forced, limited;
  off.duel = false;
  forced.schedule = Schedule::layers;
  limited.memory_limit_bytes = std::size_t{1} << 30;
  EXPECT_TRUE(duels({}));
  EXPECT_FALSE(duels(off));
  EXPECT_FALSE(duels(forced));
  EXPECT_FALSE(duels(limited));
}

}  // namespace
}  // namespace colonnade::test
