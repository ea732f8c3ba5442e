// SPDX-License-Identifier: Apache-2.0
#include "plan/chunks.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "graph/contraction.hpp"
#include "kernels/gemm/gemm.hpp"
#include "plan/conv_choice.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kChunkChannels = 64;
constexpr std::int64_t kMinChannels = 2 * kChunkChannels;
static_assert(kPanel == kernels::gemm::kPanel);
constexpr auto kPiecesStep = static_cast<std::int64_t>(kernels::gemm::kPiecesStep);
// Matrix units cut all pixels into pieces for each chunk that they expand.
constexpr std::int64_t kPiecesChannels = 192;

/// Channels of equal chunks, about `wish` each, in multiples of `grain`.
std::int64_t chunk_channels(std::int64_t channels, std::int64_t wish, std::int64_t grain) {
  return round_up(ceil_div(channels, ceil_div(channels, wish)), grain);
}

bool is_pointwise(const PlanContext& context, std::int32_t index) {
  const Node& node = context.graph.nodes[static_cast<std::size_t>(index)];
  const Family family = context.choices[static_cast<std::size_t>(index)].family;
  if (family == Family::matmul) return true;
  if (family != Family::conv) return false;
  const Conv& conv = std::get<Conv>(node.op);
  const auto all = [](const Ints& values, std::int64_t x) {
    return std::all_of(values.begin(), values.end(), [x](auto v) { return v == x; });
  };
  return conv.groups == 1 && all(conv.kernel, 1) && all(conv.strides, 1);
}

/// Whether the epilogue reads a tensor of its own.
bool has_operands(const FusedEpilogue& epilogue) { return epilogue.residual || epilogue.prelu_slope; }

bool is_channel_wise(const PlanContext& context, std::int32_t index) {
  const auto i = static_cast<std::size_t>(index);
  const Node& node = context.graph.nodes[i];
  if (context.choices[i].family == Family::unary) return true;
  return context.choices[i].family == Family::depthwise && !has_operands(*epilogue_of(node.op));
}

/// The single inner consumer of a node that nothing else reads; -1 otherwise.
std::int32_t only_consumer(const LocalNode& node) {
  return node.whole || node.consumers.size() != 1 ? -1 : node.consumers.front();
}

}  // namespace

void find_chunks(const PlanContext& context, LocalSegment& segment) {
  for (std::size_t head = 0; head < segment.nodes.size(); ++head) {
    const LocalNode& first = segment.nodes[head];
    const Node& expand = context.graph.nodes[static_cast<std::size_t>(first.node)];
    if (first.chunk_group >= 0 || !is_pointwise(context, first.node) || has_operands(*epilogue_of(expand.op))) continue;
    const std::int64_t channels = context.graph.value(expand.outputs[0]).type.static_shape().back();
    if (channels < kMinChannels) continue;
    ChunkGroup group{{static_cast<std::int32_t>(head)}, channels, 0};
    std::int32_t next = only_consumer(first);
    while (next >= 0 && is_channel_wise(context, segment.nodes[static_cast<std::size_t>(next)].node)) {
      group.nodes.push_back(next);
      next = only_consumer(segment.nodes[static_cast<std::size_t>(next)]);
    }
    if (next < 0 || !is_pointwise(context, segment.nodes[static_cast<std::size_t>(next)].node)) continue;
    const Node& project =
        context.graph.nodes[static_cast<std::size_t>(segment.nodes[static_cast<std::size_t>(next)].node)];
    const Node& last_middle =
        context.graph.nodes[static_cast<std::size_t>(segment.nodes[static_cast<std::size_t>(group.nodes.back())].node)];
    if (takes_partial_sums(context.graph, project)) continue;
    if (project.inputs[0] != last_middle.outputs[0] || segment.nodes[static_cast<std::size_t>(next)].chunk_group >= 0)
      continue;
    group.nodes.push_back(next);
    const auto has_pieces = [&](std::int32_t local) {
      return context.choices[static_cast<std::size_t>(segment.nodes[static_cast<std::size_t>(local)].node)].encoding ==
             kernels::Encoding::bf16x3;
    };
    const bool cuts = has_pieces(group.nodes.front());
    group.chunk_channels = chunk_channels(channels, cuts ? kPiecesChannels : kChunkChannels,
                                          has_pieces(group.nodes.back()) ? kPiecesStep : kPanel);
    for (const std::int32_t member : group.nodes)
      segment.nodes[static_cast<std::size_t>(member)].chunk_group =
          static_cast<std::int32_t>(segment.chunk_groups.size());
    segment.chunk_groups.push_back(std::move(group));
  }
}

}  // namespace colonnade
