// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "plan/plan.hpp"

namespace colonnade {
namespace {

std::string_view word(SegmentPlan::Kind kind) {
  constexpr std::string_view kWords[] = {"columns", "layer", "island", "view"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view sharing_of(const SegmentPlan& segment) {
  constexpr std::string_view kWords[] = {"one thread", "images", "bands", "channels"};
  if (segment.sharing == Sharing::rounds && segment.images == 1) return "strips";
  return kWords[static_cast<std::size_t>(segment.sharing)];
}

void print_node(std::string& text, const Plan& plan, const Graph& graph, const SegmentPlan& segment, NodeIndex index) {
  const auto out = std::back_inserter(text);
  const Node& node = node_of(graph, index);
  const Value& value = graph.value(node.outputs[0]);
  const Storage& storage = plan.storage[node.outputs[0]];
  const Choice& choice = plan.choices[index];
  fmt::format_to(out, "    {} ", choice.family->name);
  if (const Told told = choice.family->tell({{graph, node}, choice}); told.tile > 0)
    fmt::format_to(out, "{}x{} ", told.tile_rows, told.tile);
  fmt::format_to(out, "{} %{} {}", name_of(node.op), value.name, to_text(value.type));
  const auto ring = std::find_if(segment.rings.begin(), segment.rings.end(),
                                 [&](const Ring& candidate) { return candidate.value == node.outputs[0]; });
  if (ring != segment.rings.end()) {
    fmt::format_to(out, " ring {} rows of {} bytes", ring->rows, ring->row_bytes);
    if (ring->chunk_count > 1) fmt::format_to(out, " in {} chunks", ring->chunk_count);
    if (ring->host != kAbsent)
      fmt::format_to(out, " of %{} from channel {}", graph.value(ring->host).name, ring->channel);
    if (ring->head_rows > 0) fmt::format_to(out, ", head {} rows", ring->head_rows);
  } else if (storage.place == Place::arena) {
    fmt::format_to(out, " whole at {}", storage.offset);
  } else if (storage.place == Place::output) {
    fmt::format_to(out, " output {}", storage.index);
  }
  if (storage.host != kAbsent)
    fmt::format_to(out, " in %{} from channel {}", graph.value(storage.host).name, storage.channel);
  if (!choice.reason.empty()) fmt::format_to(out, " ({})", choice.reason);
  text += '\n';
}

}  // namespace

std::string outline(const Plan& plan) {
  double in_columns = 0;
  std::size_t segments = 0;
  for (const SegmentPlan& segment : plan.segments) {
    if (segment.kind == SegmentPlan::Kind::columns) in_columns += segment.flop;
    if (segment.kind != SegmentPlan::Kind::view) ++segments;
  }
  return fmt::format("{} in {} segment{}", 2 * in_columns > plan.flop ? "columns" : "layers", segments,
                     segments == 1 ? "" : "s");
}

std::string to_text(const Plan& plan, const Graph& graph) {
  std::string text = fmt::format("plan of '{}': {} segments, {} threads, arena {} bytes\n", graph.name,
                                 std::count_if(plan.segments.begin(), plan.segments.end(),
                                               [](const SegmentPlan& s) { return s.kind != SegmentPlan::Kind::view; }),
                                 plan.threads, plan.arena_bytes);
  for (const SegmentPlan& segment : plan.segments) {
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "  {}: {} nodes, {}", word(segment.kind), segment.nodes.size(), sharing_of(segment));
    if (segment.images > 1) fmt::format_to(out, ", {} images", segment.images);
    if (segment.turns > 1) fmt::format_to(out, ", {} turns", segment.turns);
    if (segment.rows_per_step > 0) fmt::format_to(out, ", {} rows a step", segment.rows_per_step);
    if (!segment.strips.empty()) fmt::format_to(out, ", {} strips", segment.strips.size());
    for (const Interval& band : segment.bands)
      if (segment.bands.size() > 1) fmt::format_to(out, " [{},{})", band.begin, band.end);
    fmt::format_to(out, ", rings {} bytes a thread, halo {} rows; {}\n", segment.ring_bytes, segment.halo_rows,
                   segment.ends_because);
    for (const ChunkGroup& group : segment.chunk_groups)
      fmt::format_to(out, "    chunks of {} of {} channels, {} nodes\n", group.chunk_channels, group.channels,
                     group.nodes.size());
    for (const NodeIndex node : segment.nodes) print_node(text, plan, graph, segment, node);
  }
  return text;
}

}  // namespace colonnade
