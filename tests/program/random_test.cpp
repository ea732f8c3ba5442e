// SPDX-License-Identifier: Apache-2.0
// Random networks: every schedule and number of threads gives the same bits, and the reference's values.
#include <gtest/gtest.h>

#include <algorithm>

#include "families/table.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"
#include "support/random_network.hpp"

namespace colonnade::test {
namespace {

constexpr double kFastTolerance = 1e-4;
constexpr double kExactTolerance = 1e-5;
constexpr double kBf16Tolerance = 3e-2;  // of numbers of eight bits through all layers
constexpr std::uint32_t kSeedsPerTest = 8;

std::string label(const Graph& graph, const PlanOptions& options, kernels::Features features) {
  return graph.name + " " + kernels::name_of(features) + ", schedule " +
         std::to_string(static_cast<int>(options.schedule)) + ", math " +
         std::to_string(static_cast<int>(options.math)) + ", threads " + std::to_string(options.threads) + ", limit " +
         std::to_string(options.memory_limit_bytes);
}

double tolerance_of(Math math) {
  switch (math) {
    case Math::fast: return kFastTolerance;
    case Math::exact: return kExactTolerance;
    case Math::bf16: return kBf16Tolerance;
  }
  return 0;
}

/// Those that differ on a tier: dot products of bf16 are all that theirs has beyond the one before.
std::vector<Math> maths_of(kernels::Isa isa) {
  if (isa == kernels::Isa::bf16) return {Math::bf16};
  return {Math::fast, Math::exact};
}

/// The schedules and threads that must agree with one thread layer by layer, under one tier and policy.
void check_schedules(const Graph& graph, const std::vector<Tensor>& inputs, const std::vector<Tensor>& expected,
                     Math math, kernels::Features features) {
  const std::vector<Tensor> layers = run(graph, {Schedule::layers, math, 1, 0}, features, inputs);
  EXPECT_LE(worst_error(layers, expected), tolerance_of(math))
      << label(graph, {Schedule::layers, math, 1, 0}, features) << "\n"
      << to_text(graph);
  for (const Schedule schedule : {Schedule::columns, Schedule::layers, Schedule::automatic})
    for (const int threads : {1, 2, 3, 16}) {
      const PlanOptions options{schedule, math, threads, 0};
      EXPECT_TRUE(same_bits(run(graph, options, features, inputs), layers))
          << label(graph, options, features) << "\n"
          << to_text(make_plan(graph, topology_of(features), options), graph);
    }
}

/// Limits from what columns take down to what is refused. Returns how many of the plans have strips.
int check_memory_limits(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> layers =
      run(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features(), inputs);
  const Topology topology = topology_of(kernels::usable_features());
  std::int64_t limit = make_plan(graph, topology, {Schedule::columns, Math::fast, 2, 0}).arena_bytes;
  int with_strips = 0;
  for (; limit > 0; limit = limit * 3 / 4) {
    const PlanOptions options{Schedule::automatic, Math::fast, 2, limit};
    try {
      const Plan plan = make_plan(graph, topology, options);
      with_strips += std::any_of(plan.segments.begin(), plan.segments.end(),
                                 [](const SegmentPlan& segment) { return !segment.strips.empty(); });
      EXPECT_TRUE(same_bits(run(graph, options, kernels::usable_features(), inputs), layers))
          << label(graph, options, kernels::usable_features());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::resource_limit) << error.what();
      break;
    }
  }
  return with_strips;
}

class RandomRuns : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomRuns, AgreeWithTheReferenceAndEachOther) {
  for (std::uint32_t seed = GetParam() * kSeedsPerTest; seed < (GetParam() + 1) * kSeedsPerTest; ++seed) {
    const Graph graph = random_network(seed);
    const std::vector<Tensor> inputs = random_inputs(graph, seed);
    const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
    for (const kernels::Isa isa : host_isas())
      for (const Math math : maths_of(isa)) check_schedules(graph, inputs, expected, math, isa);
  }
}

