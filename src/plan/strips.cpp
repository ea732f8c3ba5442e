// SPDX-License-Identifier: Apache-2.0
#include "plan/strips.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

ByNode<ColumnWindow> column_windows(const Graph& graph, const ByNode<Choice>& choices) {
  auto windows = ByNode<ColumnWindow>::of(choices.size());
  for (const NodeIndex i : choices.indices()) {
    if (!choices[i].by_rows()) continue;
    const Node& node = node_of(graph, i);
    windows[i] = choices[i].family->window({{graph, node}, choices[i]});
    windows[i].width = output_rows(graph, node, choices[i]).width;
  }
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

std::optional<std::vector<ByLocal<Interval>>> cut_strips(const ByNode<ColumnWindow>& windows,
                                                         const LocalSegment& segment, std::int64_t count) {
  std::vector<ByLocal<Interval>> strips;
  for (std::int64_t strip = 0; strip < count; ++strip) {
    auto columns = ByLocal<Interval>::of(segment.nodes.size());
    for (const LocalIndex i : segment.nodes.indices().reversed()) {
      const LocalNode& node = segment.nodes[i];
      const ColumnWindow& window = windows[node.node];
      if (node.whole) columns[i] = hull(columns[i], strip_share(window, strip, count));
      columns[i] = strip_grain(columns[i], window);
      if (!window.known || columns[i].empty() || window.width < count * kMinStripColumns) return std::nullopt;
      for (const LocalInput& input : node.inputs) {
        const LocalIndex p = input.producer;
        const std::int64_t width = windows[segment.nodes[p].node].width;
        columns[p] = hull(columns[p], input_columns(window, width, columns[i]));
      }
    }
    strips.push_back(std::move(columns));
  }
  return strips;
}

}  // namespace colonnade
