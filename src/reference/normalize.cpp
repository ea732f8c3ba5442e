// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

/// Applies f(span of one line along the axis) to every line of x and stores the result.
template <class F>
Tensor map_lines(const Tensor& x, std::int64_t axis, F&& f) {
  const AxisView view = axis_view(x.shape(), axis);
  Tensor y(x.dtype(), x.shape());
  const std::int64_t slab = view.size * view.inner;
  std::vector<double> values(static_cast<std::size_t>(slab)), line(static_cast<std::size_t>(view.size));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    load(x, outer * slab, slab, values.data());
    for (std::int64_t inner = 0; inner < view.inner; ++inner) {
      for (std::size_t i = 0; i < line.size(); ++i) {
        line[i] = values[i * static_cast<std::size_t>(view.inner) + static_cast<std::size_t>(inner)];
      }
      f(std::span<double>(line));
      for (std::size_t i = 0; i < line.size(); ++i) {
        values[i * static_cast<std::size_t>(view.inner) + static_cast<std::size_t>(inner)] = line[i];
      }
    }
    store(values.data(), slab, y, outer * slab);
  }
  return y;
}

void softmax_line(std::span<double> line, bool log) {
  if (line.empty()) return;
  const double peak = *std::max_element(line.begin(), line.end());
  double sum = 0;
  for (const double x : line) sum += std::exp(x - peak);
  for (double& x : line) x = log ? x - peak - std::log(sum) : std::exp(x - peak) / sum;
}

void hardmax_line(std::span<double> line) {
  const auto peak = std::max_element(line.begin(), line.end()) - line.begin();
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = static_cast<std::ptrdiff_t>(i) == peak ? 1 : 0;
}

void lrn_line(std::span<double> line, const Lrn& lrn) {
  const auto size = static_cast<std::int64_t>(line.size());
  const std::vector<double> x(line.begin(), line.end());
  for (std::int64_t c = 0; c < size; ++c) {
    const std::int64_t begin = std::max<std::int64_t>(0, c - (lrn.size - 1) / 2);
    const std::int64_t end = std::min(size, c + lrn.size / 2 + 1);
    double squares = 0;
    for (std::int64_t i = begin; i < end; ++i)
      squares += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
    const double base =
        static_cast<double>(lrn.bias) + static_cast<double>(lrn.alpha) / static_cast<double>(lrn.size) * squares;
    line[static_cast<std::size_t>(c)] = x[static_cast<std::size_t>(c)] / std::pow(base, static_cast<double>(lrn.beta));
  }
}

struct Statistics {
  double mean = 0, variance = 0;
};

/// Two passes: first the mean, then the variance about it.
Statistics statistics_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return {mean, squares / count};
}

std::vector<double> channel_values(const Call& call, std::size_t input, std::int64_t channels, double fallback) {
  const Tensor* tensor = call.optional(input);
  if (tensor == nullptr) return std::vector<double>(static_cast<std::size_t>(channels), fallback);
  if (tensor->size() != channels)
    call.invalid("input {} has {} elements, expected {}", input, tensor->size(), channels);
  return load_all<double>(*tensor);
}

/// A scale or bias that broadcasts to x, read line by line.
class Broadcast {
 public:
  Broadcast(const Call& call, std::size_t input, std::size_t axis, double fallback) : fallback_(fallback) {
    const Tensor* tensor = call.optional(input);
    if (tensor == nullptr) return;
    const Shape& target = call.input(0).shape();
    const auto split = static_cast<std::ptrdiff_t>(axis);
    values_ = load_all<double>(*tensor);
    const Ints strides = broadcast_strides(tensor->shape(), target);
    outer_ = offsets_of({target.begin(), target.begin() + split}, {strides.begin(), strides.begin() + split});
    inner_ = offsets_of({target.begin() + split, target.end()}, {strides.begin() + split, strides.end()});
  }

  double at(std::size_t line, std::size_t element) const {
    return values_.empty() ? fallback_ : values_[static_cast<std::size_t>(outer_[line] + inner_[element])];
  }

 private:
  static Ints offsets_of(const Ints& shape, const Ints& strides) {
    Ints offsets, index(shape.size(), 0);
    const std::int64_t count = product(shape, 0, shape.size());
    for (std::int64_t n = 0; n < count; ++n, next_index(index, shape)) {
      offsets.push_back(std::inner_product(index.begin(), index.end(), strides.begin(), std::int64_t{0}));
    }
    return offsets;
  }

