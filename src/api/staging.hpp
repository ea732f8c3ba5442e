// SPDX-License-Identifier: Apache-2.0
// The caller's views with strides as dense ones: where they are when they are a permuted dense array, else by one copy.
#pragma once

#include <span>
#include <vector>

#include "api/layouts.hpp"
#include "base/strides.hpp"

namespace colonnade {

/// Of one run at a time; keeps its memory for the next one.
class Staging {
 public:
  /// The views are checked. An output whose rank the model leaves open is copied to its strides.
  void set(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
           std::span<const TensorInfo> output_infos);

  /// For the plan: how the dense views lie.
  const Layouts& layouts() const { return layouts_; }
  /// Dense, their shapes in the order of the layouts; what has to be copied is copied now.
  std::span<const TensorView> gather();
  /// The same for the results, which `scatter` copies to the caller where that is needed.
  std::span<const MutableTensorView> outputs();
  void scatter();

  /// What is kept for the next run.
  std::size_t bytes() const;

 private:
  Layouts layouts_;
  std::vector<TensorView> inputs_;  ///< shape and strides in the order of the layouts; no strides: dense
  std::vector<MutableTensorView> outputs_, dense_outputs_;
  std::vector<Tensor> input_memory_, output_memory_;
};

}  // namespace colonnade
