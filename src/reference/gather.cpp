// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

/// The index in [0, size); negative ones count from the end.
std::int64_t checked_index(std::int64_t index, std::int64_t size, const Call& call) {
  if (index < -size || index >= size) call.invalid("index {} is outside an axis of {}", index, size);
  return index < 0 ? index + size : index;
}

void copy_block(const Tensor& from, std::int64_t source, Tensor& to, std::int64_t target, std::int64_t count) {
  visit_storage(from.dtype(),
                [&]<class T>(Tag<T>) { std::copy_n(elements<T>(from) + source, count, elements<T>(to) + target); });
}

/// Flat offset of one tuple of indices, each with its own axis size and stride.
std::int64_t tuple_offset(std::span<const std::int64_t> tuple, std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides, const Call& call) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < tuple.size(); ++i) offset += checked_index(tuple[i], sizes[i], call) * strides[i];
  return offset;
}

/// How an update meets the element it lands on.
template <class C>
C merge(ScatterMode mode, C held, C update) {
  switch (mode) {
    case ScatterMode::add:
      if constexpr (std::is_same_v<C, double>) return held + update;
      return static_cast<C>(static_cast<std::uint64_t>(held) + static_cast<std::uint64_t>(update));
    case ScatterMode::mul:
      if constexpr (std::is_same_v<C, double>) return held * update;
      return static_cast<C>(static_cast<std::uint64_t>(held) * static_cast<std::uint64_t>(update));
    case ScatterMode::min: return update < held || update != update ? update : held;
    case ScatterMode::max: return update > held || update != update ? update : held;
    case ScatterMode::replace: break;
  }
  return update;
}

/// Blocks of `block` updates, in order, onto the elements of x from each offset on.
Tensor scatter(ScatterMode mode, const Call& call, std::span<const std::int64_t> offsets, std::int64_t block) {
  const Tensor& x = call.input(0);
  const Tensor& updates = call.input(2);
  Tensor y = x;
  if (mode == ScatterMode::replace) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      copy_block(updates, static_cast<std::int64_t>(i) * block, y, offsets[i], block);
    }
    return y;
  }
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) {
    std::vector<C> held = load_all<C>(x);
    const std::vector<C> added = load_all<C>(updates);
    std::size_t next = 0;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = offset; i < offset + block; ++i, ++next) {
        C& element = held[static_cast<std::size_t>(i)];
        element = merge(mode, element, added[next]);
      }
    }
    store(held.data(), x.size(), y, 0);
  });
  return y;
}

/// For every element of the indices tensor, in order: the flat element of x it names along the axis.
Ints element_offsets(const Call& call, std::int64_t axis_attribute) {
  const Tensor& x = call.input(0);
  const Shape& shape = call.input(1).shape();
  const auto axis = static_cast<std::size_t>(call.axis(axis_attribute, x));
  const Ints strides = strides_of(x.shape());
  Ints position(shape.size(), 0), offsets = call.ints(1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && shape[d] > x.shape()[d])
      call.invalid("the indices have {} on axis {} of {}", shape[d], d, x.shape()[d]);
  }
  for (std::int64_t& offset : offsets) {
    offset = checked_index(offset, x.shape()[axis], call) * strides[axis];
    for (std::size_t d = 0; d < shape.size(); ++d) offset += d == axis ? 0 : position[d] * strides[d];
    next_index(position, shape);
  }
  return offsets;
}

}  // namespace

Tensors apply(const Gather& op, const Call& call) {
  const Tensor& x = call.input(0);
  const AxisView view = axis_view(x.shape(), call.axis(op.axis, x));
  const Ints indices = call.ints(1);
  Tensor y(x.dtype(), call.shape());
  std::int64_t target = 0;
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (const std::int64_t index : indices) {
      const std::int64_t source = outer * view.size + checked_index(index, view.size, call);
      copy_block(x, source * view.inner, y, target, view.inner);
      target += view.inner;
    }
  }
  return {std::move(y)};
}

Tensors apply(const GatherElements& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints offsets = element_offsets(call, op.axis);
  Tensor y(x.dtype(), call.input(1).shape());
  visit_storage(x.dtype(), [&]<class T>(Tag<T>) {
    T* element = elements<T>(y);
    for (const std::int64_t offset : offsets) *element++ = elements<T>(x)[offset];
  });
  return {std::move(y)};
}

Tensors apply(const GatherNd& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Shape& index_shape = call.input(1).shape();
  const auto depth = static_cast<std::size_t>(index_shape.back());
  const auto batch_rank = static_cast<std::size_t>(op.batch_dims);
  if (batch_rank + depth > x.shape().size()) call.invalid("{} indices for {} axes", depth, x.shape().size());
  const Ints indices = call.ints(1), strides = strides_of(x.shape());
  const std::int64_t block = product(x.shape(), batch_rank + depth, x.shape().size());
  const std::int64_t tuples = product(index_shape, 0, index_shape.size() - 1);
  const std::int64_t batches = product(x.shape(), 0, batch_rank);
  const std::int64_t batch_stride = product(x.shape(), batch_rank, x.shape().size());
  Tensor y(x.dtype(), call.shape());
  for (std::int64_t t = 0; t < tuples; ++t) {
    const auto tuple = std::span(indices).subspan(static_cast<std::size_t>(t) * depth, depth);
    const std::int64_t batch = t / (tuples / batches);
    const std::int64_t offset =
        tuple_offset(tuple, std::span(x.shape()).subspan(batch_rank), std::span(strides).subspan(batch_rank), call);
    copy_block(x, batch * batch_stride + offset, y, t * block, block);
  }
  return {std::move(y)};
}

Tensors apply(const ScatterNd& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Shape& index_shape = call.input(1).shape();
  const auto depth = static_cast<std::size_t>(index_shape.back());
  if (depth > x.shape().size()) call.invalid("{} indices for {} axes", depth, x.shape().size());
  const Ints indices = call.ints(1), strides = strides_of(x.shape());
  const std::int64_t block = product(x.shape(), depth, x.shape().size());
  const std::int64_t tuples = product(index_shape, 0, index_shape.size() - 1);
  if (call.input(2).size() != tuples * block) {
    call.invalid("{} updates, expected {}", call.input(2).size(), tuples * block);
  }
  Ints offsets;
  for (std::int64_t t = 0; t < tuples; ++t) {
    const auto tuple = std::span(indices).subspan(static_cast<std::size_t>(t) * depth, depth);
    offsets.push_back(tuple_offset(tuple, x.shape(), strides, call));
  }
  return {scatter(op.mode, call, offsets, block)};
}

Tensors apply(const ScatterElements& op, const Call& call) {
  if (call.input(1).shape() != call.input(2).shape()) call.invalid("indices and updates differ in shape");
  return {scatter(op.mode, call, element_offsets(call, op.axis), 1)};
}

}  // namespace colonnade::reference