TEST_P(RandomRuns, GiveTheSameBitsUnderAMemoryLimit) {
  for (std::uint32_t seed = 500 + GetParam() * kSeedsPerTest; seed < 500 + (GetParam() + 1) * kSeedsPerTest; ++seed) {
    const Graph graph = random_network(seed);
    check_memory_limits(graph, random_inputs(graph, seed));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRuns, testing::Range(0u, 8u));

TEST(KnownNetworks, AgreeUnderEverySchedule) {
  for (const Graph& graph : {six_layers(44, 300, 16), inverted_residual(20, 24), residual_stage(2)}) {
    const std::vector<Tensor> inputs = random_inputs(graph, 3);
    const std::vector<Tensor> expected =
        run(graph, {Schedule::layers, Math::exact, 1, 0}, kernels::usable_features(), inputs);
    check_schedules(graph, inputs, expected, Math::fast, kernels::usable_features());
  }
}

TEST(KnownNetworks, AgreeWithTheReference) {
  const Graph graph = denoiser(21, 250);
  const std::vector<Tensor> inputs = random_inputs(graph, 4);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const kernels::Isa isa : host_isas()) check_schedules(graph, inputs, expected, maths_of(isa).front(), isa);
}

/// Everything that matrix units do: long sums in several parts, gathered taps, chunks, strides, Winograd.
TEST(KnownNetworks, OfWideLayersAgreeWithTheReference) {
  const Graph graph = wide_layers(30, 36);
  const Plan plan = make_plan(graph, topology_of(kernels::Isa::amx), {Schedule::automatic, Math::fast, 1, 0});
  EXPECT_EQ(std::count_if(plan.choices.begin(), plan.choices.end(),
                          [](const Choice& c) { return c.encoding == kernels::Encoding::bf16x3; }),
            8);
  const std::vector<Tensor> inputs = random_inputs(graph, 6);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const kernels::Isa isa : host_isas())
    for (const Math math : maths_of(isa)) check_schedules(graph, inputs, expected, math, isa);
}

/// So many nodes take a family's tiles on that tier; whatever is taken agrees with the reference on every tier.
void expect_tiles(const Graph& graph, kernels::Isa tier, int tiles, std::uint32_t seed,
                  const Family& family = families::winograd) {
  const Plan plan = make_plan(graph, topology_of(tier), {Schedule::automatic, Math::fast, 1, 0});
  EXPECT_EQ(
      std::count_if(plan.choices.begin(), plan.choices.end(), [&](const Choice& c) { return c.family == &family; }),
      tiles)
      << to_text(plan, graph);
  const std::vector<Tensor> inputs = random_inputs(graph, seed);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const kernels::Isa isa : host_isas())
    for (const Math math : maths_of(isa)) check_schedules(graph, inputs, expected, math, isa);
}

TEST(KnownNetworks, OfLargeFiltersAgreeWithTheReference) {
  expect_tiles(large_filters(50, 77), kernels::Isa::avx512, 6, 8);
}

TEST(KnownNetworks, OfDilatedSquaresAgreeWithTheReference) {
  expect_tiles(dilated_squares(29, 50), kernels::Isa::avx512, 4, 12);
}

TEST(KnownNetworks, OfFiltersAlongRowsAgreeWithTheReference) {
  expect_tiles(filters_along_rows(21, 77), kernels::Isa::avx512, 7, 11, families::row_winograd);
}

/// Groups whose channels fill no line: several are taken together, as many as divide their number.
TEST(KnownNetworks, OfGroupsOfFewChannelsAgreeWithTheReference) {
  Network net("groups of few channels");
  const ValueId x = net.conv(net.input({1, 31, 45, 24}), 48, {.groups = 12, .activation = UnaryKind::relu});
  const ValueId y = net.conv(net.conv(x, 48, {.groups = 12, .residual = x}), 48, {.groups = 6});
  net.output(net.conv(y, 64, {.kernel = 7, .stride = 2, .groups = 8}));
  expect_tiles(net.finish(net.conv(y, 36, {.groups = 3})), kernels::Isa::avx2, 5, 9);
}

