// SPDX-License-Identifier: Apache-2.0
// Concatenations and slices of channels as addressing: a value may lie inside the rows of another, its host, at a
// channel offset, so that the operator between the two has nothing to copy.
#pragma once

#include "families/family.hpp"
#include "plan/row_maps.hpp"

namespace colonnade {

/// Another value in whose rows a value may lie, and the channel of it where the value begins.
struct Host {
  ValueId value = kAbsent;
  std::int64_t channel = 0;
};

/// The host of every value (kAbsent: none). A part of a concatenation may lie in the concatenation, a slice of channels
/// in what it is cut from, provided all that write and read it do so by rows; skip connections do not. Whether it does
/// is decided where both have their place: two whole tensors, or two rings of one segment.
ByValue<Host> find_hosts(const Graph& graph, const ByNode<Choice>& choices, const ByNode<RowNode>& rows);

}  // namespace colonnade
