// SPDX-License-Identifier: Apache-2.0
// Random quantised networks as they run: the bits of the reference under every tier, schedule and number of threads.
#include <gtest/gtest.h>

#include "passes/quantised.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"

namespace colonnade::test {
namespace {

Graph grown(std::uint32_t seed, DType type, Shape shape, int layers) {
  return in_bytes(random_quantised(seed, type, std::move(shape), layers));
}

void expect_the_reference(const Graph& graph, std::uint32_t seed, const std::vector<int>& threads) {
  const std::vector<Tensor> inputs = random_inputs(graph, seed);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const kernels::Isa isa : host_isas())
    for (const Schedule schedule : {Schedule::columns, Schedule::layers, Schedule::automatic})
      for (const int count : threads) {
        const PlanOptions options{schedule, Math::fast, count, 0};
        EXPECT_TRUE(same_bits(run(graph, options, isa, inputs), expected))
            << kernels::name_of(isa) << ", schedule " << static_cast<int>(schedule) << ", " << count << " threads\n"
            << operators_of(graph);
      }
}

TEST(BytesOfEveryTier, AreThoseOfTheReference) {
  for (const DType type : {DType::u8, DType::i8})
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(seed);
      const std::int64_t channels[] = {4, 8, 5, 1, 33};
      const Shape shape{1 + seed % 2, channels[seed % 5], 9, 7 + seed % 3};
      expect_the_reference(grown(seed, type, shape, 5), seed, {1, 2, 5});
    }
}

TEST(BytesOfEveryTier, OfManyThreads) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    expect_the_reference(grown(seed, DType::u8, {1, 8, 70, 20}, 4), seed, {8, 16, 64});
  }
}

TEST(BytesOfEveryTier, OfNothing) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    expect_the_reference(grown(seed, DType::u8, {0, 8, 9, 7}, 4), seed, {1, 2});
  }
}

}  // namespace
}  // namespace colonnade::test
