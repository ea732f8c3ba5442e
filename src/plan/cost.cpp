// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "graph/contraction.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/winograd/winograd.hpp"
#include "plan/conv_choice.hpp"

namespace colonnade {
namespace {

using kernels::Encoding;

constexpr double kGiga = 1e9;
// Shares of a cache that a working set can count on.
constexpr double kUsableL2 = 0.5;
constexpr double kUsableL3 = 0.4;
constexpr double kIslandPerElement = 25;  // an island's element costs this many of `function`
constexpr std::int64_t kFewChannels = 8;  // a sum over fewer runs through taps, not channels
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

/// What is computed over what is needed, when `count` things come `grain` at a time.
double padded(std::int64_t count, std::int64_t grain) {
  return static_cast<double>(round_up(count, grain)) / static_cast<double>(count);
}

double contraction_seconds(const Graph& graph, const Node& node, Encoding encoding, const Rates& rates) {
  const Shape& out = graph.value(node.outputs[0]).type.static_shape();
  const double flop = flop_of(graph, node);
  const double depth = flop / 2 / elements_of(graph, node.outputs[0]);
  const Conv* conv = std::get_if<Conv>(&node.op);
  const std::int64_t groups = conv == nullptr ? 1 : conv->groups;
  const std::int64_t in = graph.value(node.inputs[0]).type.static_shape().back() / groups;
  if (encoding == Encoding::bf16x3) {
    const double outputs = static_cast<double>(out.back() / groups);
    return rates.seconds(Work::pieces, flop * padded(out.back() / groups, kLanes),
                         2 * depth * outputs / (depth + outputs));
  }
  const Work kind = in < kFewChannels ? Work::image : Work::contraction;
  return rates.seconds(kind, flop * padded(out.back() / groups, kLanes), depth);
}

/// The activation that a contraction applies to its sums, where that is more than a few instructions.
double epilogue_seconds(const Graph& graph, const Node& node, const Rates& rates) {
  const FusedEpilogue* epilogue = epilogue_of(node.op);
  if (epilogue == nullptr || !is_costly(epilogue->activation.kind)) return 0;
  return rates.seconds(Work::function, elements_of(graph, node.outputs[0]), 1);
}

std::size_t groups_of(const Node& node) { return static_cast<std::size_t>(std::get<Conv>(node.op).groups); }

double winograd_seconds(const Graph& graph, const Node& node, std::int64_t tile, const Rates& rates) {
  const auto groups = static_cast<std::int64_t>(groups_of(node));
  const Conv& conv = std::get<Conv>(node.op);
  const auto in =
      static_cast<double>(winograd_channels(conv, graph.value(node.inputs[0]).type.static_shape()[3] / groups));
  const auto out = static_cast<double>(round_up(graph.value(node.outputs[0]).type.static_shape()[3] / groups, kLanes));
  return rates.seconds(Work::winograd, winograd_flop(graph, node, tile), 2 * in * out / (in + out));
}

/// The inputs of all steps at once, then for each step the recurrent weights again and functions of what they give.
double recurrent_seconds(const Graph& graph, const Node& node, const Rates& rates) {
  const auto form = *recurrent_form_of(graph, node);
  const auto sums = static_cast<double>(form.directions * form.steps * form.batch * form.gates * form.hidden);
  const auto read = static_cast<double>(form.directions * form.steps * form.gates * form.hidden * form.hidden);
  const auto depth = static_cast<double>(form.depth);
  return rates.seconds(Work::contraction, 2 * sums * depth, depth) + sizeof(float) * read / (kGiga * rates.l2_gbs) +
         rates.seconds(Work::function, sums, 1);
}

double seconds_of(const Graph& graph, const Node& node, const KernelChoice& choice, const Rates& rates) {
  const Family family = choice.family;
  const std::int64_t tile = choice.row_granularity;
  const auto elements = [&](Work kind, double units) { return rates.seconds(kind, units, 1); };
  switch (family) {
    case Family::view: return 0;
    case Family::conv:
    case Family::matmul:
    case Family::product:
    case Family::conv_transpose: return contraction_seconds(graph, node, choice.encoding, rates);
    case Family::recurrent: return recurrent_seconds(graph, node, rates);
    case Family::winograd: return winograd_seconds(graph, node, tile, rates);
    case Family::depthwise: {
      const Conv& conv = std::get<Conv>(node.op);
      return rates.seconds(Work::depthwise, flop_of(graph, node), static_cast<double>(conv.kernel[0] * conv.kernel[1]));
    }
    case Family::pool: {
      const Pool& pool = std::get<Pool>(node.op);
      return rates.seconds(Work::pool, flop_of(graph, node), static_cast<double>(pool.kernel[0] * pool.kernel[1]));
    }
    case Family::planes: {
      const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
      const double loads = weight[0] == 1 ? 2 : 1;  // a vector that crosses lines for each one that is multiplied
      return rates.seconds(Work::contraction, loads * flop_of(graph, node),
                           static_cast<double>(weight[1] * weight[2] * weight[3])) +
             elements(Work::transpose, sizeof(float) * elements_of(graph, node.inputs[0]));
    }
    case Family::unary:
      return elements(is_costly(std::get<Unary>(node.op).kind) ? Work::function : Work::arithmetic,
                      larger_side(graph, node));
    case Family::binary:
      return elements(std::get<Binary>(node.op).kind == BinaryKind::pow ? Work::function : Work::arithmetic,
                      larger_side(graph, node));
    case Family::softmax:
    case Family::layer_norm:
    case Family::lrn:
    case Family::instance_norm: return elements(Work::normalise, larger_side(graph, node));
    case Family::reduce:
    case Family::reduce_width: return elements(Work::reduce, larger_side(graph, node));
    case Family::resize: return elements(Work::resize, larger_side(graph, node));
    case Family::to_channels_last:
    case Family::to_channels_first:
    case Family::swap_axes: return elements(Work::transpose, sizeof(float) * larger_side(graph, node));
    case Family::island:
      return elements(Work::function, kIslandPerElement * larger_side(graph, node)) +
             rates.seconds(Work::contraction, flop_of(graph, node), kLanes);
    default: return elements(Work::copy, sizeof(float) * larger_side(graph, node));
  }
}

/// [terms, output channels] of a contraction with constant weights, of one group.
std::array<std::size_t, 2> terms_and_outputs(const Graph& graph, const Node& node) {
  const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
  const auto size = [](std::int64_t x) { return static_cast<std::size_t>(x); };
  if (const Conv* conv = std::get_if<Conv>(&node.op))
    return {size(weight[1] * weight[2] * weight[3]), size(weight[0] / conv->groups)};
  const bool transposed = std::get<MatMul>(node.op).transpose_b;
  return {size(weight[transposed ? 1 : 0]), size(weight[transposed ? 0 : 1])};
}

/// The tile of a convolution, and the channels of a group as it sees them.
struct WinogradSizes {
  kernels::winograd::Tile tile;
  std::size_t inputs;
  std::size_t outputs;
};
WinogradSizes winograd_sizes(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Conv& conv = std::get<Conv>(node.op);
  const Shape& weight = graph.value(node.inputs[1]).type.static_shape();
  return {winograd_tile(conv, choice.row_granularity), winograd_channels(conv, weight[1]),
          static_cast<std::size_t>(weight[0] / conv.groups)};
}

std::int64_t weights_bytes_of(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Family family = choice.family;
  const auto floats = [](std::size_t count) { return static_cast<std::int64_t>(count * sizeof(float)); };
  if (family == Family::winograd) {
    const auto [tile, inputs, outputs] = winograd_sizes(graph, node, choice);
    return floats(groups_of(node) * kernels::winograd::packed_floats(choice.encoding, tile, inputs, outputs));
  }
  if (choice.encoding == Encoding::bf16x3) {
    const auto [k, n] = terms_and_outputs(graph, node);
    const auto* conv = std::get_if<Conv>(&node.op);
    return (conv ? conv->groups : 1) * floats(kernels::gemm::packed_floats(choice.encoding, k, n));
  }
  if (family == Family::conv || family == Family::planes || family == Family::matmul ||
      family == Family::conv_transpose || family == Family::depthwise)
    return bytes_of(graph.value(node.inputs[1]));
  return 0;
}

std::int64_t scratch_bytes_of(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Family family = choice.family;
  if (family == Family::winograd) {
    const auto [tile, inputs, outputs] = winograd_sizes(graph, node, choice);
    return static_cast<std::int64_t>(sizeof(float) *
                                     kernels::winograd::workspace_floats(choice.encoding, tile, inputs, outputs));
  }
  if (choice.encoding == Encoding::bf16x3) {
    const auto [k, n] = terms_and_outputs(graph, node);
    return static_cast<std::int64_t>(sizeof(float) * kernels::gemm::workspace_floats(choice.encoding, k, n));
  }
  const auto shape = [&](std::size_t input) -> const Shape& {
    return graph.value(node.inputs[input]).type.static_shape();
  };
  const auto floats = [](std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(float)); };
  if (family == Family::product) {
    const std::int64_t columns = graph.value(node.outputs[0]).type.static_shape().back();
    return floats(static_cast<std::int64_t>(kernels::gemm::packed_floats(
        Encoding::f32, static_cast<std::size_t>(shape(0).back()), static_cast<std::size_t>(columns))));
  }
  if (family == Family::recurrent) return floats(recurrent_form_of(graph, node)->scratch_floats());
  if (family == Family::trees) {
    const auto& trees = std::get<TreeEnsemble>(node.op);  // scores in double, a leaf a tree, the sample twice
    const std::int64_t scores = std::max<std::int64_t>(2, trees.target_count);
    return floats(2 * scores + static_cast<std::int64_t>(trees.roots.size()) + 2 * shape(0).back());
  }
  if (family == Family::grid_sample) return floats(shape(0)[1] * (shape(0)[2] * shape(0)[3] + kSampleBlock));
  if (family == Family::planes) {
    const PlaneBlocks blocks = plane_blocks(graph, node);
    return floats(blocks.out_floats + std::get<Conv>(node.op).kernel[0] * blocks.row_floats);
  }
  if (family == Family::instance_norm)
    return 2 * graph.value(node.inputs[0]).type.static_shape().back() * static_cast<std::int64_t>(sizeof(float));
  return 0;
}

/// Seconds more than from L2 that a byte takes from this level when `threads` threads read.
double extra_seconds(const Topology& topology, MemoryLevel level, int threads) {
  if (level == MemoryLevel::l2) return 0;
  const Rates& rates = topology.rates;
  const bool l3 = level == MemoryLevel::l3;
  const double total = l3 ? rates.l3_total_gbs : rates.dram_total_gbs;
  double rate = l3 ? rates.l3_gbs : rates.dram_gbs;
  if (total > 0) rate = std::min(rate, std::max(total, rate) / std::min<double>(threads, rates.total_threads));
  return std::max(0.0, 1 / (kGiga * rate) - 1 / (kGiga * rates.l2_gbs));
}

}  // namespace

