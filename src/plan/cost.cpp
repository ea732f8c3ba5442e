// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/shift_add/shift_add.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {
namespace {

constexpr double kMicro = 1e6;
constexpr double kGiga = 1e9;
// Shares of a cache that a working set can count on.
constexpr double kUsableL2 = 0.5;
constexpr double kUsableL3 = 0.4;
// Shares of memory time that the kernels do not hide behind arithmetic.
constexpr double kOverlap = 0.5;
constexpr double kWholeOverlap = 0.7;
constexpr double kWeightOverlap = 0.3;
// Shares of the arithmetic peak that the two parts of Winograd reach.
constexpr double kMultiplyShare = 0.85;
constexpr double kTransformShare = 0.4;

/// The tile and the channels of one group of a Winograd convolution.
struct WinogradSizes {
  std::size_t tile, channels_in, channels_out, groups;
};
WinogradSizes winograd_sizes(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
  const auto groups = static_cast<std::size_t>(std::get<Conv>(node.op).groups);
  return {static_cast<std::size_t>(choice.row_granularity), static_cast<std::size_t>(weight[1]),
          static_cast<std::size_t>(weight[0]) / groups, groups};
}

/// Products and transforms at their own shares of the peak, as a share for the direct sum's operations.
double winograd_efficiency(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const auto [tile, channels_in, channels_out, groups] = winograd_sizes(graph, node, choice);
  const Shape& out = graph.value(node.outputs[0]).type.static_shape();
  const kernels::winograd::Work work = kernels::winograd::work(
      tile, static_cast<std::size_t>(out[1]), static_cast<std::size_t>(out[2]), channels_in, channels_out);
  const double flop = static_cast<double>(out[0]) * static_cast<double>(groups) *
                      (work.multiply_flop / kMultiplyShare + work.transform_flop / kTransformShare);
  return flop_of(graph, node) / flop;
}

double efficiency_of(const Graph& graph, const Node& node, const KernelChoice& choice) {
  switch (choice.family) {
    case Family::conv:
    case Family::matmul:
    case Family::conv_transpose: return 0.85;
    case Family::winograd: return winograd_efficiency(graph, node, choice);
    case Family::kn2row: {  // shares of useful lanes
      const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
      return 0.85 * static_cast<double>(weight[0] * weight[3]) /
             static_cast<double>(kn2row_products(weight[3], weight[0]));
    }
    case Family::depthwise: return 0.4;
    case Family::pool: return 0.2;
    case Family::unary:
    case Family::softmax:
    case Family::lrn: return 0.3;
    case Family::island: return 0.005;
    default: return 0.15;
  }
}

std::int64_t weights_bytes_of(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Family family = choice.family;
  const auto floats = [](std::size_t count) { return static_cast<std::int64_t>(count * sizeof(float)); };
  if (family == Family::winograd) {
    const auto [tile, channels_in, channels_out, groups] = winograd_sizes(graph, node, choice);
    return floats(groups * kernels::winograd::packed_floats(tile, channels_in, channels_out));
  }
  if (family == Family::kn2row) {
    const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
    return weight[1] * weight[2] * floats(1) * kn2row_products(weight[3], weight[0]);
  }
  if (family == Family::conv || family == Family::matmul || family == Family::conv_transpose ||
      family == Family::depthwise)
    return bytes_of(graph.value(node.inputs[1]));
  return 0;
}

std::int64_t scratch_bytes_of(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Family family = choice.family;
  if (family == Family::winograd) {
    const WinogradSizes sizes = winograd_sizes(graph, node, choice);
    return static_cast<std::int64_t>(
        sizeof(float) * kernels::winograd::workspace_floats(sizes.tile, sizes.channels_in, sizes.channels_out));
  }
  if (family == Family::kn2row) {
    const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
    const std::int64_t width = graph.value(node.inputs[0]).type.static_shape()[2];
    return (width * kn2row_products(weight[3], weight[0]) + static_cast<std::int64_t>(kernels::shift_add::kReadPast)) *
           static_cast<std::int64_t>(sizeof(float));
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
    work[i] = {flop_of(graph, node), efficiency_of(graph, node, choices[i]), weights_bytes_of(graph, node, choices[i]),
               scratch_bytes_of(graph, node, choices[i])};
  }
  return work;
}

MemoryLevel memory_level(const Topology& topology, std::int64_t bytes, int threads) {
  if (static_cast<double>(bytes) <= kUsableL2 * static_cast<double>(topology.cache_bytes(2))) return MemoryLevel::l2;
  const double l3 = kUsableL3 * static_cast<double>(topology.cache_bytes(3));
  return static_cast<double>(bytes) * threads <= l3 ? MemoryLevel::l3 : MemoryLevel::dram;
}

double read_rate(const Topology& topology, std::int64_t bytes, int threads) {
  switch (memory_level(topology, bytes, threads)) {
    case MemoryLevel::l2: return topology.rates.l2_gbs;
    case MemoryLevel::l3: return topology.rates.l3_gbs;
    case MemoryLevel::dram: return topology.rates.dram_gbs;
  }
  return topology.rates.dram_gbs;
}

SegmentTime::SegmentTime(const Topology& topology, int threads, std::int64_t resident_bytes)
    : topology_(topology), threads_(threads), far_rate_(kGiga * read_rate(topology, resident_bytes, threads)) {}

void SegmentTime::add(const NodeWork& work, const NodeTraffic& traffic) {
  compute_seconds_ += traffic.recomputed * work.flop / (kGiga * work.efficiency * topology_.rates.fma_gflops);
  const auto share = [&](std::int64_t bytes) { return traffic.recomputed * static_cast<double>(bytes); };
  const std::int64_t moved = traffic.written_bytes + traffic.inner_bytes + traffic.outer_bytes;
  const std::int64_t near_bytes =
      moved / std::max<std::int64_t>(1, traffic.rows) * traffic.rows_per_step / (traffic.chunks * traffic.strips) +
      work.weights_bytes / traffic.chunks;
  const double near_rate = kGiga * read_rate(topology_, near_bytes, threads_);
  const double kept = traffic.live_rows > 0
                          ? static_cast<double>(std::max<std::int64_t>(0, traffic.live_rows - traffic.rows_per_step)) /
                                static_cast<double>(traffic.rows_per_step)
                          : 0;
  const double ring = share(traffic.live_rows > 0 ? traffic.written_bytes : 0);
  traffic_seconds_ +=
      kOverlap * ((ring + share(traffic.inner_bytes)) / near_rate + ring * std::min(1.0, kept) / far_rate_);
  const std::int64_t whole = traffic.outer_bytes + (traffic.live_rows > 0 ? 0 : traffic.written_bytes);
  const double whole_rate = kGiga * read_rate(topology_, whole / threads_, threads_);
  traffic_seconds_ +=
      kWholeOverlap * (share(whole) + share(traffic.live_rows > 0 ? 0 : traffic.written_bytes)) / whole_rate;
  walk_seconds_ += kWeightOverlap * static_cast<double>(work.weights_bytes) / far_rate_;
}

double SegmentTime::microseconds(std::int64_t walks, std::int64_t nodes) const {
  const double overhead =
      static_cast<double>(walks * nodes) * topology_.rates.step_us + (threads_ > 1 ? topology_.rates.barrier_us : 0);
  return kMicro * ((compute_seconds_ + traffic_seconds_) / threads_ + walk_seconds_ * static_cast<double>(walks)) +
         overhead;
}

}  // namespace colonnade
