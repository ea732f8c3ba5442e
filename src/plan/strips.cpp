// SPDX-License-Identifier: Apache-2.0
#include "plan/strips.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

ColumnWindow window_of(const Graph& graph, const Node& node, const KernelChoice& choice) {
  const Family family = choice.family;
  ColumnWindow window{true};
  if (family == Family::winograd) window.grain = std::max(window.grain, choice.row_granularity);
  if (node.outputs[0] == kAbsent || node.inputs.empty() || node.inputs[0] == kAbsent) return {};
  const Shape& in = graph.value(node.inputs[0]).type.static_shape();
  const ValueId seen = family == Family::to_channels_first ? node.inputs[0] : node.outputs[0];
  window.width = row_shape(graph.value(seen).type.static_shape()).width;
  switch (family) {
    case Family::conv:
    case Family::winograd:
    case Family::planes:
    case Family::depthwise: {
      const Conv& conv = std::get<Conv>(node.op);
      window.kernel = conv.kernel[1], window.stride = conv.strides[1], window.dilation = conv.dilations[1];
      window.pad = resolve_pads(conv, std::span(in).subspan(1, 2))[1];
      window.residual = conv.epilogue.residual;
      return window;
    }
    case Family::pool: {
      const Pool& pool = std::get<Pool>(node.op);
      window.kernel = pool.kernel[1], window.stride = pool.strides[1], window.dilation = pool.dilations[1];
      window.pad = resolve_pads(pool, std::span(in).subspan(1, 2))[1];
      return window;
    }
    case Family::unary:
    case Family::binary:
    case Family::softmax:
    case Family::layer_norm:
    case Family::lrn:
    case Family::to_channels_last:
    case Family::to_channels_first: return window;
    case Family::concat: {
      const auto rank = static_cast<std::int64_t>(in.size());
      window.known = normalize_axis(std::get<Concat>(node.op).axis, rank, node) == rank - 1;
      return window;
    }
    default: window.known = false; return window;
  }
}

}  // namespace

std::vector<ColumnWindow> column_windows(const Graph& graph, const std::vector<KernelChoice>& choices) {
  std::vector<ColumnWindow> windows;
  for (std::size_t i = 0; i < choices.size(); ++i)
    windows.push_back(choices[i].by_rows() ? window_of(graph, graph.nodes[i], choices[i]) : ColumnWindow{});
  return windows;
}

Interval input_columns(const ColumnWindow& window, std::int64_t width, Interval out) {
  const Interval all{0, width};
  if (width == 1) return all;
  const Interval read{out.begin * window.stride - window.pad,
                      (out.end - 1) * window.stride - window.pad + (window.kernel - 1) * window.dilation + 1};
  return intersect(all, window.residual ? hull(read, out) : read);
}

Interval strip_share(const ColumnWindow& window, std::int64_t strip, std::int64_t count) {
  const std::int64_t width = window.width;
  const auto cut = [&](std::int64_t k) { return k == count ? width : round_up(width * k / count, window.grain); };
  return {std::min(width, cut(strip)), std::min(width, cut(strip + 1))};
}

Interval strip_grain(Interval columns, const ColumnWindow& window) {
  return {columns.begin / window.grain * window.grain, std::min(window.width, round_up(columns.end, window.grain))};
}

std::optional<std::vector<std::vector<Interval>>> cut_strips(const std::vector<ColumnWindow>& windows,
                                                             const LocalSegment& segment, std::int64_t count) {
  std::vector<std::vector<Interval>> strips;
  for (std::int64_t strip = 0; strip < count; ++strip) {
    std::vector<Interval> columns(segment.nodes.size());
    for (std::size_t i = segment.nodes.size(); i-- > 0;) {
      const LocalNode& node = segment.nodes[i];
      const ColumnWindow& window = windows[static_cast<std::size_t>(node.node)];
      if (node.whole) columns[i] = hull(columns[i], strip_share(window, strip, count));
      columns[i] = strip_grain(columns[i], window);
      if (!window.known || columns[i].empty() || window.width < count * kMinStripColumns) return std::nullopt;
      for (const LocalInput& input : node.inputs) {
        const auto p = static_cast<std::size_t>(input.producer);
        const std::int64_t width = windows[static_cast<std::size_t>(segment.nodes[p].node)].width;
        columns[p] = hull(columns[p], input_columns(window, width, columns[i]));
      }
    }
    strips.push_back(std::move(columns));
  }
  return strips;
}

}  // namespace colonnade
