// SPDX-License-Identifier: Apache-2.0
// How much memory a model will take, known before it takes it. Not part of colonnade/colonnade.hpp.
#pragma once

#include <cstddef>

#include "colonnade/model.hpp"

namespace colonnade {

/// What running a model with inputs of certain shapes takes, in bytes.
struct MemoryNeed {
  std::size_t weights = 0;    ///< packed, and constants that are read as they are, all copies; shared by all sessions
  std::size_t plan = 0;       ///< graph, plan and program, about; shared by all sessions
  std::size_t arena = 0;      ///< of each session: rings, tensors between segments, workspaces of kernels
  std::size_t outputs = 0;    ///< of a run, which its caller keeps
  std::size_t nodes = 1;      ///< NUMA nodes of which each has a copy of the weights and sessions of its own
  bool is_known = true;       ///< false: what follows some node depends on data and is not counted
  bool is_steady = true;      ///< kernels run everything: what a run takes, time too, follows from shapes alone
  bool is_repeatable = true;  ///< nothing draws random numbers: equal inputs get equal outputs

  std::size_t of_sessions(std::size_t count) const { return weights + plan + count * (arena + outputs); }
};

/// Makes a plan and packs no weights: the plan is kept for the next run or `prepare` with these shapes and threads (0:
/// the model's). Any thread. Throws as Model::describe.
COLONNADE_API MemoryNeed memory_need(const Model& model, const ShapeMap& overrides = {}, int threads = 0);

}  // namespace colonnade
