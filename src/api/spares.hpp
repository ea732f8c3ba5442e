// SPDX-License-Identifier: Apache-2.0
// Results of a loop's body that nobody holds any more: later iterations write into them.
#pragma once

#include <memory>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// Of one loop, used by one thread. Where shapes change, what was kept for others goes.
class Spares {
 public:
  /// A tensor that nobody else holds; its elements are any.
  std::shared_ptr<Tensor> take(DType dtype, const Shape& shape);

 private:
  std::vector<std::shared_ptr<Tensor>> tensors_;
};

}  // namespace colonnade
