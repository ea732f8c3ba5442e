// SPDX-License-Identifier: Apache-2.0
// The same bytes under another shape.
#include "families/common.hpp"
#include "families/row_op.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

Match match(const Candidate& node) {
  const Operator& op = node.node.op;
  const bool view = std::holds_alternative<Reshape>(op) || std::holds_alternative<Flatten>(op) ||
                    std::holds_alternative<Squeeze>(op) || std::holds_alternative<Unsqueeze>(op);
  return view ? take() : refuse();
}

std::unique_ptr<RowOp> lower(const LowerContext&) { return nullptr; }

}  // namespace

constinit const Family families::view = {.name = "view",
                                         .scope = Scope::view,
                                         .border = Border::none,
                                         .types = kAllTypes,
                                         .match = match,
                                         .units = one_unit,
                                         .effort = no_effort,
                                         .weights_bytes = no_bytes,
                                         .workspace_bytes = no_bytes,
                                         .window = no_window,
                                         .chunks = no_chunks,
                                         .placements = no_placements,
                                         .tell = nothing_told,
                                         .lower = lower};

}  // namespace colonnade
