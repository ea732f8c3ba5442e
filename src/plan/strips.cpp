// SPDX-License-Identifier: Apache-2.0
#include "plan/strips.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kGranularity = 4;  // Winograd tiles start at multiples of it
constexpr std::int64_t kMinColumns = 64;

RowShape shape_of(const PlanContext& context, const LocalNode& node) {
  const Node& graph_node = context.graph.nodes[static_cast<std::size_t>(node.node)];
  const bool planes = context.choices[static_cast<std::size_t>(node.node)].family == Family::to_channels_first;
  return row_shape(context.graph.value(planes ? graph_node.inputs[0] : graph_node.outputs[0]).type.static_shape());
}

Interval window_columns(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                        Interval out) {
  return {out.begin * stride - pad, (out.end - 1) * stride - pad + (kernel - 1) * dilation + 1};
}

/// Columns of an input `width` wide that output columns `out` need; nothing: not known by this family.
std::optional<Interval> input_columns(const PlanContext& context, const LocalNode& local, std::int64_t width,
                                      Interval out) {
  const auto i = static_cast<std::size_t>(local.node);
  const Node& node = context.graph.nodes[i];
  const Shape& in = context.graph.value(node.inputs[0]).type.static_shape();
  const Interval all{0, width};
  switch (context.choices[i].family) {
    case Family::conv:
    case Family::winograd:
    case Family::depthwise: {
      const Conv& conv = std::get<Conv>(node.op);
      const Ints pads = resolve_pads(conv, std::span(in).subspan(1, 2));
      return intersect(all, hull(window_columns(conv.kernel[1], conv.strides[1], conv.dilations[1], pads[1], out),
                                 conv.epilogue.residual ? out : Interval{}));
    }
    case Family::pool: {
      const Pool& pool = std::get<Pool>(node.op);
      const Ints pads = resolve_pads(pool, std::span(in).subspan(1, 2));
      return intersect(all, window_columns(pool.kernel[1], pool.strides[1], pool.dilations[1], pads[1], out));
    }
    case Family::unary:
    case Family::binary:
    case Family::softmax:
    case Family::layer_norm:
    case Family::lrn:
    case Family::to_channels_last:
    case Family::to_channels_first: return width == 1 ? all : intersect(all, out);
    case Family::concat: {
      const auto rank = static_cast<std::int64_t>(in.size());
      if (normalize_axis(std::get<Concat>(node.op).axis, rank, node) != rank - 1) return std::nullopt;
      return intersect(all, out);
    }
    default: return std::nullopt;
  }
}

Interval share_of(std::int64_t width, std::int64_t strip, std::int64_t count) {
  const auto cut = [&](std::int64_t k) { return k == count ? width : round_up(width * k / count, kGranularity); };
  return {std::min(width, cut(strip)), std::min(width, cut(strip + 1))};
}

}  // namespace

std::optional<std::vector<std::vector<Interval>>> cut_strips(const PlanContext& context, const LocalSegment& segment,
                                                             std::int64_t count) {
  std::vector<std::vector<Interval>> strips;
  for (std::int64_t strip = 0; strip < count; ++strip) {
    std::vector<Interval> columns(segment.nodes.size());
    for (std::size_t i = segment.nodes.size(); i-- > 0;) {
      const LocalNode& node = segment.nodes[i];
      const std::int64_t width = shape_of(context, node).width;
      if (node.whole) columns[i] = hull(columns[i], share_of(width, strip, count));
      columns[i] = {columns[i].begin / kGranularity * kGranularity,
                    std::min(width, round_up(columns[i].end, kGranularity))};
      if (columns[i].empty() || width < count * kMinColumns) return std::nullopt;
      for (const LocalInput& input : node.inputs) {
        const auto p = static_cast<std::size_t>(input.producer);
        const auto needed = input_columns(context, node, shape_of(context, segment.nodes[p]).width, columns[i]);
        if (!needed) return std::nullopt;
        columns[p] = hull(columns[p], *needed);
      }
      if (node.inputs.empty() && !input_columns(context, node, width, columns[i])) return std::nullopt;
    }
    strips.push_back(std::move(columns));
  }
  return strips;
}

double recomputed_share(const PlanContext& context, const LocalSegment& segment,
                        const std::vector<std::vector<Interval>>& strips) {
  double computed = 0, all = 0;
  for (std::size_t i = 0; i < segment.nodes.size(); ++i) {
    const double weight = segment.nodes[i].weight;
    const auto width = static_cast<double>(shape_of(context, segment.nodes[i]).width);
    for (const auto& columns : strips) computed += weight * static_cast<double>(columns[i].size()) / width;
    all += weight;
  }
  return all > 0 ? computed / all : 1;
}

}  // namespace colonnade
