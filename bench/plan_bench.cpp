// SPDX-License-Identifier: Apache-2.0
// How long planning takes: everything between a graph with known shapes and the plan.
#include <benchmark/benchmark.h>

#include "plan/plan.hpp"

namespace colonnade {
namespace {

/// Inverted residual blocks over three resolutions, as mobile networks have them; three nodes a block.
Graph mobile_network(int blocks) {
  Graph graph;
  graph.name = "mobile network";
  ValueId last = graph.add_value("x", {DType::f32, Shape{1, 112, 112, 16}});
  graph.inputs = {last};
  const auto conv = [&](std::int64_t channels, std::int64_t kernel, std::int64_t stride, ValueId residual) {
    const std::int64_t in = graph.value(last).type.static_shape().back();
    const bool depthwise = kernel > 1;
    Conv op;
    op.kernel = {kernel, kernel};
    op.strides = {stride, stride};
    op.dilations = {1, 1};
    op.pads = Ints(4, kernel / 2);
    op.groups = depthwise ? channels : 1;
    op.epilogue.residual = residual != kAbsent;
    Tensor weight(DType::f32, {channels, depthwise ? 1 : in, kernel, kernel});
    Node node{op, {last, graph.add_constant("w", std::move(weight)), kAbsent}, {kAbsent}, "conv", "Conv"};
    if (residual != kAbsent) node.inputs.push_back(residual);
    const ValueType type = infer_types(graph, node).front();
    last = node.outputs.front() = graph.add_value("t", type);
    graph.nodes.push_back(std::move(node));
  };
  for (int block = 0; block < blocks; ++block) {
    const ValueId input = last;
    const std::int64_t channels = graph.value(last).type.static_shape().back();
    const bool narrow = block % (blocks / 3) == blocks / 3 - 1;
    conv(6 * channels, 1, 1, kAbsent);
    conv(6 * channels, 3, narrow ? 2 : 1, kAbsent);
    conv(narrow ? 2 * channels : channels, 1, 1, narrow ? kAbsent : input);
  }
  graph.outputs = {last};
  return graph;
}

void plan_network(benchmark::State& state) {
  const Graph graph = mobile_network(static_cast<int>(state.range(0)) / 3);
  const Topology topology = fixed_topology("emerald-2");
  PlanOptions options;
  options.threads = static_cast<int>(state.range(1));
  options.schedule = static_cast<Schedule>(state.range(2));
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(graph, topology, options));
}
BENCHMARK(plan_network)
    ->ArgNames({"nodes", "threads", "schedule"})
    ->ArgsProduct({{51, 150}, {1, 2}, {0, 1, 2}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace colonnade
