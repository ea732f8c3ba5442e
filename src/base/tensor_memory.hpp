// SPDX-License-Identifier: Apache-2.0
// Tensors whose memory is another's, or not set yet: what runs need so as to copy and clear nothing.
#pragma once

#include <memory>

#include "colonnade/tensor.hpp"

namespace colonnade {

struct TensorMemory {
  /// A tensor whose elements are any: who asks for it writes them all. Throws as Tensor's constructor does.
  static Tensor unset(DType dtype, Shape shape);
  /// A tensor over memory that somebody else owns, who keeps it while pointers to it are held. Copies of the tensor are
  /// deep, so what a Datum gives up (take_tensor) is its own. No strings.
  static std::shared_ptr<Tensor> borrow(DType dtype, Shape shape, void* memory);
  /// The same over a dense view, which nobody writes to; a copy where the elements are strings.
  static std::shared_ptr<const Tensor> borrow(const TensorView& view);
};

}  // namespace colonnade
