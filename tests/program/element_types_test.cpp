// SPDX-License-Identifier: Apache-2.0
// Segments whose rings are bf16 and u8: every schedule, number of threads and cut into strips gives the reference's
// bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/elements.hpp"
#include "reference/reference.hpp"
#include "support/execute.hpp"
#include "support/typed_networks.hpp"

namespace colonnade::test {
namespace {

std::vector<Tensor> whole_inputs(const Graph& graph) {
  std::vector<Tensor> inputs = random_inputs(graph, 7);
  for (Tensor& input : inputs)
    for (float& x : input.values<float>()) x = std::round(x * 8);
  return inputs;
}

Plan columns_of(const Graph& graph, int threads = 1) {
  return make_plan(graph, topology_of(kernels::usable_features()), {Schedule::columns, Math::fast, threads, 0});
}

/// Every ring is of its value's type, and a type's rings are there.
void check_rings(const Graph& graph, const Plan& plan) {
  int bf16 = 0, bytes = 0;
  for (const SegmentPlan& segment : plan.segments)
    for (const Ring& ring : segment.rings) {
      const ValueType& type = graph.value(ring.value).type;
      EXPECT_EQ(ring.type, type.dtype);
      bf16 += ring.type == DType::bf16;
      bytes += ring.type == DType::u8;
      const RowShape shape = row_shape(type.static_shape());
      if (ring.host != kAbsent || !segment.strips.empty()) continue;
      EXPECT_EQ(ring.row_bytes * ring.chunk_count,
                shape.row_elements() * static_cast<std::int64_t>(size_of(type.dtype)))
          << graph.value(ring.value).name;
    }
  EXPECT_GE(bf16, 1) << to_text(plan, graph);
  EXPECT_GE(bytes, 1) << to_text(plan, graph);
}

void check_runs(const Graph& graph) {
  const std::vector<Tensor> inputs = whole_inputs(graph);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  for (const kernels::Isa isa : host_isas())
    for (const Schedule schedule : {Schedule::columns, Schedule::layers, Schedule::automatic})
      for (const int threads : {1, 2, 3, 5, 8}) {
        const PlanOptions options{schedule, Math::fast, threads, 0};
        EXPECT_TRUE(same_bits(run(graph, options, isa, inputs), expected))
            << graph.name << " " << kernels::name_of(isa) << ", schedule " << static_cast<int>(schedule) << ", "
            << threads << " threads\n"
            << to_text(make_plan(graph, topology_of(isa), options), graph);
      }
}

TEST(ElementTypes, OfRingsAreThoseOfTheirValues) {
  for (const Graph& graph : {bf16_and_bytes(40, 37), bf16_and_bytes_in_strips(40, 37)})
    check_rings(graph, columns_of(graph));
}

TEST(ElementTypes, GiveTheBitsOfTheReferenceUnderEverySchedule) {
  check_runs(bf16_and_bytes(40, 37));
  check_runs(bf16_and_bytes_in_strips(29, 50));
}

TEST(ElementTypes, RoundAndSaturateInTheTest) {
  Graph graph = bf16_and_bytes(20, 21);
  ValueId half = kAbsent, bytes = kAbsent;
  for (const Node& node : graph.nodes) {
    if (const auto* op = std::get_if<Cast>(&node.op); op && op->to == DType::bf16) half = node.outputs[0];
    if (const auto* op = std::get_if<Cast>(&node.op); op && op->to == DType::u8) bytes = node.outputs[0];
  }
  const Node& before =
      *std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.outputs[0] == half; });
  graph.outputs = {before.inputs[0], half, bytes};
  const std::vector<Tensor> inputs = whole_inputs(graph);
  const std::vector<Tensor> found =
      run(graph, {Schedule::layers, Math::fast, 1, 0}, kernels::usable_features(), inputs);
  EXPECT_NE(reference::load_all<double>(found[0]), reference::load_all<double>(found[1]));
  const auto values = found[2].values<std::uint8_t>();
  EXPECT_GT(std::count(values.begin(), values.end(), 0), 0);
  EXPECT_GT(std::count(values.begin(), values.end(), 255), 0);
  EXPECT_GT(std::count_if(values.begin(), values.end(), [](int x) { return x > 0 && x < 255; }), 0);
}

