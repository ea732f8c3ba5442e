// SPDX-License-Identifier: Apache-2.0
// Products with weights that stay narrow, beside the reference: every tier, schedules and threads.
#include "program/narrow_graphs.hpp"

namespace colonnade::test {
namespace {

constexpr double kNarrowTolerance = 2e-3;

TEST(NarrowProduct, EveryTypeBlockAndSize) {
  unsigned seed = 1;
  for (const std::int64_t rows : {1, 9, 300})
    for (const DType type : {DType::u4, DType::i4, DType::u8, DType::i8, DType::u2, DType::i2})
      for (const bool zeros : {false, true}) {
        const Graph blocks = product_graph(rows, true, narrow_constant({type, {65, 203}, 1, 32, zeros}, ++seed));
        whole::check(blocks, families::narrow_product, whole::inputs_of(blocks, seed), kNarrowTolerance);
        const Graph turned = product_graph(rows, false, narrow_constant({type, {130, 67}, 16, 1, zeros}, ++seed));
        whole::check(turned, families::narrow_product, whole::inputs_of(turned, seed), kNarrowTolerance);
        const Graph channels = product_graph(rows, false, narrow_constant({type, {1031, 5}, 1031, 1, zeros}, ++seed));
        whole::check(channels, families::narrow_product, whole::inputs_of(channels, seed), kNarrowTolerance);
      }
  for (const std::int64_t rows : {1, 2, 300})
    for (const DType type : {DType::f16, DType::bf16})
      for (const bool transposed : {false, true}) {
        const Graph halves = product_graph(rows, transposed, narrow_constant({type, {97, 131}, 97, 131}, ++seed));
        whole::check(halves, families::narrow_product, whole::inputs_of(halves, seed), kNarrowTolerance);
      }
}

TEST(NarrowProduct, OneScaleForAllAndBlocksOfOutputs) {
  for (const auto& [rows, columns] : {std::pair{200, 90}, {1, 90}, {8, 90}, {200, 30}})
    for (const std::int64_t lines : {1, 3}) {
      const Graph graph = product_graph(lines, false, narrow_constant({DType::i8, {200, 90}, rows, columns}, 5));
      if (rows != 1) whole::check(graph, families::narrow_product, whole::inputs_of(graph, 5), kNarrowTolerance);
      if (rows != 1) continue;  // a scale for each row: no sums have one scale
      EXPECT_EQ(choose_family(graph, graph.nodes[0], Math::fast, kernels::Isa::avx512, known_blocking()).family,
                &families::matmul);
    }
}

/// A row's bits do not depend on how many others there are, from two on.
TEST(NarrowProduct, RowsHaveTheBitsOfFloats) {
  for (const DType type : {DType::u4, DType::i8, DType::f16}) {
    const auto narrow = narrow_constant({type, {2500, 70}, type == DType::f16 ? 2500 : 32, 1, false}, 3);
    const auto floats = std::make_shared<const Constant>(narrow->tensor());
    for (const std::int64_t rows : {2, 13, 40}) {
      const Graph packed = product_graph(rows, false, narrow), plain = product_graph(rows, false, floats);
      const std::vector<Tensor> inputs = whole::inputs_of(packed, 9);
      for (const kernels::Isa isa : host_isas()) {
        if (isa == kernels::Isa::amx) continue;
        const PlanOptions options{Schedule::layers, Math::fast, 1, 0};
        EXPECT_TRUE(same_bits(run(packed, options, isa, inputs), run(plain, options, isa, inputs)))
            << name_of(type) << " " << rows << " " << kernels::name_of(isa);
      }
    }
  }
}

TEST(NarrowProduct, AnyNumberOfThreadsGivesTheSameBits) {
  for (const std::int64_t rows : {1, 9, 600}) {
    const Graph graph = product_graph(rows, true, narrow_constant({DType::u4, {700, 256}, 1, 32, true}, 4));
    const std::vector<Tensor> inputs = whole::inputs_of(graph, 2);
    const std::vector<Tensor> one = run(graph, {Schedule::layers, Math::fast, 1, 0}, host_isas().front(), inputs);
    for (int threads = 2; threads <= 16; ++threads)
      EXPECT_TRUE(
          same_bits(run(graph, {Schedule::automatic, Math::fast, threads, 0}, host_isas().front(), inputs), one))
          << threads;
  }
}

}  // namespace
}  // namespace colonnade::test