double winograd_flop(const Graph& graph, const Node& node, std::int64_t tile) {
  const Shape& shape = graph.value(node.outputs[0]).type.static_shape();
  const double sticking_out = padded(shape[1], tile) * padded(shape[2], tile) *
                              padded(shape[3] / static_cast<std::int64_t>(groups_of(node)), kLanes);
  constexpr double kProducts = 36.0 / (16 * 9);  // of 4x4 outputs of a 3x3 filter, whose rate is known
  return flop_of(graph, node) * sticking_out * winograd_products(std::get<Conv>(node.op), tile) / kProducts;
}

namespace {

double seconds_a_pixel(const Graph& graph, const Node& node, double seconds) {
  const Shape& out = graph.value(node.outputs[0]).type.static_shape();
  return seconds * static_cast<double>(out.back()) / static_cast<double>(element_count(out));
}

}  // namespace

std::vector<NodeWork> node_work(const Graph& graph, const std::vector<KernelChoice>& choices, const Rates& rates) {
  std::vector<NodeWork> work(graph.nodes.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool known = node.outputs[0] != kAbsent && graph.value(node.outputs[0]).type.is_static();
    work[i] = {known ? flop_of(graph, node) : 0,
               known ? seconds_of(graph, node, choices[i], rates) + epilogue_seconds(graph, node, rates) : 0, 0,
               weights_bytes_of(graph, node, choices[i]), scratch_bytes_of(graph, node, choices[i])};
    if (known && choices[i].encoding == Encoding::bf16x3)
      work[i].visit_seconds = kPiecesIdlePixels * seconds_a_pixel(graph, node, work[i].seconds);
  }
  return work;
}

