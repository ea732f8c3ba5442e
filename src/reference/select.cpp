// SPDX-License-Identifier: Apache-2.0
// Operators about positions: OneHot, TopK, NonZero.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/tensor_memory.hpp"
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

template <class T>
void mark(const Tensor& x, std::uint8_t* marks) {
  const T* element = elements<T>(x);
  std::transform(element, element + x.size(), marks, [](const T& each) { return each != T{}; });
}

/// 1 for every element that is not zero, or no empty string, else 0.
std::vector<std::uint8_t> nonzero_marks(const Tensor& x, const Call& call) {
  std::vector<std::uint8_t> marks(static_cast<std::size_t>(x.size()));
  const DType dtype = x.dtype();
  const std::size_t bytes = dtype == DType::string ? 0 : size_of(dtype);
  const bool is_integer = dtype == DType::boolean || dtype == DType::i8 || dtype == DType::u8 || bytes > 2;
  if (dtype == DType::string) {
    mark<std::string>(x, marks.data());
  } else if (dtype == DType::f32) {
    mark<float>(x, marks.data());
  } else if (dtype == DType::f64) {
    mark<double>(x, marks.data());
  } else if (is_integer && bytes == 1) {
    mark<std::uint8_t>(x, marks.data());
  } else if (is_integer && bytes == 4) {
    mark<std::uint32_t>(x, marks.data());
  } else if (is_integer && bytes == 8) {
    mark<std::uint64_t>(x, marks.data());
  } else {
    visit_compute(dtype, call, [&]<class C>(Tag<C>) {
      const std::vector<C> values = load_all<C>(x);
      std::transform(values.begin(), values.end(), marks.begin(), [](C value) { return value != C{0}; });
    });
  }
  return marks;
}

/// The indices of what is marked, axis after axis: the innermost ones are found without branches, some at a time.
Tensor marked_indices(const std::vector<std::uint8_t>& marks, const Shape& shape) {
  constexpr std::int64_t kAtOnce = 256;
  const auto count = static_cast<std::int64_t>(std::count(marks.begin(), marks.end(), std::uint8_t{1}));
  Tensor y = TensorMemory::unset(DType::i64, {static_cast<std::int64_t>(shape.size()), count});
  if (shape.empty()) return y;
  const std::size_t last = shape.size() - 1;
  auto* indices = elements<std::int64_t>(y);
  const std::uint8_t* mark = marks.data();
  Ints row(last, 0);
  std::array<std::int64_t, kAtOnce> found{};
  for (std::int64_t at = 0; at < count; next_index(row, std::span(shape).first(last)))
    for (std::int64_t begin = 0; begin < shape[last]; begin += kAtOnce) {
      std::size_t n = 0;
      for (std::int64_t i = begin; i < std::min(shape[last], begin + kAtOnce); ++i) {
        found[n] = i;
        n += *mark++;
      }
      for (std::size_t axis = 0; axis < last; ++axis)
        std::fill_n(indices + static_cast<std::int64_t>(axis) * count + at, n, row[axis]);
      std::copy_n(found.begin(), n, indices + static_cast<std::int64_t>(last) * count + at);
      at += static_cast<std::int64_t>(n);
    }
  return y;
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
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) { top_k<C>(op, x, view, k, outputs[0], outputs[1]); });
  return outputs;
}

Tensors apply(const NonZero&, const Call& call) {
  return {marked_indices(nonzero_marks(call.input(0), call), call.input(0).shape())};
}

}  // namespace colonnade::reference
