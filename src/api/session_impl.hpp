// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/growing.hpp"
#include "api/packed_texts.hpp"
#include "api/run_queue.hpp"
#include "api/runner.hpp"
#include "api/staging.hpp"
#include "api/turn.hpp"

namespace colonnade {

struct __attribute__((visibility("hidden"))) Session::Impl {
  explicit Impl(std::shared_ptr<const Model::Impl> shared)
      : model(std::move(shared)), runner(model), queue(model->topology.default_threads()) {}

  /// This, when the runs that were started are over. Throws what `control` says meanwhile; null: nothing.
  Impl& idle(const RunControl* control = nullptr) {
    queue.wait(control);
    return *this;
  }

  /// The plan of the last run. Throws Error{invalid_argument} when there is none.
  Entry& current() const;
  Entry& use(std::span<const TensorView> inputs, const RunControl& control, const Layouts& layouts = {});
  Entry& use(std::span<const Shape> shapes, const RunControl& control);
  Entry& use(const std::shared_ptr<const Graph>& source, std::span<const Shape> shapes, const RunControl& control);

  void check_count(std::size_t found) const;
  void check_inputs(std::span<const TensorView> inputs) const;
  void check_output_views(std::span<const MutableTensorView> outputs) const;

  std::vector<Tensor> run(std::span<const TensorView> inputs, RunControl& control);
  void run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs, RunControl& control);
  std::vector<Datum> run_data(std::span<const Datum> inputs, RunControl& control);

  std::shared_ptr<const Model::Impl> model;
  Runner runner;
  std::shared_ptr<Entry> entry;  ///< of the model itself, for the last shapes
  std::vector<TensorView> views;
  Staging staging;
  PackedTexts texts;
  GrownInputs grown;
  mutable TurnState turn{0};
  RunQueue queue;  ///< last: the rest outlives its tasks

 private:
  void check_output(std::size_t index, const MutableTensorView& view, DType dtype, const Shape& shape,
                    const Layouts& layouts) const;
  /// How inputs run as texts, which then are taken in.
  Way way_of(std::span<const TensorView> inputs);
  /// The packed texts: one tensor an output, of the packed graph.
  std::vector<Datum> run_packed(RunControl& control);
  /// Texts, packed or masked.
  std::vector<Tensor> run_texts(Way way, std::span<const TensorView> inputs, RunControl& control);
  void run_texts(Way way, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                 RunControl& control);
  /// The plan of a class of lengths, where the inputs have grown; null: they run by a plan of their own.
  Entry* use_grown(const GrownCall& call, std::span<const TensorView> inputs, const RunControl& control);
  std::optional<std::vector<Tensor>> run_grown(std::span<const TensorView> inputs, RunControl& control);
  bool run_grown(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs, RunControl& control);
  /// Inputs of any strides.
  std::vector<Tensor> run_tensors(std::span<const TensorView> inputs, RunControl& control);
  std::vector<Datum> run_dense(Entry& plan, std::span<const TensorView> inputs, RunControl& control);
  /// Both sides without strides, in the order of the plan's layouts.
  void run_dense(Entry& plan, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                 RunControl& control);
};

}  // namespace colonnade
