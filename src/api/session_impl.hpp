// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/run_queue.hpp"
#include "api/runner.hpp"
#include "api/staging.hpp"

namespace colonnade {

struct __attribute__((visibility("hidden"))) Session::Impl {
  explicit Impl(std::shared_ptr<const Model::Impl> shared)
      : model(std::move(shared)), runner(model), queue(model->topology.default_threads()) {}

  /// This, when the runs that were started are over.
  Impl& idle() {
    queue.wait();
    return *this;
  }

  /// The plan of the last run. Throws Error{invalid_argument} when there is none.
  Entry& current() const;
  Entry& use(std::span<const TensorView> inputs, int threads, const Layouts& layouts = {});
  Entry& use(std::span<const Shape> shapes, int threads);

  void check_count(std::size_t found) const;
  void check_inputs(std::span<const TensorView> inputs) const;
  void check_output_views(std::span<const MutableTensorView> outputs) const;

  std::vector<Tensor> run(std::span<const TensorView> inputs, const RunOptions& options);
  void run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs, const RunOptions& options);
  std::vector<Datum> run_data(std::span<const Datum> inputs, const RunOptions& options);

  std::shared_ptr<const Model::Impl> model;
  Runner runner;
  std::shared_ptr<Entry> entry;  ///< of the model itself, for the last shapes
  std::vector<TensorView> views;
  Staging staging;
  RunQueue queue;  ///< last: the rest outlives its tasks

 private:
  void check_output(std::size_t index, const MutableTensorView& view, DType dtype, const Shape& shape,
                    const Layouts& layouts) const;
  std::vector<Datum> run_dense(Entry& plan, std::span<const TensorView> inputs, const RunOptions& options);
  /// Both sides without strides, in the order of the plan's layouts.
  void run_dense(Entry& plan, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                 const RunOptions& options);
};

}  // namespace colonnade
