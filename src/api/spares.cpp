// SPDX-License-Identifier: Apache-2.0
#include "api/spares.hpp"

#include <algorithm>

namespace colonnade {

std::shared_ptr<Tensor> Spares::take(DType dtype, const Shape& shape) {
  constexpr std::size_t kMost = 16;
  const auto is_spare = [](const std::shared_ptr<Tensor>& tensor) { return tensor.use_count() == 1; };
  const auto fits = [&](const std::shared_ptr<Tensor>& tensor) {
    return is_spare(tensor) && tensor->dtype() == dtype && tensor->shape() == shape;
  };
  const auto found = std::find_if(tensors_.begin(), tensors_.end(), fits);
  if (found != tensors_.end()) return *found;
  std::erase_if(tensors_, is_spare);
  if (tensors_.size() == kMost) tensors_.erase(tensors_.begin());
  return tensors_.emplace_back(std::make_shared<Tensor>(dtype, shape));
}

}  // namespace colonnade
