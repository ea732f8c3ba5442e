// SPDX-License-Identifier: Apache-2.0
// Operators about positions: OneHot, TopK, NonZero.
#include <algorithm>
#include <numeric>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

std::int64_t scalar(const Call& call, std::size_t input) {
  const Tensor& tensor = call.input(input);
  if (tensor.size() != 1) call.invalid("input {} has {} elements, expected 1", input, tensor.size());
  std::int64_t value = 0;
  load(tensor, 0, 1, &value);
  return value;
}

/// Positions of the k extremes of a line, best first, equal ones by position; NaN counts as largest.
template <class C>
Ints best_positions(const TopK& op, std::span<const C> line, std::int64_t k) {
  Ints positions(line.size());
  std::iota(positions.begin(), positions.end(), 0);
  const auto above = [](C a, C b) { return a > b || (a != a && b == b); };
  const auto better = [&](std::int64_t i, std::int64_t j) {
    const C a = line[static_cast<std::size_t>(i)], b = line[static_cast<std::size_t>(j)];
    if (op.largest ? above(a, b) : above(b, a)) return true;
    if (op.largest ? above(b, a) : above(a, b)) return false;
    return i < j;
  };
  std::partial_sort(positions.begin(), positions.begin() + k, positions.end(), better);
  positions.resize(static_cast<std::size_t>(k));
  return positions;
}

template <class C>
void top_k(const TopK& op, const Tensor& x, const AxisView& view, std::int64_t k, Tensor& values, Tensor& indices) {
  const std::vector<C> all = load_all<C>(x);
  std::vector<C> line(static_cast<std::size_t>(view.size));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (std::int64_t inner = 0; inner < view.inner; ++inner) {
      for (std::int64_t i = 0; i < view.size; ++i) {
        line[static_cast<std::size_t>(i)] = all[static_cast<std::size_t>((outer * view.size + i) * view.inner + inner)];
      }
      const Ints best = best_positions<C>(op, line, k);
      for (std::int64_t i = 0; i < k; ++i) {
        const std::int64_t position = best[static_cast<std::size_t>(i)], target = (outer * k + i) * view.inner + inner;
        store(&line[static_cast<std::size_t>(position)], 1, values, target);
        store(&position, 1, indices, target);
      }
    }
  }
}

template <class C>
Ints nonzero_positions(const Tensor& x) {
  Ints positions;
  const std::vector<C> values = load_all<C>(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != C{0}) positions.push_back(static_cast<std::int64_t>(i));
  }
  return positions;
}

Ints nonzero_positions(const Tensor& x, const Call& call) {
  Ints positions;
  if (x.dtype() == DType::string) {
    for (std::size_t i = 0; i < x.strings().size(); ++i) {
      if (!x.strings()[i].empty()) positions.push_back(static_cast<std::int64_t>(i));
    }
    return positions;
  }
  visit_compute(x.dtype(), call.where(), [&]<class C>(Tag<C>) { positions = nonzero_positions<C>(x); });
  return positions;
}

}  // namespace

Tensors apply(const OneHot& op, const Call& call) {
  const Tensor& indices = call.input(0);
  const Tensor& values = call.input(2);
  if (values.size() != 2) call.invalid("{} values, expected 2", values.size());
  const std::int64_t depth = scalar(call, 1);
  if (depth < 0) call.invalid("the depth is {}", depth);
  const auto rank = static_cast<std::int64_t>(indices.shape().size());
  const std::int64_t axis = normalize_axis(op.axis, rank + 1, call.node);
  Shape shape = indices.shape();
  shape.insert(shape.begin() + axis, depth);
  const std::int64_t inner = product(indices.shape(), static_cast<std::size_t>(axis), indices.shape().size());
  Tensor y(values.dtype(), shape);
  const Ints still(shape.size(), 0), strides = strides_of(shape);
  copy_box(values, {0, still}, y, {0, strides}, shape);
  const Ints positions = call.ints(0);
  for (std::int64_t i = 0; i < indices.size(); ++i) {
    std::int64_t position = positions[static_cast<std::size_t>(i)];
    position += position < 0 ? depth : 0;
    if (position < 0 || position >= depth) continue;
    copy_box(values, {1, {0}}, y, {(i / inner * depth + position) * inner + i % inner, {0}}, {1});
  }
  return {std::move(y)};
}

Tensors apply(const TopK& op, const Call& call) {
  const Tensor& x = call.input(0);
  const std::int64_t k = scalar(call, 1);
  const auto axis = static_cast<std::size_t>(call.axis(op.axis, x));
  if (k < 0 || k > x.shape()[axis]) call.invalid("k is {} on an axis of {}", k, x.shape()[axis]);
  Shape shape = x.shape();
  shape[axis] = k;
  Tensors outputs;
  outputs.emplace_back(x.dtype(), shape);
  outputs.emplace_back(DType::i64, shape);
  const AxisView view = axis_view(x.shape(), static_cast<std::int64_t>(axis));
  visit_compute(x.dtype(), call.where(), [&]<class C>(Tag<C>) { top_k<C>(op, x, view, k, outputs[0], outputs[1]); });
  return outputs;
}

Tensors apply(const NonZero&, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints positions = nonzero_positions(x, call), strides = strides_of(x.shape());
  const auto count = static_cast<std::int64_t>(positions.size());
  Tensor y(DType::i64, {static_cast<std::int64_t>(strides.size()), count});
  std::int64_t target = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    for (const std::int64_t position : positions) {
      const std::int64_t index = position / strides[axis] % x.shape()[axis];
      store(&index, 1, y, target++);
    }
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
