// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/error.hpp"
#include "base/small_blocks.hpp"
#include "base/tensor_memory.hpp"
#include "colonnade/colonnade.hpp"

namespace colonnade {

Datum::Datum(Tensor tensor) : Datum(std::make_shared<Tensor>(std::move(tensor))) { owns_ = true; }

Datum::Datum(std::shared_ptr<const Tensor> tensor)
    : kind_(Kind::tensor), dtype_(tensor->dtype()), tensor_(std::move(tensor)) {}

Datum Datum::sequence(std::vector<Datum> elements, DType dtype) {
  Datum datum;
  datum.kind_ = Kind::sequence;
  datum.dtype_ = dtype;
  datum.elements_ = std::move(elements);
  return datum;
}

Datum Datum::optional(Datum element) {
  Datum datum;
  datum.dtype_ = element.dtype();
  datum.elements_.push_back(std::move(element));
  return datum;
}

Datum Datum::absent(DType dtype) {
  Datum datum;
  datum.dtype_ = dtype;
  return datum;
}

Datum Datum::map(Tensor keys, Tensor values) {
  return map(std::make_shared<const Tensor>(std::move(keys)), std::move(values));
}

Datum Datum::map(std::shared_ptr<const Tensor> keys, Tensor values) {
  if (keys->shape().size() != 1 || values.shape().empty() || values.shape().front() != keys->size()) {
    fail(ErrorCode::invalid_argument, "a map needs as many values as keys, found {} keys and {} values", keys->size(),
         values.size());
  }
  Datum datum;
  datum.kind_ = Kind::map;
  datum.dtype_ = values.dtype();
  datum.keys_ = std::move(keys);
  datum.tensor_ = std::allocate_shared<const Tensor>(SmallAllocator<Tensor>(), std::move(values));
  return datum;
}

Datum Datum::lent(const TensorView& view) {
  if (!view.strides.empty()) fail(ErrorCode::invalid_argument, "expected a dense view");
  return {TensorMemory::borrow(view)};
}

const Tensor& Datum::tensor() const {
  if (!tensor_) {
    fail(ErrorCode::invalid_argument, "expected a tensor, found {}",
         kind_ == Kind::sequence ? "a sequence" : "an optional value");
  }
  return *tensor_;
}

Tensor Datum::take_tensor() && {
  const Tensor& held = tensor();
  // Tensors that data own were made by make_shared<Tensor>: nobody sees this one change.
  if (tensor_.use_count() == 1 && owns_) return std::move(const_cast<Tensor&>(held));
  return held;
}

const Tensor& Datum::keys() const {
  if (!keys_) fail(ErrorCode::invalid_argument, "expected a map");
  return *keys_;
}

}  // namespace colonnade
