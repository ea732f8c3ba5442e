// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {
namespace {

constexpr double kGiga = 1e9;
// Shares of a cache that a working set can count on.
constexpr double kUsableL2 = 0.5;
constexpr double kUsableL3 = 0.4;
constexpr double kIslandPerElement = 10;  // an island's element costs this many of `function`
constexpr std::int64_t kLanes = 16;       // output channels come in panels of so many

double elements_of(const Graph& graph, ValueId id) {
  return static_cast<double>(element_count(graph.value(id).type.static_shape()));
}

/// Elements of the larger of the first input and the first output.
double larger_side(const Graph& graph, const Node& node) {
  const double out = elements_of(graph, node.outputs[0]);
  const ValueId in = node.input(0);
  return in == kAbsent || graph.value(in).constant ? out : std::max(out, elements_of(graph, in));
}

/// Whether a function costs more than a few instructions an element.
bool is_function(const Node& node) {
  if (const Binary* binary = std::get_if<Binary>(&node.op)) return binary->kind == BinaryKind::pow;
  switch (std::get<Unary>(node.op).kind) {
    case UnaryKind::sigmoid:
    case UnaryKind::silu:
    case UnaryKind::tanh:
    case UnaryKind::gelu_erf:
    case UnaryKind::gelu_tanh:
    case UnaryKind::elu:
    case UnaryKind::selu:
    case UnaryKind::softplus:
    case UnaryKind::mish:
    case UnaryKind::exp:
    case UnaryKind::log:
    case UnaryKind::erf: return true;
    default: return false;
  }
}

/// Lanes of the last panel that compute nothing cost as much as the others.
double padded(std::int64_t channels) {
  return static_cast<double>(round_up(channels, kLanes)) / static_cast<double>(channels);
}

double contraction_seconds(const Graph& graph, const Node& node, const Rates& rates) {
  const Shape& out = graph.value(node.outputs[0]).type.static_shape();
  const double flop = flop_of(graph, node);
  const double depth = flop / 2 / elements_of(graph, node.outputs[0]);
  const Conv* conv = std::get_if<Conv>(&node.op);
  const std::int64_t groups = conv == nullptr ? 1 : conv->groups;
  return rates.seconds(Work::contraction, flop * padded(out.back() / groups), depth);
}

double seconds_of(const Graph& graph, const Node& node, Family family, const Rates& rates) {
  const auto elements = [&](Work kind, double units) { return rates.seconds(kind, units, 1); };
  switch (family) {
    case Family::view: return 0;
    case Family::conv:
    case Family::matmul:
    case Family::conv_transpose: return contraction_seconds(graph, node, rates);
    case Family::winograd: {
      const auto in = static_cast<double>(graph.value(node.inputs[0]).type.static_shape()[3]);
      const std::int64_t channels = graph.value(node.outputs[0]).type.static_shape()[3];
      const auto out = static_cast<double>(channels);
      return rates.seconds(Work::winograd, flop_of(graph, node) * padded(channels), 2 * in * out / (in + out));
    }
    case Family::depthwise: {
      const Conv& conv = std::get<Conv>(node.op);
      return rates.seconds(Work::depthwise, flop_of(graph, node), static_cast<double>(conv.kernel[0] * conv.kernel[1]));
    }
    case Family::pool: {
      const Pool& pool = std::get<Pool>(node.op);
      return rates.seconds(Work::pool, flop_of(graph, node), static_cast<double>(pool.kernel[0] * pool.kernel[1]));
    }
    case Family::unary:
    case Family::binary:
      return elements(is_function(node) ? Work::function : Work::arithmetic, larger_side(graph, node));
    case Family::softmax:
    case Family::layer_norm:
    case Family::lrn:
    case Family::instance_norm: return elements(Work::normalise, larger_side(graph, node));
    case Family::reduce:
    case Family::reduce_width: return elements(Work::reduce, larger_side(graph, node));
    case Family::resize: return elements(Work::resize, larger_side(graph, node));
    case Family::island:
      return elements(Work::function, kIslandPerElement * larger_side(graph, node)) +
             rates.seconds(Work::contraction, flop_of(graph, node), kLanes);
    default: return elements(Work::copy, sizeof(float) * larger_side(graph, node));
  }
}

std::int64_t weights_bytes_of(const Graph& graph, const Node& node, Family family) {
  const auto floats = [](std::size_t count) { return static_cast<std::int64_t>(count * sizeof(float)); };
  if (family == Family::winograd) {
    const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
    return floats(
        kernels::winograd::packed_floats(static_cast<std::size_t>(weight[1]), static_cast<std::size_t>(weight[0])));
  }
  if (family == Family::conv || family == Family::matmul || family == Family::conv_transpose ||
      family == Family::depthwise)
    return bytes_of(graph.value(node.inputs[1]));
  return 0;
}

std::int64_t scratch_bytes_of(const Graph& graph, const Node& node, Family family) {
  if (family == Family::winograd) {
    const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
    return static_cast<std::int64_t>(
        sizeof(float) *
        kernels::winograd::workspace_floats(static_cast<std::size_t>(weight[1]), static_cast<std::size_t>(weight[0])));
  }
  if (family == Family::instance_norm)
    return 2 * graph.value(node.inputs[0]).type.static_shape().back() * static_cast<std::int64_t>(sizeof(float));
  return 0;
}

}  // namespace

std::vector<NodeWork> node_work(const Graph& graph, const std::vector<KernelChoice>& choices, const Rates& rates) {
  std::vector<NodeWork> work(graph.nodes.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Family family = choices[i].family;
    const bool known = node.outputs[0] != kAbsent && graph.value(node.outputs[0]).type.is_static();
    work[i] = {known ? flop_of(graph, node) : 0, known ? seconds_of(graph, node, family, rates) : 0,
               weights_bytes_of(graph, node, family), scratch_bytes_of(graph, node, family)};
  }
  return work;
}

MemoryLevel memory_level(const Topology& topology, std::int64_t bytes, int threads) {
  if (static_cast<double>(bytes) <= kUsableL2 * static_cast<double>(topology.cache_bytes(2))) return MemoryLevel::l2;
  const double l3 = kUsableL3 * static_cast<double>(topology.cache_bytes(3));
  return static_cast<double>(bytes) * threads <= l3 ? MemoryLevel::l3 : MemoryLevel::dram;
}

double seconds_beyond_l2(const Topology& topology, MemoryLevel level, int threads) {
  if (level == MemoryLevel::l2) return 0;
  const Rates& rates = topology.rates;
  const bool l3 = level == MemoryLevel::l3;
  const double total = l3 ? rates.l3_total_gbs : rates.dram_total_gbs;
  double rate = l3 ? rates.l3_gbs : rates.dram_gbs;
  if (total > 0) rate = std::min(rate, std::max(total, rate) / threads);
  return std::max(0.0, 1 / (kGiga * rate) - 1 / (kGiga * rates.l2_gbs));
}

}  // namespace colonnade
