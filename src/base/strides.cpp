// SPDX-License-Identifier: Apache-2.0
#include "base/strides.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <string>

#include "base/checked.hpp"
#include "kernels/base/copy.hpp"

namespace colonnade {
namespace {

bool has_none(std::span<const std::int64_t> shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

/// An axis that both sides walk along.
struct Axis {
  std::int64_t size, from, to;
};

/// Axes outermost first, without those of size 1, neighbours joined where both sides lie alike.
std::vector<Axis> joined_axes(std::span<const std::int64_t> shape, std::span<const std::int64_t> from,
                              std::span<const std::int64_t> to) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const Axis axis{shape[i], from[i], to[i]};
    if (!axes.empty() && axes.back().from == axis.from * axis.size && axes.back().to == axis.to * axis.size) {
      axes.back() = {axes.back().size * axis.size, axis.from, axis.to};
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// `T` has the size of an element.
template <class T>
void copy_row(const T* from, T* to, const Axis& axis) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (axis.from == 1 && axis.to == 1) {
      kernels::copy_memory(static_cast<void*>(to), from, static_cast<std::size_t>(axis.size) * sizeof(T));
      return;
    }
  }
  for (std::int64_t i = 0; i < axis.size; ++i) to[i * axis.to] = from[i * axis.from];
}

template <class T>
void copy_axes(std::span<const Axis> axes, const T* from, T* to) {
  if (axes.empty()) {
    *to = *from;
  } else if (axes.size() == 1) {
    copy_row(from, to, axes.front());
  } else {
    for (std::int64_t i = 0; i < axes.front().size; ++i)
      copy_axes(axes.subspan(1), from + i * axes.front().from, to + i * axes.front().to);
  }
}

}  // namespace

Strides dense_strides(std::span<const std::int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Strides memory_order(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (strides.empty() || has_none(shape)) return {};
  Strides moving;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1 && strides[axis] != 0) moving.push_back(static_cast<std::int64_t>(axis));
  const auto step = [&](std::int64_t axis) { return std::abs(strides[static_cast<std::size_t>(axis)]); };
  std::stable_sort(moving.begin(), moving.end(), [&](std::int64_t a, std::int64_t b) { return step(a) > step(b); });
  if (std::is_sorted(moving.begin(), moving.end())) return {};
  Strides order(shape.size());
  auto next = moving.begin();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    order[axis] = shape[axis] > 1 && strides[axis] != 0 ? *next++ : static_cast<std::int64_t>(axis);
  return order;
}

Shape in_order(std::span<const std::int64_t> list, std::span<const std::int64_t> order) {
  if (order.empty()) return {list.begin(), list.end()};
  Shape result;
  for (const std::int64_t axis : order) result.push_back(list[static_cast<std::size_t>(axis)]);
  return result;
}

bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              std::span<const std::int64_t> order) {
  if (strides.empty() || has_none(shape)) return true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::size_t axis = order.empty() ? i : static_cast<std::size_t>(order[i]);
    if (shape[axis] == 1) continue;
    if (strides[axis] != expected) return false;
    expected = checked_mul(expected, shape[axis]);
  }
  return true;
}

bool may_overlap(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (strides.empty() || has_none(shape)) return false;
  const Strides order = memory_order(shape, strides);
  std::int64_t span = 0;  // from the first to the last element of the axes within
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::size_t axis = order.empty() ? i : static_cast<std::size_t>(order[i]);
    if (shape[axis] == 1) continue;
    const std::int64_t step = std::abs(strides[axis]);
    if (step <= span) return true;
    span = checked_add(span, checked_mul(step, shape[axis] - 1));
  }
  return false;
}

void check_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  if (strides.empty()) return;
  if (strides.size() != shape.size())
    fail(ErrorCode::invalid_argument, "expected {} strides, found {}", shape.size(), strides.size());
  if (has_none(shape)) return;
  constexpr std::int64_t kFurthest = std::int64_t{1} << 50;
  std::int64_t sum = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] <= 1) continue;
    const auto distance = try_mul(strides[axis], shape[axis] - 1);
    if (!distance || *distance > kFurthest || *distance < -kFurthest || (sum += std::abs(*distance)) > kFurthest)
      fail(ErrorCode::invalid_argument, "stride {} of axis {} is too large for {} elements", strides[axis], axis,
           shape[axis]);
  }
}

std::int64_t reach_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  const std::int64_t count = element_count(shape);
  if (strides.empty() || count == 0) return count;
  std::int64_t reach = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t distance = checked_mul(strides[axis], shape[axis] - 1);
    if (distance > 0) reach = checked_add(reach, distance);
  }
  return reach;
}

void copy_elements(DType dtype, std::span<const std::int64_t> shape, const void* from,
                   std::span<const std::int64_t> from_strides, void* to, std::span<const std::int64_t> to_strides) {
  if (has_none(shape)) return;
  const std::vector<Axis> axes = joined_axes(shape, from_strides, to_strides);
  const auto copy = [&]<class T>(const T*) { copy_axes<T>(axes, static_cast<const T*>(from), static_cast<T*>(to)); };
  if (dtype == DType::string) return copy(static_cast<const std::string*>(nullptr));
  switch (size_of(dtype)) {
    case 1: return copy(static_cast<const std::uint8_t*>(nullptr));
    case 2: return copy(static_cast<const std::uint16_t*>(nullptr));
    case 4: return copy(static_cast<const std::uint32_t*>(nullptr));
    case 8: return copy(static_cast<const std::uint64_t*>(nullptr));
    case 16: return copy(static_cast<const std::array<std::uint64_t, 2>*>(nullptr));
    default: fail(ErrorCode::internal, "elements of {} bytes cannot be copied", size_of(dtype));
  }
}

}  // namespace colonnade
