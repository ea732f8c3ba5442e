// SPDX-License-Identifier: Apache-2.0
#include "families/common.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade {

Match refuse(std::string reason) { return {std::move(reason), {}}; }
Match take(Form form, std::int64_t granularity) {
  return {{}, {{std::move(form), granularity, kernels::Encoding::f32, 0}}};
}

std::int64_t one_unit(const Chosen&) { return 1; }
std::int64_t no_bytes(const Chosen&) { return 0; }
std::int64_t weight_bytes(const Chosen& node) { return bytes_of(node.input(1)); }
ColumnWindow no_window(const Chosen&) { return {}; }
ColumnWindow same_columns(const Chosen&) { return {true}; }
ChunkRule no_chunks(const Chosen&) { return {}; }
ChunkRule carries_chunks(const Chosen&) { return {.carries = true}; }
std::vector<Placement> no_placements(const Chosen&) { return {}; }
Told nothing_told(const Chosen&) { return {}; }
Effort no_effort(const Chosen&, const Rates&) { return {}; }

double elements_of(const Graph& graph, ValueId id) {
  return static_cast<double>(element_count(graph.value(id).type.static_shape()));
}

double larger_side(const Subject& node) {
  const double out = elements_of(node.graph, node.node.outputs[0]);
  const bool given = node.has_input(0) && !node.input(0).constant;
  return given ? std::max(out, elements_of(node.graph, node.node.inputs[0])) : out;
}

double larger_side_bytes(const Subject& node) {
  const std::int64_t out = bytes_of(node.graph.value(node.node.outputs[0]));
  const bool given = node.has_input(0) && !node.input(0).constant;
  return static_cast<double>(given ? std::max(out, bytes_of(node.input(0))) : out);
}

double padded(std::int64_t count, std::int64_t grain) {
  return static_cast<double>(round_up(count, grain)) / static_cast<double>(count);
}

bool is_last(std::int64_t axis, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return rank > 0 && (axis == -1 || axis == rank - 1);
}

}  // namespace colonnade
