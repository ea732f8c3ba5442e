// SPDX-License-Identifier: Apache-2.0
// What runs a model. Part of colonnade/colonnade.hpp.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "colonnade/model.hpp"

namespace colonnade {

/// Runs a model. Owns plans, arenas and scratch; use one per thread, a call at a time: a call beside another thread's
/// throws Error{invalid_argument}, and so does one of a session that was made of nothing or moved from. Calls wait for
/// runs that `run_async` has started, except `run_async` itself. All sessions of a process share one set of worker
/// threads: a run takes those that are idle and does the rest itself. Where shapes depend on data, what follows is
/// planned when they are known.
///
/// Runs throw Error{invalid_argument} for a wrong number of inputs or outputs and for outputs of a wrong type or shape,
/// Error{invalid_input} for inputs of a wrong type, shape or value (an index out of range), Error{invalid_model} and
/// Error{unsupported} for what shows only now that shapes are known, Error{resource_limit} for a plan beyond the memory
/// limit or loops beyond theirs, Error{io} when the model's file has changed, Error{cancelled} and Error{deadline} as
/// RunOptions says.
class COLONNADE_API Session {
 public:
  Session() noexcept;
  explicit Session(const Model& model);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Plans for these shapes and threads (as of RunOptions) now, so that the next run does not. Throws as
  /// `Model::resolve_shapes` and runs do.
  void prepare(const ShapeMap& overrides = {}, int threads = 0);
  /// The same for a run with these options, whose stop, deadline and poll end it.
  void prepare(const ShapeMap& overrides, const RunOptions& options);
  /// Shapes of the outputs for the given inputs' shapes; -1 for dimensions that depend on data. Throws as runs do.
  std::vector<Shape> output_shapes(std::span<const Shape> input_shapes, const RunOptions& options = {});

  /// Runs with inputs in the model's order; returns new tensors.
  std::vector<Tensor> run(std::span<const TensorView> inputs, const RunOptions& options = {});
  std::vector<Tensor> run(std::initializer_list<TensorView> inputs, const RunOptions& options = {}) {
    return run(std::span<const TensorView>(inputs.begin(), inputs.size()), options);
  }
  /// The same with inputs and outputs by name. Throws Error{invalid_argument} for names that the model has not and for
  /// inputs that are missing.
  NamedOutputs run_named(const NamedInputs& inputs, const RunOptions& options = {});
  /// The same for any data: models whose inputs or outputs are sequences, optionals or maps.
  std::vector<Datum> run_data(std::span<const Datum> inputs, const RunOptions& options = {});
  /// Runs into the caller's memory, whose shapes must equal the outputs' shapes.
  void run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
           const RunOptions& options = {});
  void run(std::initializer_list<TensorView> inputs, std::initializer_list<MutableTensorView> outputs,
           const RunOptions& options = {}) {
    run(std::span<const TensorView>(inputs.begin(), inputs.size()),
        std::span<const MutableTensorView>(outputs.begin(), outputs.size()), options);
  }

  /// Starts a run and returns at once; the future has what the run would have thrown. Runs of a session follow each
  /// other in the order of their calls. The memory of
  /// the inputs must live until the run is over; the session's destructor waits for its runs.
  std::future<std::vector<Tensor> > run_async(std::vector<TensorView> inputs, RunOptions options = {});
  /// The same into the caller's memory. `done` is called once, by a thread of the library, with null or with what was
  /// thrown; it must not throw, and may start other runs but not destroy the session.
  void run_async(std::vector<TensorView> inputs, std::vector<MutableTensorView> outputs,
                 std::function<void(std::exception_ptr)> done, RunOptions options = {});

  /// Gives back all memory that the next run can make anew: plans, arenas.
  void shrink();
  struct MemoryStats {
    std::size_t weights_bytes = 0;  ///< packed weights of the model, shared by all its sessions
    std::size_t arena_bytes = 0;    ///< of all plans that this session keeps
    std::size_t plan_bytes = 0;     ///< what else these plans take
    std::size_t plans = 0;
  };
  MemoryStats memory_stats() const;

  struct Stats {
    double plan_ms = 0;             ///< time spent on passes, plan and compile for the current shapes
    std::size_t weights_bytes = 0;  ///< packed weights, shared by all sessions of the model
    std::size_t arena_bytes = 0;    ///< of the current plan
    std::size_t cached_plans = 0;
    std::size_t cached_bytes = 0;  ///< what they take, arenas included, packed weights not
    int threads = 1;
  };
  /// Throws Error{invalid_argument} before the first run or `prepare`.
  Stats stats() const;

  /// Collect the time of every step from the next run on (small overhead).
  void set_profiling(bool on);
  /// Both throw Error{invalid_argument} before the first run or `prepare`. JSON: {"segments":[{"index","ms"}],
  /// "operators":[{"node","op","segment","ms","calls"}]} of the runs since profiling was turned on, in milliseconds a
  /// run.
  std::string profile() const;
  /// The same runs in Chrome/Perfetto trace-event format: microseconds from the start of the first, one row a thread
  /// of the plan.
  std::string trace() const;

 private:
  struct Impl;
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace colonnade