TEST(ElementTypes, ComeInChunks) {
  const Graph graph = bf16_and_bytes_in_chunks(33, 30);
  const Plan plan = columns_of(graph);
  check_rings(graph, plan);
  const auto& rings = plan.segments.front().rings;
  EXPECT_TRUE(std::any_of(rings.begin(), rings.end(), [](const Ring& ring) {
    return ring.type == DType::bf16 && ring.chunk_count > 1;
  })) << to_text(plan, graph);
  check_runs(graph);
}

/// Functions of 16-bit numbers are rounded once: within a unit in the last place of the reference, the same bits under
/// every schedule.
TEST(ElementTypes, HaveFunctions) {
  for (const auto& [type, unit] : {std::pair(DType::bf16, 0x1p-7), std::pair(DType::f16, 0x1p-10)})
    for (const UnaryKind kind : {UnaryKind::relu, UnaryKind::sigmoid, UnaryKind::neg, UnaryKind::erf}) {
      Network net("functions");
      const ValueId x = net.input({1, 19, 70, 23});
      const Graph graph = net.finish(cast(net, net.unary(cast(net, x, type), kind), DType::f32));
      const std::vector<Tensor> inputs = random_inputs(graph, 3);
      const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
      for (const kernels::Isa isa : host_isas()) {
        const std::vector<Tensor> layers = run(graph, {Schedule::layers, Math::fast, 1, 0}, isa, inputs);
        EXPECT_LE(worst_error(layers, expected), unit) << name_of(type) << " " << name_of(kind);
        EXPECT_TRUE(same_bits(run(graph, {Schedule::columns, Math::fast, 3, 0}, isa, inputs), layers));
      }
    }
}

TEST(ElementTypes, StandForNumbers) {
  const Graph graph = combined_bytes(40, 37);
  const Plan plan = columns_of(graph);
  const auto& rings = plan.segments.front().rings;
  EXPECT_GE(std::count_if(rings.begin(), rings.end(), [](const Ring& ring) { return ring.type == DType::u8; }), 4)
      << to_text(plan, graph);
  check_runs(graph);
}

TEST(ElementTypes, StandForNumbersInWindows) {
  const Graph graph = windows_of_bytes(40, 37);
  const Plan plan = columns_of(graph);
  const auto& rings = plan.segments.front().rings;
  EXPECT_GE(std::count_if(rings.begin(), rings.end(), [](const Ring& ring) { return ring.type == DType::u8; }), 4)
      << to_text(plan, graph);
  check_runs(graph);
}

TEST(ElementTypes, StandForNumbersInChunks) {
  const Graph graph = bytes_in_chunks(33, 30);
  const Plan plan = columns_of(graph);
  const auto& rings = plan.segments.front().rings;
  EXPECT_TRUE(std::any_of(rings.begin(), rings.end(), [](const Ring& ring) {
    return ring.type == DType::u8 && ring.chunk_count > 1;
  })) << to_text(plan, graph);
  check_runs(graph);
}

void check_strips(const Graph& graph) {
  const std::vector<Tensor> inputs = whole_inputs(graph);
  const std::vector<Tensor> expected = reference::evaluate(graph, views_of(inputs));
  const Topology topology = topology_of(kernels::usable_features());
  std::size_t most_strips = 0;
  for (std::int64_t limit = columns_of(graph, 2).arena_bytes; limit > 0; limit = limit * 3 / 4) {
    const PlanOptions options{Schedule::automatic, Math::fast, 2, limit};
    try {
      const Plan plan = make_plan(graph, topology, options);
      for (const SegmentPlan& segment : plan.segments)
        if (segment.nodes.size() > 1) most_strips = std::max(most_strips, segment.strips.size());
      EXPECT_TRUE(same_bits(run(graph, options, kernels::usable_features(), inputs), expected)) << limit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::resource_limit) << error.what();
      break;
    }
  }
  EXPECT_GE(most_strips, 2u);
}

TEST(ElementTypes, GiveTheSameBitsInStrips) {
  check_strips(bf16_and_bytes_in_strips(24, 900));
  check_strips(combined_bytes(24, 900));
  check_strips(windows_of_bytes(24, 900));
}

}  // namespace
}  // namespace colonnade::test
