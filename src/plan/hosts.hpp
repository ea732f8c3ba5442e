// SPDX-License-Identifier: Apache-2.0
// Concatenations and slices of channels as addressing: a value may lie inside the rows of another, its host, at a
// channel offset, so that the operator between the two has nothing to copy.
#pragma once

#include <vector>

#include "families/family.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// The host of a value, and the channel of it where the value begins.
struct Host {
  ValueId value = kAbsent;
  std::int64_t channel = 0;
};

/// Per value: its host (kAbsent: none). A part of a concatenation may lie in the concatenation, a slice of channels in
/// what it is cut from, provided all that write and read it do so by rows; skip connections do not. Whether it does is
/// decided where both have
/// their place: two whole tensors, or two rings of one segment.
std::vector<Host> find_hosts(const Graph& graph, const std::vector<Choice>& choices, const std::vector<RowNode>& rows);

}  // namespace colonnade
