// SPDX-License-Identifier: Apache-2.0
// Outputs that the caller wants where inputs lie.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "program/program.hpp"

namespace colonnade {

/// Where the elements of a view lie.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
  bool operator==(const Extent&) const = default;
};

/// Whether elements of an output may lie where those of an input do.
bool may_overlap(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs);

/// Copies the elements of a tensor to a view of its type and shape, by its strides.
void copy_to(const Tensor& tensor, const MutableTensorView& view);

/// Gives a run memory for what it would write over inputs that it still reads. Results are as if all lay apart.
class ApartOutputs {
 public:
  /// Of dense views, in the program's order. Changes `to`, where the program is to write.
  void set(const Program& program, std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
           std::vector<void*>& to);
  /// After the run.
  void hand_over(std::span<const MutableTensorView> outputs);

 private:
  std::vector<Extent> inputs_;                         ///< kept: a run of a program allocates nothing
  std::vector<std::pair<std::size_t, Tensor>> apart_;  ///< by output
};

}  // namespace colonnade
