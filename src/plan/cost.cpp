// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {
namespace {

constexpr double kMicro = 1e6;
constexpr double kGiga = 1e9;
constexpr double kUsableCache = 0.75;

double efficiency_of(const Graph& graph, const Node& node, Family family) {
  switch (family) {
    case Family::conv: case Family::matmul: case Family::conv_transpose: return 0.85;
    case Family::winograd: {
      const std::int64_t channels = graph.value(node.inputs[0]).type.static_shape()[3];
      return channels >= 48 ? 2.3 : channels >= 24 ? 1.8 : 1.4;
    }
    case Family::depthwise: return 0.4;
    case Family::pool: return 0.2;
    case Family::unary: case Family::softmax: case Family::lrn: return 0.3;
    case Family::island: return 0.005;
    default: return 0.15;
  }
}

std::int64_t weights_bytes_of(const Graph& graph, const Node& node, Family family) {
  const auto floats = [](std::size_t count) { return static_cast<std::int64_t>(count * sizeof(float)); };
  if (family == Family::winograd) {
    const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
    return floats(kernels::winograd::packed_floats(static_cast<std::size_t>(weight[1]), static_cast<std::size_t>(weight[0])));
  }
  if (family == Family::conv || family == Family::matmul || family == Family::conv_transpose || family == Family::depthwise)
    return bytes_of(graph.value(node.inputs[1]));
  return 0;
}

std::int64_t scratch_bytes_of(const Graph& graph, const Node& node, Family family) {
  if (family == Family::winograd) {
    const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
    return static_cast<std::int64_t>(sizeof(float) * kernels::winograd::workspace_floats(static_cast<std::size_t>(weight[1]),
                                                                                       static_cast<std::size_t>(weight[0])));
  }
  if (family == Family::instance_norm)
    return 2 * graph.value(node.inputs[0]).type.static_shape().back() * static_cast<std::int64_t>(sizeof(float));
  return 0;
}

}  // namespace

std::vector<NodeWork> node_work(const Graph& graph, const std::vector<KernelChoice>& choices) {
  std::vector<NodeWork> work(graph.nodes.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Family family = choices[i].family;
    work[i] = {flop_of(graph, node), efficiency_of(graph, node, family), weights_bytes_of(graph, node, family),
               scratch_bytes_of(graph, node, family)};
  }
  return work;
}

double read_rate(const Topology& topology, std::int64_t bytes, int threads) {
  const Rates& rates = topology.rates;
  if (static_cast<double>(bytes) <= kUsableCache * static_cast<double>(topology.cache_bytes(2))) return rates.l2_gbs;
  const double l3 = 0.4 * static_cast<double>(topology.cache_bytes(3));
  if (static_cast<double>(bytes) * threads <= l3) return rates.l3_gbs;
  return rates.dram_gbs;
}

double predict_us(const SegmentWork& work, const Topology& topology, int threads) {
  const double n = threads;
  const double compute = work.flop_seconds / n;
  const auto thread_share = [&](std::int64_t bytes) { return bytes / threads; };
  const double ring = static_cast<double>(work.ring_traffic) / n /
                      (kGiga * read_rate(topology, work.ring_bytes + work.weights_bytes, threads));
  const double whole = static_cast<double>(work.whole_traffic) / n / (kGiga * read_rate(topology, thread_share(work.whole_bytes), threads));
  const double weights = static_cast<double>(work.weights_bytes) * static_cast<double>(work.walks) /
                         (kGiga * read_rate(topology, work.weights_bytes + work.ring_bytes, threads));
  const double overhead = static_cast<double>(work.steps) * topology.rates.step_us + (threads > 1 ? topology.rates.barrier_us : 0);
  return kMicro * (compute + 0.5 * ring + 0.7 * whole + 0.3 * weights) + overhead;
}

}  // namespace colonnade
