// SPDX-License-Identifier: Apache-2.0
// Products of rows as bytes with weights of four or eight bits, beside the reference: every tier, schedules and
// threads.
#include "program/narrow_graphs.hpp"

namespace colonnade::test {
namespace {

/// Rows that rounding to bytes leaves as they are: 127ths of what every block has once.
std::vector<Tensor> exact_inputs(const Graph& graph, unsigned seed) {
  std::vector<Tensor> inputs = whole::inputs_of(graph, seed);
  const std::span<float> x = inputs[0].values<float>();
  const auto depth = static_cast<std::size_t>(inputs[0].shape()[1]);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % depth % 8 == 0 ? 127.0f / 128 : std::nearbyint(42 * x[i]) / 128;
  return inputs;
}

constexpr double kByteTolerance = 2e-3;

TEST(NarrowBytesProduct, EveryTypeBlockAndSize) {
  unsigned seed = 1;
  for (const std::int64_t rows : {1, 9, 70})
    for (const DType type : {DType::u4, DType::i4, DType::u2, DType::i2, DType::u8, DType::i8})
      for (const bool zeros : {false, true}) {
        const auto check = [&](const Weights& weights, bool transposed) {
          const Graph graph = product_graph(rows, transposed, narrow_constant(weights, ++seed));
          whole::check(graph, families::narrow_bytes, exact_inputs(graph, seed), kByteTolerance);
        };
        check({type, {65, 203}, 1, 32, zeros, true}, true);
        check({type, {130, 67}, 16, 1, zeros, true}, false);
        check({type, {1031, 5}, 1031, 1, zeros, true}, false);
      }
}

/// Rounding a block to 255 steps costs a few thousandths of the result's size.
TEST(NarrowBytesProduct, RoundedRowsAreClose) {
  const Graph graph = product_graph(20, true, narrow_constant({DType::u4, {96, 512}, 1, 32, true, true}, 3));
  const std::vector<Tensor> inputs = whole::inputs_of(graph, 5);
  const auto expected = reference::load_all<double>(reference::evaluate(graph, views_of(inputs))[0]);
  const PlanOptions options{Schedule::layers, Math::fast, 1, 0};
  const auto found = reference::load_all<double>(run(graph, options, host_isas().front(), inputs)[0]);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    error += (found[i] - expected[i]) * (found[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  EXPECT_LT(std::sqrt(error / size), 5e-3);
  EXPECT_GT(error, 0);
}

TEST(NarrowBytesProduct, OnlyWhereRowsMayBeRounded) {
  const auto family = [](const Weights& weights, Math math) {
    const Graph graph = product_graph(9, true, narrow_constant(weights, 3));
    return choose_family(graph, graph.nodes[0], math, kernels::Isa::avx2, known_blocking()).family->name;
  };
  EXPECT_EQ(family({DType::u4, {96, 512}, 1, 32, false, true}, Math::fast), families::narrow_bytes.name);
  EXPECT_EQ(family({DType::u4, {96, 512}, 1, 32, false, true}, Math::exact), families::narrow_product.name);
  EXPECT_EQ(family({DType::u4, {96, 512}, 1, 32, false, false}, Math::fast), families::narrow_product.name);
  EXPECT_EQ(family({DType::i8, {96, 512}, 1, 32, false, true}, Math::fast), families::narrow_bytes.name);
  EXPECT_EQ(family({DType::i8, {96, 512}, 1, 32, false, true}, Math::exact), families::narrow_product.name);
  EXPECT_EQ(family({DType::i8, {96, 512}, 1, 32, false, false}, Math::fast), families::narrow_product.name);
}

/// A row has the bits that it has alone, with any number of threads.
void check_rows(DType type) {
  const auto weights = narrow_constant({type, {256, 700}, 1, 32, true, true}, 4);
  const Graph many = product_graph(67, true, weights), one = product_graph(1, true, weights);
  const std::vector<Tensor> inputs = whole::inputs_of(many, 2);
  for (const kernels::Isa isa : host_isas()) {
    const std::vector<Tensor> together = run(many, {Schedule::layers, Math::fast, 1, 0}, isa, inputs);
    for (const std::int64_t row : {0, 5, 33, 66}) {
      std::vector<Tensor> alone{Tensor(DType::f32, {1, 700}), Tensor(DType::f32, {1, 256})};
      for (std::size_t i = 0; i < alone.size(); ++i) {
        const auto columns = static_cast<std::size_t>(alone[i].shape()[1]);
        std::ranges::copy(inputs[i].values<float>().subspan(static_cast<std::size_t>(row) * columns, columns),
                          alone[i].values<float>().begin());
      }
      const Tensor found = run(one, {Schedule::layers, Math::fast, 1, 0}, isa, alone)[0];
      const auto expected = together[0].values<float>().subspan(static_cast<std::size_t>(row) * 256, 256);
      EXPECT_TRUE(std::ranges::equal(found.values<float>(), expected)) << kernels::name_of(isa) << " row " << row;
    }
    for (int threads = 2; threads <= 16; ++threads)
      EXPECT_TRUE(same_bits(run(many, {Schedule::automatic, Math::fast, threads, 0}, isa, inputs), together))
          << threads;
  }
}
TEST(NarrowBytesProduct, RowsAloneAndTogether) {
  for (const DType type : {DType::u4, DType::u8}) check_rows(type);
}

}  // namespace
}  // namespace colonnade::test
