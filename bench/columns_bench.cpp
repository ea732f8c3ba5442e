// SPDX-License-Identifier: Apache-2.0
// Columns against the same kernels layer after layer, on the shapes that columns are for. One thread; percent of the
// FMA peak measured in the same run (Winograd counts the direct convolution's arithmetic).
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "program/compile.hpp"
#include "runtime/executor.hpp"
#include "runtime/measure.hpp"

namespace colonnade {
namespace {

/// A channels-last network of one input, built node by node.
class Network {
 public:
  explicit Network(Shape input) { graph_.inputs = {last_ = graph_.add_value("x", {DType::f32, std::move(input)})}; }

  Network& conv(std::int64_t channels, std::int64_t kernel, UnaryKind activation, bool depthwise = false,
                ValueId residual = kAbsent) {
    const std::int64_t in = graph_.value(last_).type.static_shape().back();
    const std::int64_t fan_in = depthwise ? 1 : in;
    Tensor weight(DType::f32, {channels, fan_in, kernel, kernel});
    const float scale = 1.5f / std::sqrt(static_cast<float>(fan_in * kernel * kernel));
    float phase = 0;
    for (float& w : weight.values<float>()) w = scale * std::sin(phase += 1.7f);
    Conv conv;
    conv.kernel = {kernel, kernel};
    conv.strides = conv.dilations = {1, 1};
    conv.pads = Ints(4, kernel / 2);
    conv.groups = depthwise ? channels : 1;
    conv.epilogue.activation = {activation, 0, 6};
    conv.epilogue.residual = residual != kAbsent;
    Node node{conv, {last_, graph_.add_constant("w", std::move(weight)), kAbsent}, {}, "conv", "Conv"};
    if (residual != kAbsent) node.inputs.push_back(residual);
    last_ = graph_.add_value("t");
    node.outputs = {last_};
    graph_.value(last_).type = infer_types(graph_, node).front();
    graph_.nodes.push_back(std::move(node));
    return *this;
  }

  ValueId last() const { return last_; }

  Graph finish() {
    graph_.outputs = {last_};
    infer_types(graph_);
    return std::move(graph_);
  }

 private:
  Graph graph_;
  ValueId last_ = kAbsent;
};

Graph winograd_chain(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Network net({1, height, width, channels});
  for (int i = 0; i < 6; ++i) net.conv(channels, 3, UnaryKind::relu);
  return net.finish();
}

Graph inverted_residual(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Network net({1, height, width, channels});
  const ValueId x = net.last();
  net.conv(6 * channels, 1, UnaryKind::clip).conv(6 * channels, 3, UnaryKind::clip, true);
  net.conv(channels, 1, UnaryKind::identity, false, x);
  return net.finish();
}

void run(benchmark::State& state, const Graph& graph, Schedule schedule) {
  const Topology topology = detect_topology();
  PlanOptions options;
  options.schedule = schedule;
  const Plan plan = make_plan(graph, topology, options);
  WeightStore weights;
  Executor executor(compile(graph, plan, topology.features, weights));
  Tensor in(DType::f32, graph.value(graph.inputs[0]).type.static_shape());
  Tensor out(DType::f32, graph.value(graph.outputs[0]).type.static_shape());
  const void* inputs[] = {in.data()};
  void* outputs[] = {out.data()};
  for (auto _ : state) executor.run(inputs, outputs);
  const double gflop = plan.flop * 1e-9;
  static const double peak = measure_fma_gflops(topology.features, 1);
  using benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(gflop, Counter::kIsIterationInvariantRate);
  state.counters["peak%"] = Counter(100 * gflop / peak, Counter::kIsIterationInvariantRate);
  state.counters["arena_MiB"] = static_cast<double>(plan.arena_bytes) / (1 << 20);
}

void add(const std::string& name, Graph (*make)(std::int64_t, std::int64_t, std::int64_t), std::int64_t channels,
         std::int64_t height, std::int64_t width) {
  const std::string shape = std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels);
  for (const Schedule schedule : {Schedule::layers, Schedule::columns, Schedule::automatic}) {
    const char* word = schedule == Schedule::layers ? "layers" : schedule == Schedule::columns ? "columns" : "auto";
    benchmark::RegisterBenchmark((name + "/" + shape + "/" + word).c_str(), [=](benchmark::State& state) {
      run(state, make(channels, height, width), schedule);
    })->Unit(benchmark::kMillisecond);
  }
}

const bool registered = [] {
  add("columns/winograd_x6", winograd_chain, 16, 1080, 1920);
  add("columns/winograd_x6", winograd_chain, 32, 540, 960);
  add("columns/winograd_x6", winograd_chain, 64, 224, 224);
  add("columns/inverted_residual", inverted_residual, 16, 112, 112);
  add("columns/inverted_residual", inverted_residual, 32, 56, 56);
  add("columns/inverted_residual", inverted_residual, 32, 180, 320);
  add("columns/inverted_residual", inverted_residual, 64, 90, 160);
  add("columns/inverted_residual", inverted_residual, 96, 14, 14);
  return true;
}();

}  // namespace
}  // namespace colonnade
