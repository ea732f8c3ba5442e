// SPDX-License-Identifier: Apache-2.0
#include "reference/indexing.hpp"

#include <algorithm>

#include "reference/elements.hpp"

namespace colonnade::reference {
namespace {

bool walks_evenly(std::span<const Ints> strides, std::size_t outer, std::size_t inner, std::int64_t inner_size) {
  return std::all_of(strides.begin(), strides.end(), [&](const Ints& s) { return s[outer] == s[inner] * inner_size; });
}

}  // namespace

Ints strides_of(std::span<const std::int64_t> shape) {
  Ints strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Ints broadcast_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> target) {
  const Ints dense = strides_of(shape);
  Ints strides(target.size(), 0);
  const std::size_t shift = target.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 1) strides[axis + shift] = dense[axis];
  }
  return strides;
}

std::int64_t product(std::span<const std::int64_t> shape, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t axis = begin; axis < end; ++axis) count *= shape[axis];
  return count;
}

bool next_index(std::span<std::int64_t> index, std::span<const std::int64_t> shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

AxisView axis_view(std::span<const std::int64_t> shape, std::int64_t axis) {
  if (shape.empty()) return {1, 1, 1};
  const auto at = static_cast<std::size_t>(axis);
  return {product(shape, 0, at), shape[at], product(shape, at + 1, shape.size())};
}

void coalesce(Ints& shape, std::span<Ints> strides) {
  std::size_t kept = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (kept > 0 && walks_evenly(strides, kept - 1, axis, shape[axis])) {
      shape[kept - 1] *= shape[axis];
      for (Ints& s : strides) s[kept - 1] = s[axis];
      continue;
    }
    shape[kept] = shape[axis];
    for (Ints& s : strides) s[kept] = s[axis];
    ++kept;
  }
  if (kept == 0) {
    shape.assign(1, 1);
    for (Ints& s : strides) s.assign(1, 0);
    return;
  }
  shape.resize(kept);
  for (Ints& s : strides) s.resize(kept);
}

void copy_box(const Tensor& from, const Strided& source, Tensor& to, const Strided& target, const Ints& shape) {
  if (element_count(shape) == 0) return;  // there may be no memory
  visit_storage(from.dtype(), [&]<class T>(Tag<T>) {
    const T* read = elements<T>(from) + source.offset;
    T* write = elements<T>(to) + target.offset;
    const auto row = [&](const auto& offsets, std::int64_t count, const auto& steps) {
      const T* r = read + offsets[0];
      T* w = write + offsets[1];
      if (steps[0] == 1 && steps[1] == 1) {
        std::copy_n(r, count, w);
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) w[i * steps[1]] = r[i * steps[0]];
    };
    for_each_row<2>(shape, {source.strides, target.strides}, row);
  });
}

}  // namespace colonnade::reference
