// SPDX-License-Identifier: Apache-2.0
#include "plan/row_maps.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kUnitChannels = 16;

/// Row view of the node's output; a channels-first output is seen as the channels-last one it is made from.
RowShape output_rows(const Graph& graph, const Node& node, Family family) {
  const ValueId seen = family == Family::to_channels_first ? node.inputs[0] : node.outputs[0];
  return row_shape(graph.value(seen).type.static_shape());
}

/// Units that threads share of a kernel on whole tensors.
std::int64_t unit_count(const Graph& graph, const Node& node, Family family) {
  const Shape& in = graph.value(node.inputs[0]).type.static_shape();
  switch (family) {
    case Family::reduce: return reduced_axes_of(in, *constant_ints(graph, node, 1), node)->outer;
    case Family::instance_norm: return in.front() * ceil_div(in.back(), kUnitChannels);
    case Family::swap_axes: return axis_swap_of(in, std::get<Transpose>(node.op).perm)->outer;
    case Family::product: {
      const Shape out =
          heads_swapped(graph.value(node.outputs[0]).type.static_shape(), std::get<MatMul>(node.op).heads_inside_out);
      return element_count(std::span(out).first(out.size() - 2)) * ceil_div(out[out.size() - 2], kProductRows);
    }
    case Family::recurrent: return recurrent_form_of(graph, node)->directions;
    case Family::trees:
    case Family::grid_sample: return in.front();
    default: return 1;
  }
}

RowMap map_of(const Graph& graph, const Node& node, std::size_t input, std::int64_t rows) {
  RowMap map;
  const ValueId id = node.inputs[input];
  if (id == kAbsent || graph.value(id).constant) return map;
  map.begin.reserve(static_cast<std::size_t>(rows));
  map.end.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto needed = access_rows(graph, node, input, {row, row + 1});
    if (!needed) return {};
    map.begin.push_back(static_cast<std::int32_t>(needed->begin));
    map.end.push_back(static_cast<std::int32_t>(needed->end));
  }
  // Rows that are read out of order (reflected padding) are kept from the first time they are needed to the last.
  for (std::size_t row = 1; row < map.end.size(); ++row) map.end[row] = std::max(map.end[row], map.end[row - 1]);
  for (std::size_t row = map.begin.size(); row-- > 1;)
    map.begin[row - 1] = std::min(map.begin[row - 1], map.begin[row]);
  return map;
}

}  // namespace

std::vector<RowNode> row_nodes(const Graph& graph, const std::vector<KernelChoice>& choices) {
  std::vector<RowNode> result(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const KernelChoice& choice = choices[i];
    RowNode& row_node = result[i];
    row_node.inputs.resize(node.inputs.size());
    if (choice.family == Family::island || choice.family == Family::view) continue;
    if (!choice.by_rows()) {
      row_node.rows = unit_count(graph, node, choice.family);
      continue;
    }
    const RowShape shape = output_rows(graph, node, choice.family);
    row_node.by_rows = true;
    row_node.images = shape.images;
    row_node.rows = shape.rows;
    row_node.granularity = choice.row_granularity;
    row_node.row_bytes = shape.row_elements() * static_cast<std::int64_t>(sizeof(float));
    for (std::size_t k = 0; k < node.inputs.size(); ++k) row_node.inputs[k] = map_of(graph, node, k, shape.rows);
  }
  return result;
}

}  // namespace colonnade
