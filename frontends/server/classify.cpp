// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/classify.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace colonnade::serve {
namespace {

Tensor as_doubles(const TensorView& values) {
  Tensor copy(values.dtype, values.shape);
  if (copy.byte_size() > 0) std::memcpy(copy.data(), values.data, copy.byte_size());
  return copy.converted(DType::f64);
}

/// NaN is less than anything.
bool is_before(std::span<const double> row, std::size_t a, std::size_t b) {
  const bool no_a = std::isnan(row[a]), no_b = std::isnan(row[b]);
  if (no_a || no_b) return no_a == no_b ? a < b : no_b;
  return row[a] != row[b] ? row[a] > row[b] : a < b;
}

}  // namespace

Tensor classify(const TensorView& values, bool has_batch_axis, std::int64_t classes,
                std::span<const std::string> labels) {
  const Tensor numbers = as_doubles(values);
  const std::int64_t samples = has_batch_axis ? values.shape.at(0) : 1;
  const std::int64_t width = samples > 0 ? numbers.size() / samples : 0;
  const std::int64_t count = std::min(classes, width);
  Tensor result(DType::string, has_batch_axis ? Shape{samples, count} : Shape{count});
  std::vector<std::size_t> order(static_cast<std::size_t>(width));
  auto text = result.strings().begin();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto row = numbers.values<double>().subspan(static_cast<std::size_t>(sample * width), order.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](std::size_t a, std::size_t b) { return is_before(row, a, b); });
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t index = order[static_cast<std::size_t>(i)];
      *text = fmt::format("{:f}:{}", row[index], index);
      if (index < labels.size()) *text += ":" + labels[index];
      ++text;
    }
  }
  return result;
}

}  // namespace colonnade::serve
