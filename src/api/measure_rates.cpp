// SPDX-License-Identifier: Apache-2.0
#include "api/measure_rates.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <thread>

#include "base/aligned_buffer.hpp"
#include "base/meeting.hpp"
#include "base/numbers.hpp"
#include "families/winograd.hpp"
#include "plan/cost.hpp"
#include "plan/plan.hpp"
#include "program/compile.hpp"
#include "runtime/barrier.hpp"
#include "runtime/executor.hpp"
#include "runtime/measure.hpp"
#include "runtime/workers.hpp"
#include "topology/probe.hpp"

namespace colonnade {
namespace {

constexpr int kRounds = 2;
constexpr int kPasses = 3;  // over everything, so that a busy moment spoils nothing
constexpr double kRoundSeconds = 0.002;
constexpr double kLeastUs = 0.005;     // of a clock that says nothing
constexpr double kMostUs = 100;        // of a machine that is busy with something else
constexpr int kLong = 40, kShort = 8;  // steps of a chain, barriers of a team
// Probes of kernels: small enough for L2, rows long enough that a call costs nothing.
constexpr std::int64_t kRows = 12, kWidth = 48;

/// Numbers of both signs with all bits in use: equal ones, or zeros, take less power, and matrix units run faster.
void fill(Tensor& tensor) {
  std::minstd_rand random(1);
  for (float& x : tensor.values<float>()) x = static_cast<float>(random()) / 0x1p31f - 0.5f;
}

/// One small graph.
class Probe {
 public:
  Probe() { graph_.name = "probe"; }

  ValueId input(Shape shape) {
    const ValueId id = graph_.add_value("x", {DType::f32, std::move(shape)});
    graph_.inputs.push_back(id);
    return id;
  }
  ValueId constant(Shape shape) {
    Tensor tensor(DType::f32, std::move(shape));
    fill(tensor);
    return graph_.add_constant("w", std::move(tensor));
  }
  ValueId node(Operator op, std::vector<ValueId> inputs) {
    Node node{std::move(op), std::move(inputs), {kAbsent}, "probe", "Probe"};
    const ValueType type = infer_types(graph_, node).front();
    node.outputs.front() = graph_.add_value("y", type);
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs.front();
  }
  ValueId conv(ValueId x, std::int64_t channels, std::int64_t kernel, bool depthwise) {
    const std::int64_t in = depthwise ? 1 : graph_.value(x).type.static_shape().back(), pad = kernel / 2;
    Conv op;
    op.kernel = {kernel, kernel};
    op.strides = op.dilations = {1, 1};
    op.pads = {pad, pad, pad, pad};
    op.groups = depthwise ? channels : 1;
    op.epilogue.activation.kind = UnaryKind::relu;
    return node(op, {x, constant({channels, in, kernel, kernel}), constant({channels})});
  }
  ValueId ints(const Ints& values) { return graph_.add_ints("c", values); }
  Graph finish(ValueId result) {
    graph_.outputs.push_back(result);
    return std::move(graph_);
  }

