// SPDX-License-Identifier: Apache-2.0
// Strides, broadcasting and walking: every operator that visits whole tensors does so row by row with an odometer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/operators.hpp"

namespace colonnade::reference {

/// Element strides of a dense row-major tensor.
Ints strides_of(std::span<const std::int64_t> shape);

/// Strides that read a tensor of `shape` as if it were `target`, by ONNX broadcasting (0 along repeated axes).
/// `shape` must broadcast to `target`.
Ints broadcast_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> target);

/// Product of shape[begin, end).
std::int64_t product(std::span<const std::int64_t> shape, std::size_t begin, std::size_t end);

/// index += 1 within shape, row-major; false after the last one.
bool next_index(std::span<std::int64_t> index, std::span<const std::int64_t> shape);

/// The tensor seen as outer x size x inner around one axis.
struct AxisView {
  std::int64_t outer = 1, size = 1, inner = 1;
};
AxisView axis_view(std::span<const std::int64_t> shape, std::int64_t axis);

/// Drops axes of size 1 and merges neighbours that all operands walk through evenly. Leaves at least one axis.
void coalesce(Ints& shape, std::span<Ints> strides);

/// Calls row(offsets, count, steps) for every innermost row of `shape`: offsets of its first element and the steps
/// between elements, per operand. Nothing is called for an empty shape.
template <std::size_t N, class Row>
void for_each_row(Ints shape, std::array<Ints, N> strides, Row&& row) {
  coalesce(shape, strides);
  const std::size_t last = shape.size() - 1;
  for (const std::int64_t size : shape) {
    if (size == 0) return;
  }
  std::array<std::int64_t, N> offsets{}, steps{};
  for (std::size_t n = 0; n < N; ++n) steps[n] = strides[n][last];
  Ints index(last, 0);
  while (true) {
    row(offsets, shape[last], steps);
    std::size_t axis = last;
    while (axis > 0 && ++index[axis - 1] == shape[axis - 1]) {
      --axis;
      index[axis] = 0;
      for (std::size_t n = 0; n < N; ++n) offsets[n] -= (shape[axis] - 1) * strides[n][axis];
    }
    if (axis == 0) return;
    for (std::size_t n = 0; n < N; ++n) offsets[n] += strides[n][axis - 1];
  }
}

/// Where a strided box of elements begins and how it is walked.
struct Strided {
  std::int64_t offset = 0;
  Ints strides;
};

/// Copies a box of `shape` elements; the tensors have the same type, and both boxes lie within them.
void copy_box(const Tensor& from, const Strided& source, Tensor& to, const Strided& target, const Ints& shape);

}  // namespace colonnade::reference
