// SPDX-License-Identifier: Apache-2.0
// What rows of the table share: members for what a family does not have, and work by the element.
#pragma once

#include "families/family.hpp"

namespace colonnade {

std::int64_t one_unit(const Chosen& node);
std::int64_t no_bytes(const Chosen& node);
/// Of the second input, as it is given.
std::int64_t weight_bytes(const Chosen& node);
/// Does not run on part of a row.
ColumnWindow no_window(const Chosen& node);
/// Reads the columns that it writes.
ColumnWindow same_columns(const Chosen& node);
ChunkRule no_chunks(const Chosen& node);
ChunkRule carries_chunks(const Chosen& node);
std::vector<Placement> no_placements(const Chosen& node);
Told nothing_told(const Chosen& node);
Effort no_effort(const Chosen& node, const Rates& rates);

/// What a family on whole tensors says of itself (Family): it has no columns, no chunks, no places in others' rows.
struct WholeFamily {
  std::string_view name;
  TypeSet types;
  Match (*match)(const Candidate&);
  std::int64_t (*units)(const Chosen&);
  Effort (*effort)(const Chosen&, const Rates&);
  std::int64_t (*weights_bytes)(const Chosen&);
  std::int64_t (*workspace_bytes)(const Chosen&);
  Turns (*turns)(const Chosen&) = one_turn;
  std::unique_ptr<RowOp> (*lower)(const LowerContext&);
};
constexpr Family whole_family(const WholeFamily& row) {
  return {.name = row.name,
          .scope = Scope::whole,
          .border = Border::none,
          .types = row.types,
          .match = row.match,
          .units = row.units,
          .effort = row.effort,
          .weights_bytes = row.weights_bytes,
          .workspace_bytes = row.workspace_bytes,
          .turns = row.turns,
          .window = no_window,
          .chunks = no_chunks,
          .placements = no_placements,
          .tell = nothing_told,
          .lower = row.lower};
}

double elements_of(const Graph& graph, ValueId id);
/// Elements of the larger of the first input and the first output.
double larger_side(const Subject& node);
double larger_side_bytes(const Subject& node);
/// What is computed over what is needed, when `count` things come `grain` at a time.
double padded(std::int64_t count, std::int64_t grain);

/// Every element of the larger side once.
template <Work kind>
Effort element_effort(const Chosen& node, const Rates& rates) {
  return {rates.seconds(kind, larger_side(node), 1)};
}
/// Every byte of the larger side once.
template <Work kind>
Effort byte_effort(const Chosen& node, const Rates& rates) {
  return {rates.seconds(kind, larger_side_bytes(node), 1)};
}

/// Whether an axis is the innermost one.
bool is_last(std::int64_t axis, const Shape& shape);

}  // namespace colonnade
