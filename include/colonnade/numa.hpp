// SPDX-License-Identifier: Apache-2.0
// Threads of a program beside memory on machines of several NUMA nodes. Not part of colonnade/colonnade.hpp.
#pragma once

#include <string_view>

#include "colonnade/tensor.hpp"

namespace colonnade {

/// Keeps the calling thread to the processors of one NUMA node, as `numa` says (Options::numa): of node N for "node=N",
/// of none for "off", else of the process's nodes in turns: the first for turn 0, the next for turn 1, round and round.
/// On one node nothing happens. Sessions that are first used by a thread have their memory on its node. Throws
/// Error{invalid_argument} for other words.
COLONNADE_API void stay_on_node(std::string_view numa, int turn = 0);

/// The node that the calling thread runs on, as the system numbers it.
COLONNADE_API int current_node();

}  // namespace colonnade
