// SPDX-License-Identifier: Apache-2.0
// Samples that lie behind each other in arrays.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quantize.hpp"

namespace colonnade::quantize {

/// One tensor for each input of a model, with one sample or several behind each other: along the first dimension, in
/// steps of the model's batch (1 where it is open), or along one more dimension in front. What has no dimensions is the
/// same for all samples.
class Stack {
 public:
  /// Throws Error{invalid_input} naming `where` for types and shapes that are not the model's, and for different
  /// counts. `shapes` are the inputs', -1 where they are open.
  Stack(std::span<const TensorInfo> inputs, std::span<const Shape> shapes, std::vector<Tensor> tensors,
        const std::string& where);
  std::size_t count() const { return count_; }
  std::vector<Tensor> at(std::size_t index) const;

 private:
  struct Part {
    Tensor tensor;
    Shape sample;
    bool repeats = false;
  };
  std::vector<Part> parts_;
  std::size_t count_ = 1;
};

/// "1x3x?x?".
std::string text_of(const Shape& shape);

}  // namespace colonnade::quantize