/// Where a processor has matrix units they multiply numbers rounded to bf16 once, not pieces of them six times.
TEST(KnownNetworks, RoundedToBf16TakeOneProductOnMatrixUnits) {
  const Graph graph = wide_layers(30, 36);
  const Plan plan = make_plan(graph, topology_of(kernels::Isa::amx), {Schedule::automatic, Math::bf16, 1, 0});
  const auto count = [&](kernels::Encoding encoding) {
    return std::count_if(plan.choices.begin(), plan.choices.end(),
                         [&](const Choice& c) { return c.encoding == encoding; });
  };
  EXPECT_EQ(count(kernels::Encoding::bf16x3), 0) << to_text(plan, graph);
  EXPECT_EQ(count(kernels::Encoding::bf16), 9) << to_text(plan, graph);
}

/// Strips of Winograd's largest tiles, which start at multiples of six columns, of those along rows, and of planes.
TEST(KnownNetworks, GiveTheSameBitsUnderAMemoryLimit) {
  for (const Graph& graph : {six_layers(48, 1000, 16), denoiser(48, 1000), wide_layers(20, 400),
                             large_filters(48, 1000), filters_along_rows(24, 1000), dilated_squares(48, 1000)})
    EXPECT_GT(check_memory_limits(graph, random_inputs(graph, 5)), 0) << graph.name;
}

/// Bands that compute the same rows of an encoder, each its own.
TEST(KnownNetworks, GiveTheSameBitsWhereRowsAreComputedTwice) {
  const Graph graph = encoder_decoder();
  const std::vector<Tensor> inputs = random_inputs(graph, 7);
  const kernels::Features features = kernels::usable_features();
  const std::vector<Tensor> layers = run(graph, {Schedule::layers, Math::fast, 1, 0}, features, inputs);
  for (const int threads : {2, 3}) {
    PlanOptions options{Schedule::columns, Math::fast, threads, 0};
    const std::int64_t shared = make_plan(graph, topology_of(features), options).arena_bytes;
    options.memory_limit_bytes = shared * 9 / 10;
    const Plan plan = make_plan(graph, topology_of(features), options);
    ASSERT_EQ(plan.segments.front().steps.size(), static_cast<std::size_t>(threads)) << to_text(plan, graph);
    EXPECT_TRUE(plan.segments.front().strips.empty()) << to_text(plan, graph);
    EXPECT_TRUE(same_bits(run(graph, options, features, inputs), layers)) << to_text(plan, graph);
  }
}

TEST(Program, SharesPackedWeightsBetweenPlans) {
  const Graph graph = residual_stage();
  WeightStore weights;
  const Plan columns = make_plan(graph, topology_of(kernels::usable_features()), {Schedule::columns, Math::fast, 2, 0});
  const Plan layers = make_plan(graph, topology_of(kernels::usable_features()), {Schedule::layers, Math::fast, 1, 0});
  const auto first = compile(graph, columns, kernels::usable_features(), weights),
             second = compile(graph, layers, kernels::usable_features(), weights);
  EXPECT_EQ(first->weights_bytes, second->weights_bytes);
  int shared = 0;
  for (const auto& owned : first->owned)
    shared += std::count(second->owned.begin(), second->owned.end(), owned) > 0 ? 1 : 0;
  EXPECT_GE(shared, 6);
}

TEST(Program, IsNotLoweredForAnotherType) {
  Graph graph = six_layers(44, 60, 16);
  const Plan plan = make_plan(graph, topology_of(kernels::usable_features()), {Schedule::columns, Math::fast, 1, 0});
  const ValueId middle = graph.nodes[2].outputs[0];
  graph.values[static_cast<std::size_t>(middle)].type.dtype = DType::bf16;
  WeightStore weights;
  try {
    static_cast<void>(compile(graph, plan, kernels::usable_features(), weights));
    FAIL() << "a family of floats runs on bf16";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_NE(std::string(error.what()).find("to be float32, not bfloat16"), std::string::npos) << error.what();
  }
}

TEST(Program, PrintsEveryKernel) {
  const Graph graph = pooling_net();
  const std::string text =
      to_text(*program_of(graph, {Schedule::columns, Math::fast, 2, 0}, kernels::usable_features()));
  for (const Node& node : graph.nodes) EXPECT_NE(text.find(node.name), std::string::npos) << node.name << "\n" << text;
}

}  // namespace
}  // namespace colonnade::test
