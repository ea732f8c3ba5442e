// SPDX-License-Identifier: Apache-2.0
// Resize: separable, one axis after the other, every output element a weighted sum of a few input elements.
#include "graph/resize_coordinates.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

std::vector<float> floats(const Tensor* tensor) {
  if (tensor == nullptr) return {};
  const std::vector<double> values = load_all<double>(*tensor);
  return {values.begin(), values.end()};
}

std::vector<ResizeAxis> axes_of(const Call& call) {
  const std::vector<float> roi = floats(call.optional(1)), scales = floats(call.optional(2));
  return resize_axes(call.node, call.input(0).shape(), roi, scales, call.ints(3));
}

/// Resizes one axis to `size`: fill_row(x of the outer index, output index, output row) writes view.inner elements.
template <class T, class F>
std::vector<T> resize_axis(const std::vector<T>& x, const AxisView& view, std::int64_t size, F&& fill_row) {
  std::vector<T> y(static_cast<std::size_t>(view.outer * size * view.inner));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    const T* from = x.data() + outer * view.size * view.inner;
    for (std::int64_t i = 0; i < size; ++i) fill_row(from, i, y.data() + (outer * size + i) * view.inner);
  }
  return y;
}

std::vector<double> interpolate(const std::vector<double>& x, const AxisView& view, const ResizeTaps& taps,
                                std::int64_t size, double extrapolation) {
  return resize_axis(x, view, size, [&](const double* from, std::int64_t i, double* to) {
    const bool outside = !taps.outside.empty() && taps.outside[static_cast<std::size_t>(i)];
    std::fill_n(to, view.inner, outside ? extrapolation : 0.0);
    if (outside) return;
    for (std::int64_t t = i * taps.taps; t < (i + 1) * taps.taps; ++t) {
      const double weight = taps.weights[static_cast<std::size_t>(t)];
      const double* row = from + taps.indices[static_cast<std::size_t>(t)] * view.inner;
      for (std::int64_t k = 0; k < view.inner; ++k) to[k] += weight == 0 ? 0 : weight * row[k];
    }
  });
}

/// x with every axis that changes resized by step(values, shape, axis index).
template <class T, class Step>
std::vector<T> resize_all(std::vector<T> values, Shape shape, std::span<const ResizeAxis> axes, Step&& step) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].is_identity()) continue;
    values = step(values, axis_view(shape, static_cast<std::int64_t>(axis)), axes[axis]);
    shape[axis] = axes[axis].out_size;
  }
  return values;
}

/// Without extrapolation nearest only copies, whatever the type.
Tensor pick_nearest(const Resize& op, const Tensor& x, std::span<const ResizeAxis> axes, Shape shape) {
  Tensor y(x.dtype(), std::move(shape));
  visit_storage(x.dtype(), [&]<class T>(Tag<T>) {
    const auto step = [&](const std::vector<T>& values, const AxisView& view, const ResizeAxis& axis) {
      const ResizeTaps taps = resize_taps(op, axis);
      return resize_axis(values, view, axis.out_size, [&](const T* from, std::int64_t i, T* to) {
        std::copy_n(from + taps.indices[static_cast<std::size_t>(i)] * view.inner, view.inner, to);
      });
    };
    const std::vector<T> source(elements<T>(x), elements<T>(x) + x.size());
    const std::vector<T> result = resize_all(source, x.shape(), axes, step);
    std::copy(result.begin(), result.end(), elements<T>(y));
  });
  return y;
}

}  // namespace

Tensors apply(const Resize& op, const Call& call) {
  const Tensor& x = call.input(0);
  const std::vector<ResizeAxis> axes = axes_of(call);
  Shape shape;
  for (const ResizeAxis& axis : axes) shape.push_back(axis.out_size);
  if (x.size() == 0 && element_count(shape) != 0) call.invalid("an empty tensor cannot be resized");
  const bool crops = op.coordinates == CoordinateMode::tf_crop_and_resize;
  if (op.mode == ResizeMode::nearest && !crops) return {pick_nearest(op, x, axes, shape)};
  const auto step = [&](const std::vector<double>& values, const AxisView& view, const ResizeAxis& axis) {
    return interpolate(values, view, resize_taps(op, axis), axis.out_size, static_cast<double>(op.extrapolation));
  };
  return {tensor_of(x.dtype(), shape, resize_all(load_all<double>(x), x.shape(), axes, step))};
}

}  // namespace colonnade::reference