MemoryLevel memory_level(const Topology& topology, std::int64_t bytes) {
  if (static_cast<double>(bytes) <= kUsableL2 * static_cast<double>(topology.cache_bytes(2))) return MemoryLevel::l2;
  const double l3 = kUsableL3 * static_cast<double>(topology.cache_bytes(3));
  return static_cast<double>(bytes) <= l3 ? MemoryLevel::l3 : MemoryLevel::dram;
}

CacheReach::CacheReach(const Topology& topology, int threads)
    : l2_bytes_(kUsableL2 * static_cast<double>(topology.cache_bytes(2))),
      l3_bytes_(kUsableL3 * static_cast<double>(topology.cache_bytes(3))),
      l3_seconds_(extra_seconds(topology, MemoryLevel::l3, threads)),
      dram_seconds_(extra_seconds(topology, MemoryLevel::dram, threads)) {}

double CacheReach::seconds_beyond_l2(std::int64_t bytes) const {
  const auto all = static_cast<double>(bytes);
  if (all <= l2_bytes_) return 0;
  const double in_l3 = std::min(all, std::max(l3_bytes_, l2_bytes_)) - l2_bytes_;
  const double in_dram = std::max(0.0, all - std::max(l3_bytes_, l2_bytes_));
  return (in_l3 * l3_seconds_ + in_dram * dram_seconds_) / all;
}

}  // namespace colonnade