  double fallback_;
  std::vector<double> values_;
  Ints outer_, inner_;
};

}  // namespace

Tensors apply(const Softmax& op, const Call& call) {
  const Tensor& x = call.input(0);
  if (x.shape().empty()) return {map_lines(x, 0, [&](std::span<double> line) { softmax_line(line, op.log); })};
  return {map_lines(x, call.axis(op.axis, x), [&](std::span<double> line) { softmax_line(line, op.log); })};
}

Tensors apply(const Hardmax& op, const Call& call) {
  const Tensor& x = call.input(0);
  return {map_lines(x, call.axis(op.axis, x), hardmax_line)};
}

Tensors apply(const Lrn& op, const Call& call) {
  const Tensor& x = call.input(0);
  return {map_lines(x, call.axis(op.axis, x), [&](std::span<double> line) { lrn_line(line, op); })};
}

Tensors apply(const BatchNorm& op, const Call& call) {
  const Tensor& x = call.input(0);
  const AxisView view = axis_view(x.shape(), call.axis(op.axis, x));
  const std::vector<double> scale = channel_values(call, 1, view.size, 1), bias = channel_values(call, 2, view.size, 0);
  const std::vector<double> mean = channel_values(call, 3, view.size, 0),
                            variance = channel_values(call, 4, view.size, 1);
  Tensor y(x.dtype(), x.shape());
  const std::int64_t slab = view.size * view.inner;
  std::vector<double> values(static_cast<std::size_t>(slab));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    load(x, outer * slab, slab, values.data());
    double* value = values.data();
    for (std::size_t c = 0; c < static_cast<std::size_t>(view.size); ++c) {
      const double deviation = std::sqrt(variance[c] + static_cast<double>(op.epsilon));
      for (std::int64_t i = 0; i < view.inner; ++i, ++value)
        *value = (*value - mean[c]) / deviation * scale[c] + bias[c];
    }
    store(values.data(), slab, y, outer * slab);
  }
  return {std::move(y)};
}

Tensors apply(const InstanceNorm& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Shape& shape = x.shape();
  const auto axis = static_cast<std::size_t>(call.axis(op.axis, x));
  const std::int64_t images = shape[0], channels = shape[axis];
  const std::int64_t before = product(shape, 1, axis), after = product(shape, axis + 1, shape.size());
  const std::vector<double> scale = channel_values(call, 1, channels, 1), bias = channel_values(call, 2, channels, 0);
  std::vector<double> values = load_all<double>(x), line(static_cast<std::size_t>(before * after));
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto element = [&](std::int64_t i) -> double& {
        const std::int64_t outer = image * before + i / after;
        return values[static_cast<std::size_t>((outer * channels + c) * after + i % after)];
      };
      for (std::int64_t i = 0; i < before * after; ++i) line[static_cast<std::size_t>(i)] = element(i);
      const Statistics s = statistics_of(line);
      const double deviation = std::sqrt(s.variance + static_cast<double>(op.epsilon));
      const double gain = scale[static_cast<std::size_t>(c)], shift = bias[static_cast<std::size_t>(c)];
      for (std::int64_t i = 0; i < before * after; ++i) element(i) = (element(i) - s.mean) / deviation * gain + shift;
    }
  }
  return {tensor_of(x.dtype(), shape, values)};
}

Tensors apply(const LayerNorm& op, const Call& call) {
  const Tensor& x = call.input(0);
  const auto axis = static_cast<std::size_t>(call.axis(op.axis, x));
  const std::int64_t size = product(x.shape(), axis, x.shape().size()), lines = product(x.shape(), 0, axis);
  const Broadcast scale(call, 1, axis, 1), bias(call, 2, axis, 0);
  Tensor y(x.dtype(), x.shape());
  std::vector<double> line(static_cast<std::size_t>(size));
  for (std::int64_t n = 0; n < lines; ++n) {
    load(x, n * size, size, line.data());
    Statistics s = statistics_of(line);
    if (op.rms) s = {0, s.variance + s.mean * s.mean};
    const double deviation = std::sqrt(s.variance + static_cast<double>(op.epsilon));
    const auto at = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < line.size(); ++i)
      line[i] = (line[i] - s.mean) / deviation * scale.at(at, i) + bias.at(at, i);
    store(line.data(), size, y, n * size);
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
