// SPDX-License-Identifier: Apache-2.0
// SparseTensorProto: the few values that are not zero, and where they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "frontends/onnx/proto.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::int64_t kMostDenseBytes = std::int64_t{1} << 30;

/// Row-major position of the entry; its index is linear or one a dimension.
std::int64_t sparse_position(std::span<const std::int64_t> index, const Shape& shape, std::int64_t count,
                             std::string_view where) {
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    const std::int64_t dim = index.size() == 1 ? count : shape[axis];
    if (index[axis] < 0 || index[axis] >= dim) {
      fail(ErrorCode::invalid_model, "{}: sparse index {} is out of range [0,{})", where, index[axis], dim);
    }
    position = position * dim + index[axis];
  }
  return position;
}

}  // namespace

Tensor tensor_from(const onnx::SparseTensorProto& proto, const std::string& where, ExternalData& data) {
  const Tensor values = tensor_from(proto.values(), where, data);
  const Tensor indices = tensor_from(proto.indices(), where, data);
  Shape shape = shape_from({proto.dims().data(), static_cast<std::size_t>(proto.dims_size())}, where);
  const std::size_t element_bytes = size_of(values.dtype());
  const std::int64_t count = count_of(shape, element_bytes, where);
  if (element_bytes == 0) fail(ErrorCode::unsupported, "{}: sparse strings are not supported", where);
  if (values.shape().size() != 1 || indices.dtype() != DType::i64) {
    fail(ErrorCode::invalid_model, "{}: sparse values must be 1-D and their indices int64", where);
  }
  const std::int64_t entries = values.size();
  const bool is_linear = indices.shape() == Shape{entries};
  if (!is_linear && indices.shape() != Shape{entries, static_cast<std::int64_t>(shape.size())}) {
    fail(ErrorCode::invalid_model, "{}: sparse indices [{}] do not fit {} values of rank {}", where,
         fmt::join(indices.shape(), ","), entries, shape.size());
  }
  if (count * static_cast<std::int64_t>(element_bytes) > kMostDenseBytes) {
    fail(ErrorCode::resource_limit, "{}: sparse tensor [{}] is larger than {} bytes when dense", where,
         fmt::join(shape, ","), kMostDenseBytes);
  }
  const std::size_t index_size = is_linear ? 1 : shape.size();
  Tensor dense(values.dtype(), shape);
  for (std::int64_t i = 0; i < entries; ++i) {
    const auto entry = static_cast<std::size_t>(i);
    const auto index = indices.values<std::int64_t>().subspan(entry * index_size, index_size);
    const auto position = static_cast<std::size_t>(sparse_position(index, shape, count, where));
    std::memcpy(static_cast<std::byte*>(dense.data()) + position * element_bytes,
                static_cast<const std::byte*>(values.data()) + entry * element_bytes, element_bytes);
  }
  return dense;
}

}  // namespace colonnade::onnx_import
