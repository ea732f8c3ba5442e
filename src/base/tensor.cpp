// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/run_memory.hpp"
#include "base/tensor_memory.hpp"
#include "colonnade/colonnade.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

void* allocate(DType dtype, std::int64_t size) {
  const std::int64_t bytes = checked_mul(size, static_cast<std::int64_t>(size_of(dtype)));
  if (std::byte* const memory = RunMemory::take(static_cast<std::size_t>(bytes))) return memory;
  return AlignedBuffer(static_cast<std::size_t>(bytes)).release();
}

std::vector<std::string> empty_strings(std::int64_t size) {
  try {
    if (static_cast<std::size_t>(size) >= AlignedBuffer::kMaxBytes / sizeof(std::string)) throw std::bad_alloc();
    return std::vector<std::string>(static_cast<std::size_t>(size));
  } catch (const std::exception&) {
    fail(ErrorCode::resource_limit, "cannot allocate {} strings", size);
  }
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> shape) {
  for (const std::int64_t dim : shape) {
    if (dim < 0) fail(ErrorCode::invalid_argument, "shape has the unknown or negative dimension {}", dim);
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count = checked_mul(count, dim);
  return count;
}

Tensor::Tensor() = default;

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)) {
  if (dtype_ == DType::string) {
    strings_ = empty_strings(size_);
    return;
  }
  data_ = allocate(dtype_, size_);
  if (data_ != nullptr) std::memset(data_, 0, byte_size());
}

Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_), shape_(other.shape_), size_(other.size_), strings_(other.strings_) {
  data_ = allocate(dtype_, size_);
  if (data_ != nullptr) kernels::copy_memory(data_, other.data_, byte_size());
}

Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(std::exchange(other.dtype_, DType::undefined)),
      shape_(std::exchange(other.shape_, Shape{})),
      size_(std::exchange(other.size_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      strings_(std::move(other.strings_)) {}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(dtype_, other.dtype_);
  shape_.swap(other.shape_);
  std::swap(size_, other.size_);
  std::swap(data_, other.data_);
  strings_.swap(other.strings_);
  return *this;
}

Tensor::~Tensor() {
  if (!RunMemory::give_back(data_, byte_size())) AlignedBuffer::free_released(data_, byte_size());
}

Tensor TensorMemory::unset(DType dtype, Shape shape) {
  if (dtype == DType::string) return {dtype, std::move(shape)};
  Tensor tensor(DType::undefined, std::move(shape));  // of no bytes
  tensor.data_ = allocate(dtype, tensor.size_);
  tensor.dtype_ = dtype;
  return tensor;
}

std::shared_ptr<Tensor> TensorMemory::borrow(DType dtype, Shape shape, void* memory) {
  const auto give_back = [](Tensor* tensor) {
    tensor->data_ = nullptr;
    delete tensor;
  };
  std::shared_ptr<Tensor> tensor(new Tensor, give_back);
  tensor->size_ = element_count(shape);
  tensor->dtype_ = dtype;
  tensor->shape_ = std::move(shape);
  tensor->data_ = memory;
  return tensor;
}

std::shared_ptr<const Tensor> TensorMemory::borrow(const TensorView& view) {
  if (view.dtype != DType::string) return borrow(view.dtype, view.shape, const_cast<void*>(view.data));
  auto copy = std::make_shared<Tensor>(view.dtype, view.shape);
  std::copy_n(static_cast<const std::string*>(view.data), copy->size(), copy->strings().begin());
  return copy;
}

Tensor Tensor::reshaped(Shape shape) && {
  const std::int64_t count = element_count(shape);
  if (count != size_) {
    fail(ErrorCode::invalid_argument, "cannot reshape a tensor of {} elements to {} elements", size_, count);
  }
  Tensor result = std::move(*this);
  result.shape_ = std::move(shape);
  return result;
}

}  // namespace colonnade
