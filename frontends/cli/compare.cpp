// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "numbers.hpp"
#include "text.hpp"

namespace colonnade::cli {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// Numbers below count as zero in a run.
double smallest_normal(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::min() : double{std::numeric_limits<float>::min()};
}

std::string position_of(std::int64_t flat, const Shape& shape) {
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = fmt::format("{}{}{}", flat % shape[d], text.empty() ? "" : ",", text);
    flat /= shape[d];
  }
  return "[" + text + "]";
}

void count_wrong(Comparison& result, std::size_t index, const Shape& shape, const std::string& found,
                 const std::string& expected) {
  if (result.wrong_elements++ == 0)
    result.mismatch = fmt::format("at {} expected {}, found {}", position_of(static_cast<std::int64_t>(index), shape),
                                  expected, found);
}

void compare_floats(Comparison& result, const Tensor& found, const Tensor& expected, Tolerance tolerance) {
  const std::vector<double> actual = to_doubles(found);
  const std::vector<double> wanted = to_doubles(expected);
  double largest = 0, sum = 0;
  for (const double value : wanted)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (actual[i] == wanted[i] || (std::isnan(actual[i]) && std::isnan(wanted[i]))) continue;
    const double difference = std::abs(actual[i] - wanted[i]);
    if (difference < smallest_normal(expected.dtype())) continue;
    const double allowed = tolerance.absolute * largest + tolerance.relative * std::abs(wanted[i]);
    const bool comparable = std::isfinite(difference) && std::isfinite(allowed);
    if (comparable) {
      result.largest_difference = std::max(result.largest_difference, difference);
      sum += difference;
      result.largest_share = std::max(result.largest_share, allowed > 0 ? difference / allowed : kUnbounded);
    }
    if (!comparable || difference > allowed)
      count_wrong(result, i, expected.shape(), fmt::format("{:.9g}", actual[i]), fmt::format("{:.9g}", wanted[i]));
  }
  result.mean_difference = sum / static_cast<double>(std::max<std::size_t>(wanted.size(), 1));
}

void compare_exactly(Comparison& result, const Tensor& found, const Tensor& expected) {
  const std::size_t width = size_of(expected.dtype());
  const auto* actual = static_cast<const char*>(found.data());
  const auto* wanted = static_cast<const char*>(expected.data());
  const auto count = static_cast<std::size_t>(expected.size());
  if (count == 0 || std::memcmp(actual, wanted, count * width) == 0) return;
  const std::vector<double> actual_values = to_doubles(found);
  const std::vector<double> wanted_values = to_doubles(expected);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(actual + i * width, wanted + i * width, width) == 0) continue;
    result.largest_difference = std::max(result.largest_difference, std::abs(actual_values[i] - wanted_values[i]));
    count_wrong(result, i, expected.shape(), fmt::format("{}", actual_values[i]), fmt::format("{}", wanted_values[i]));
  }
}

}  // namespace

Tolerance tolerance_of(DType dtype, Math math) {
  if (math == Math::bf16 && dtype == DType::f32) return {4e-2, 4e-2};
  if (dtype == DType::f32 || dtype == DType::f64) return {math == Math::exact ? 1e-5 : 1e-4, 1e-3};
  if (dtype == DType::f16) return {1e-2, 1e-2};
  if (dtype == DType::bf16) return {4e-2, 4e-2};
  return {};
}

Comparison compare(const Tensor& found, const Tensor& expected, Tolerance tolerance) {
  Comparison result;
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape()) {
    result.mismatch = fmt::format("expected {} {}, found {} {}", name_of(expected.dtype()),
                                  shape_text(expected.shape()), name_of(found.dtype()), shape_text(found.shape()));
    result.wrong_elements = std::max<std::int64_t>(expected.size(), 1);
    return result;
  }
  if (expected.dtype() == DType::string) {
    for (std::size_t i = 0; i < expected.strings().size(); ++i)
      if (found.strings()[i] != expected.strings()[i])
        count_wrong(result, i, expected.shape(), "'" + found.strings()[i] + "'", "'" + expected.strings()[i] + "'");
  } else if (is_float(expected.dtype())) {
    compare_floats(result, found, expected, tolerance);
  } else {
    compare_exactly(result, found, expected);
  }
  result.equal = result.wrong_elements == 0;
  return result;
}

bool identical(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::string) return a.strings() == b.strings();
  return a.size() == 0 || std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

}  // namespace colonnade::cli
