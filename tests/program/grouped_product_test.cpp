// SPDX-License-Identifier: Apache-2.0
// Rows by groups beside the reference: every kind of weights, groups without rows and with all of them, threads.
#include "program/narrow_graphs.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::test {
namespace {

using whole::computed;
using whole::constant;

constexpr std::int64_t kGroups = 4;

Attributes attributes_of(std::int64_t repeats) { return {{"groups", kGroups}, {"repeats", repeats}}; }

TEST(GroupedProduct, RowsAreSortedByGroups) {
  const Tensor sent = whole::index_tensor({4, 2}, {3, 0, 0, 1, 3, 1, 0, 3});
  const Graph graph =
      whole::single(make_opaque(reference::kGroupRows, 1, attributes_of(2)), {computed(DType::i64, {4, 2})}, 3);
  whole::check(graph, families::group_rows, {sent});
  const auto found = reference::evaluate(graph, views_of({sent}));
  EXPECT_EQ(reference::load_all<std::int64_t>(found[0]), (Ints{0, 1, 3, 1, 2, 0, 2, 3}));
  EXPECT_EQ(reference::load_all<std::int64_t>(found[1]), (Ints{5, 0, 1, 3, 6, 4, 2, 7}));
  EXPECT_EQ(reference::load_all<std::int64_t>(found[2]), (Ints{3, 5, 5, 8}));
}

TEST(GroupedProduct, GroupsThatDoNotExist) {
  const Graph graph =
      whole::single(make_opaque(reference::kGroupRows, 1, attributes_of(1)), {computed(DType::i64, {2, 1})}, 3);
  for (const std::int64_t wrong : {std::int64_t{-1}, kGroups}) {
    const std::vector<Tensor> inputs{whole::index_tensor({2, 1}, {0, wrong})};
    EXPECT_THROW(reference::evaluate(graph, views_of(inputs)), Error);
    EXPECT_THROW(run(graph, {Schedule::layers, Math::fast, 1, 0}, host_isas().front(), inputs), Error);
  }
}

/// Products of `rows` rows with constant matrices [kGroups * outputs, depth] and a bias.
Graph grouped_graph(std::int64_t rows, std::int64_t repeats, const std::shared_ptr<const Constant>& matrices) {
  const Shape& shape = matrices->shape();
  Graph graph = whole::single(
      make_opaque(reference::kGroupedProduct, 1, attributes_of(repeats)),
      {computed(DType::f32, {rows, shape[1]}), constant(Tensor(DType::f32, shape)), computed(DType::i64, {kGroups}),
       constant(whole::random_tensor(DType::f32, {kGroups, shape[0] / kGroups}, 7))},
      1);
  graph.value(graph.nodes[0].inputs[1]).constant = matrices;
  return graph;
}

/// Rows that rounding to bytes leaves as they are: 127ths of what every block has once.
std::vector<Tensor> grouped_inputs(const Graph& graph, const Ints& ends, unsigned seed) {
  std::vector<Tensor> inputs = whole::inputs_of(graph, seed);
  const std::span<float> x = inputs[0].values<float>();
  const auto depth = static_cast<std::size_t>(inputs[0].shape()[1]);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % depth % 8 == 0 ? 127.0f / 128 : std::nearbyint(42 * x[i]) / 128;
  inputs[1] = whole::index_tensor({kGroups}, ends);
  return inputs;
}

std::shared_ptr<const Constant> matrices_of(DType type, std::int64_t outputs, bool byte_rows = false) {
  const Shape shape{kGroups * outputs, 96};
  if (type == DType::f32) return random_constant(type, shape, 3, -1, 1);
  return narrow_constant({type, shape, 1, 32, type == DType::u4, byte_rows}, 5);
}

TEST(GroupedProduct, EveryKindOfWeights) {
  for (const std::int64_t outputs : {48, 65, 130})
    for (const DType type : {DType::f32, DType::u4, DType::i4, DType::i8, DType::f16})
      for (const Ints& ends : {Ints{0, 1, 1, 2}, {2, 2, 2, 2}, {1, 9, 9, 80}, {70, 70, 75, 78}, {0, 0, 0, 0}}) {
        const std::int64_t rows = ends[1] < 3 ? 2 : 80;
        const Graph graph = grouped_graph(rows, 2, matrices_of(type, outputs));
        whole::check(graph, families::grouped_product, grouped_inputs(graph, ends, 9), 1e-4);
      }
}

TEST(GroupedProduct, RowsAsBytes) {
  for (const std::int64_t outputs : {48, 130})
    for (const DType type : {DType::u4, DType::i8})
      for (const Ints& ends : {Ints{0, 1, 1, 2}, {1, 9, 9, 80}}) {
        const Graph graph = grouped_graph(ends[3], 2, matrices_of(type, outputs, true));
        whole::check(graph, families::grouped_bytes, grouped_inputs(graph, ends, 9), 2e-3);
      }
}

/// A row's bits are those that it has with few others in its group, or with many.
TEST(GroupedProduct, RowsAmongFewAndMany) {
  for (const bool byte_rows : {false, true})
    for (const DType type : {DType::f32, DType::u4, DType::i8}) {
      if (byte_rows && type == DType::f32) continue;
      const auto matrices = matrices_of(type, 70, byte_rows);
      const Graph many = grouped_graph(90, 2, matrices), few = grouped_graph(6, 2, matrices);
      std::vector<Tensor> all = grouped_inputs(many, {60, 61, 62, 90}, 2), some = grouped_inputs(few, {3, 4, 5, 6}, 2);
      const Ints taken{0, 33, 59, 60, 61, 89};
      const auto row_of = [](const Tensor& tensor, std::int64_t row) {
        const auto columns = static_cast<std::size_t>(tensor.shape()[1]);
        return tensor.values<float>().subspan(static_cast<std::size_t>(row) * columns, columns);
      };
      for (std::size_t i = 0; i < taken.size(); ++i) {
        const auto from = row_of(all[0], taken[i]);
        std::ranges::copy(from, some[0].values<float>().begin() + static_cast<std::ptrdiff_t>(i * from.size()));
      }
      for (const kernels::Isa isa : host_isas()) {
        const Tensor together = run(many, {Schedule::layers, Math::fast, 1, 0}, isa, all)[0];
        const Tensor apart = run(few, {Schedule::layers, Math::fast, 1, 0}, isa, some)[0];
        for (std::size_t i = 0; i < taken.size(); ++i)
          EXPECT_TRUE(std::ranges::equal(row_of(together, taken[i]), row_of(apart, static_cast<std::int64_t>(i))))
              << kernels::name_of(isa) << " row " << taken[i];
      }
    }
}

TEST(GroupedProduct, OnlyWhereRowsMayBeRounded) {
  const auto kernel = [](bool byte_rows, Math math) {
    const Graph graph = grouped_graph(6, 2, matrices_of(DType::u4, 70, byte_rows));
    const std::vector<Tensor> inputs = grouped_inputs(graph, {3, 4, 5, 6}, 2);
    return run(graph, {Schedule::layers, math, 1, 0}, host_isas().front(), inputs);
  };
  EXPECT_TRUE(same_bits(kernel(true, Math::exact), kernel(false, Math::exact)));
  EXPECT_FALSE(same_bits(kernel(true, Math::fast), kernel(false, Math::fast)));
}

}  // namespace
}  // namespace colonnade::test