 private:
  Graph graph_;
};

/// Fewest seconds of a run, hot.
double seconds_of(const Graph& graph, const Topology& topology, int threads, Math math = Math::fast) {
  WeightStore weights;
  const Plan plan = make_plan(graph, topology, {.schedule = Schedule::layers, .math = math, .threads = threads});
  Executor executor(compile(graph, plan, topology.features, weights));
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> sources;
  std::vector<void*> results;
  for (const ValueId id : graph.inputs) inputs.emplace_back(DType::f32, graph.value(id).type.static_shape());
  for (const ValueId id : graph.outputs) outputs.emplace_back(DType::f32, graph.value(id).type.static_shape());
  for (Tensor& input : inputs) fill(input);
  for (const Tensor& input : inputs) sources.push_back(input.data());
  for (Tensor& output : outputs) results.push_back(output.data());
  const auto seconds_for = [&](std::int64_t runs) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < runs; ++i) executor.run(sources, results);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::int64_t runs = 1;
  while (seconds_for(runs) < kRoundSeconds) runs *= 2;
  double fewest = std::numeric_limits<double>::max();
  for (int i = 0; i < kRounds; ++i) fewest = std::min(fewest, seconds_for(runs) / static_cast<double>(runs));
  return fewest;
}

/// A chain of `count` operators that have next to nothing to do.
Graph chain(int count) {
  Probe probe;
  ValueId x = probe.input({1, 1, 1, 16});
  for (int i = 0; i < count; ++i) x = probe.node(Unary{UnaryKind::abs}, {x});
  return probe.finish(x);
}

/// Seconds of a team whose threads meet `barriers` times, `pause` after the one before: the fewest, as others may hold
/// a processor.
double team_seconds(int threads, int barriers, std::chrono::milliseconds pause) {
  constexpr int kTeams = 8;
  Barrier barrier;
  double fewest = std::numeric_limits<double>::max();
  for (int team = 0; team < kTeams; ++team) {
    std::this_thread::sleep_for(pause);
    const auto begin = std::chrono::steady_clock::now();
    Workers::process().run(threads, [&](int thread, int present) {
      for (int i = 0; i < barriers; ++i) barrier.wait(thread, present);
    });
    fewest = std::min(fewest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return fewest;
}

struct WorkProbe {
  Work work;
  double depth;
  Graph graph;
  double units = 0;
};

WorkProbe conv_probe(std::int64_t in, std::int64_t out, std::int64_t kernel, Work work, const Blocking& blocking) {
  Probe probe;
  const bool depthwise = work == Work::depthwise;
  const ValueId x = probe.input({1, kRows, kWidth, in});
  WorkProbe result{work, 0, probe.finish(probe.conv(x, out, kernel, depthwise))};
  const Node& node = result.graph.nodes.front();
  result.units = flop_of(result.graph, node);
  if (work == Work::winograd) {
    const Choice choice = choose_family(result.graph, node, Math::fast, kernels::Isa::avx512, blocking);
    result.units = winograd_flop({result.graph, node}, choice.granularity);
  }
  const bool both = work == Work::winograd || work == Work::pieces;
  result.depth = both ? 2.0 * static_cast<double>(in * out) / static_cast<double>(in + out)
                      : static_cast<double>(kernel * kernel * (depthwise ? 1 : in));
  return result;
}

WorkProbe node_probe(Work work, Operator op, int operands, std::vector<std::int64_t> ints = {}) {
  Probe probe;
  std::vector<ValueId> inputs;
  for (int i = 0; i < operands; ++i) inputs.push_back(probe.input({1, kRows, kWidth, 32}));
  if (!ints.empty()) inputs.push_back(probe.ints(ints));
  const double depth = work == Work::pool ? 9 : 1;
  const ValueId result = probe.node(std::move(op), inputs);
  WorkProbe made{work, depth, probe.finish(result)};
  const auto elements = [&](ValueId id) {
    return static_cast<double>(element_count(made.graph.value(id).type.static_shape()));
  };
  made.units = std::max(elements(made.graph.inputs.front()), elements(made.graph.outputs.front()));
  if (work == Work::pool) made.units = flop_of(made.graph, made.graph.nodes.front());
  if (work == Work::copy || work == Work::transpose) made.units = elements(made.graph.outputs.front()) * sizeof(float);
  return made;
}

std::vector<WorkProbe> work_probes(const Blocking& blocking) {
  const auto conv_probe = [&](std::int64_t in, std::int64_t out, std::int64_t kernel, Work work) {
    return colonnade::conv_probe(in, out, kernel, work, blocking);
  };
  std::vector<WorkProbe> probes;
  for (const std::int64_t in : {16, 32, 64, 160}) probes.push_back(conv_probe(in, 64, 1, Work::contraction));
  for (const std::int64_t channels : {64, 128, 256}) probes.push_back(conv_probe(channels, channels, 1, Work::pieces));
  for (const std::int64_t in : {16, 64, 160}) probes.push_back(conv_probe(in, 64, 1, Work::pairs));
  for (const std::int64_t kernel : {3, 7}) probes.push_back(conv_probe(3, 32, kernel, Work::image));
  for (const std::int64_t channels : {16, 32, 64}) probes.push_back(conv_probe(channels, channels, 3, Work::winograd));
  for (const std::int64_t kernel : {3, 5, 7}) probes.push_back(conv_probe(64, 64, kernel, Work::depthwise));
  const Ints two{2, 2}, three{3, 3}, one{1, 1}, pads{1, 1, 1, 1};
  probes.push_back(
      node_probe(Work::pool, Pool{PoolKind::max, three, one, one, pads, AutoPad::explicit_pads, false, false, 2}, 1));
  probes.push_back(node_probe(Work::copy, Concat{3}, 2));
  probes.push_back(node_probe(Work::transpose, Transpose{{0, 3, 1, 2}}, 1));
  probes.push_back(node_probe(Work::arithmetic, Binary{BinaryKind::add}, 2));
  probes.push_back(node_probe(Work::function, Unary{UnaryKind::silu}, 1));
  probes.push_back(node_probe(Work::normalise, Softmax{}, 1));
  probes.push_back(node_probe(Work::reduce, Reduce{}, 1, {2}));
  Probe resized;
  Resize resize;
  resize.mode = ResizeMode::linear;
  const ValueId small = resized.input({1, kRows, kWidth, 32});
  const ValueId sizes = resized.ints({1, 2 * kRows, 2 * kWidth, 32});
  WorkProbe last{Work::resize, 1, resized.finish(resized.node(resize, {small, kAbsent, kAbsent, sizes}))};
  last.units = static_cast<double>(4 * kRows * kWidth * 32);
  probes.push_back(std::move(last));
  return probes;
}

/// Bytes whose reading measures a level.
struct WorkingSets {
  std::int64_t l2 = 0;
  std::int64_t l3 = 0;  ///< of each thread; 0: no L3 large enough to be told from L2
  std::int64_t dram = 0;
};

/// Half of L2; twice of it, which is L3's; four times L3 for all threads together, of which it holds little.
WorkingSets working_sets(const Topology& topology, int threads) {
  const std::int64_t l2 = topology.cache_bytes(2);
  std::int64_t l3 = 0;
  for (const CacheLevel& cache : topology.caches)
    if (cache.level == 3) l3 = cache.bytes;
  constexpr std::int64_t kLeastDram = std::int64_t{64} << 20, kMostDram = std::int64_t{512} << 20;
  const std::int64_t in_l3 = l3 >= 2 * l2 * threads ? std::min(4 * l2, l3 / (2 * threads)) : 0;
  return {l2 / 2, in_l3, std::clamp(4 * l3, kLeastDram, kMostDram)};
}

/// The FMA peak of a processor, by a thread that is kept to it.
double fma_gflops_of(kernels::Features features, int processor) {
  double found = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(processor), &one);
    if (processor < CPU_SETSIZE && sched_setaffinity(0, sizeof one, &one) == 0)
      for (int pass = 0; pass < kPasses; ++pass) found = std::max(found, measure_fma_gflops(features, 1));
  }).join();
  return found;
}

