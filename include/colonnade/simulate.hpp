// SPDX-License-Identifier: Apache-2.0
// How long a model's plan would run on a machine, this one or another. Not part of colonnade/colonnade.hpp.
#pragma once

#include <string>
#include <vector>

#include "colonnade/model.hpp"

namespace colonnade {

struct SimulateOptions {
  /// JSON as describe_machine gives it on that machine, or shorter, by hand; "": this machine, by the rates that plans
  /// use here.
  std::string machine = {};
  /// Of teams, at most the machine's cores; a simulation each. Empty: 1, 2, 4 and so on, and all cores.
  std::vector<int> threads = {};
};

struct Simulation {
  /// JSON: `machine`, and one of `runs` for each number of threads with its predicted `ms`, `speedup` and `efficiency`
  /// beside one thread, where the threads' time goes (`share`, which adds up to 1), and the same of its `segments`.
  std::string report;
  std::string trace;  ///< of the last run, in Chrome's format, as Session::trace gives it
};

/// Makes the plans that the machine would get, schedule and math as the model's options say, and runs them on paper: an
/// event for every step, wait and barrier, caches and memory shared by who uses them at that moment. Threads are awake
/// and have a core each. What is not planned, because it depends on data, is not counted (`apart`). Any thread. Throws
/// as Model::describe, Error{invalid_input} for a machine that is none, Error{invalid_argument} for threads that it has
/// no cores for.
COLONNADE_API Simulation simulate(const Model& model, const ShapeMap& overrides = {},
                                  const SimulateOptions& options = {});

}  // namespace colonnade