/// How fast each kind of cores is, by one of its cores; those that are as fast as the fastest are not among them.
std::vector<CoreSpeed> measure_speeds(kernels::Features features) {
  const Topology topology = detect_cores(allowed_processors());
  std::vector<CoreSpeed> speeds;
  const Core& fastest = topology.cores.front();
  double most = 0;
  for (const Core& core : topology.cores) {
    if (core.speed == fastest.speed) continue;
    const auto is_known = [&](const CoreSpeed& kind) { return kind.expected == core.speed; };
    if (std::ranges::any_of(speeds, is_known)) continue;
    if (most == 0) most = fma_gflops_of(features, fastest.os_processor);
    const double found = fma_gflops_of(features, core.os_processor);
    if (most > 0 && found > 0) speeds.push_back({core.speed, std::min(1.0, found / most)});
  }
  return speeds;
}

/// Cores below the L3 cache of the first core.
int neighbours_of_first(const Topology& topology) {
  return static_cast<int>(std::ranges::count(topology.cores, topology.cores.front().l3_domain, &Core::l3_domain));
}

}  // namespace

Rates measure_rates(const Topology& topology) {
  const int threads = topology.default_threads();
  Rates rates = topology.rates;
  rates.source = "measured";
  rates.total_threads = threads;
  const WorkingSets sets = working_sets(topology, threads);
  constexpr std::chrono::milliseconds kAsleep(20), kAwake(0);
  constexpr double kNever = std::numeric_limits<double>::max();
  double fma = 0, l2 = 0, l3 = 0, dram = 0, l3_total = 0, dram_total = 0;
  double few_near = kNever, many_near = kNever;
  const int neighbours = std::min(Meeting(threads).group, neighbours_of_first(topology));
  double few_steps = kNever, many_steps = kNever, team = kNever, few_barriers = kNever, many_barriers = kNever;
  const std::vector<WorkProbe> probes = work_probes(blocking_of(topology));
  Topology vectors = topology;  // matrix units are a kind of work of their own
  vectors.features = topology.features & kernels::Isa::avx512;
  std::vector<double> seconds(probes.size(), kNever);
  const auto faster = [](double& rate, double found) { rate = std::max(rate, found); };
  const auto sooner = [](double& time, double found) { time = std::min(time, found); };
  for (int pass = 0; pass < kPasses; ++pass) {
    faster(fma, measure_fma_gflops(topology.features, 1));
    faster(l2, measure_read_gbs(sets.l2, 1));
    faster(dram, measure_read_gbs(sets.dram, 1));
    if (sets.l3 > 0) faster(l3, measure_read_gbs(sets.l3, 1));
    sooner(few_steps, seconds_of(chain(kShort), topology, 1));
    sooner(many_steps, seconds_of(chain(kLong), topology, 1));
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const Work work = probes[i].work;
      const Topology& units = work == Work::pieces || work == Work::pairs ? topology : vectors;
      sooner(seconds[i], seconds_of(probes[i].graph, units, 1, work == Work::pairs ? Math::bf16 : Math::fast));
    }
    if (threads == 1) continue;
    faster(dram_total, measure_read_gbs(sets.dram / threads, threads));
    if (sets.l3 > 0) faster(l3_total, measure_read_gbs(sets.l3, threads));
    sooner(team, team_seconds(threads, 0, kAsleep));
    if (neighbours > 1 && neighbours < threads) {
      sooner(few_near, team_seconds(neighbours, kLong, kAwake));
      sooner(many_near, team_seconds(neighbours, 8 * kLong, kAwake));
    }
    sooner(few_barriers, team_seconds(threads, kLong, kAwake));
    sooner(many_barriers, team_seconds(threads, 8 * kLong, kAwake));
  }

  rates.speeds = measure_speeds(topology.features);
  rates.fma_gflops = fma;
  rates.l2_gbs = l2;
  rates.dram_gbs = std::min(dram, l2);
  rates.l3_gbs = sets.l3 > 0 ? std::min(l3, l2) : rates.dram_gbs;
  rates.dram_total_gbs = threads > 1 ? dram_total : rates.dram_gbs;
  rates.l3_total_gbs = threads == 1 ? rates.l3_gbs : sets.l3 > 0 ? l3_total : rates.dram_total_gbs;
  rates.step_us = std::max(kLeastUs, kMicro * (many_steps - few_steps) / (kLong - kShort));
  if (many_near < kNever)
    rates.near_hop_us = std::max(kLeastUs, kMicro * (many_near - few_near) / (7 * kLong) / neighbours);
  if (threads > 1) {
    rates.team_us = std::clamp(kMicro * team, kLeastUs, kMostUs);
    rates.barrier_us = std::max(kLeastUs, kMicro * (many_barriers - few_barriers) / (7 * kLong));
  }
  for (std::vector<WorkRate>& points : rates.work) points.clear();
  for (std::size_t i = 0; i < probes.size(); ++i)
    rates.work[static_cast<std::size_t>(probes[i].work)].push_back(
        {probes[i].depth, 1e-9 * probes[i].units / std::max(seconds[i] - rates.step_us / kMicro, seconds[i] / 2)});
  return rates;
}

}  // namespace colonnade
