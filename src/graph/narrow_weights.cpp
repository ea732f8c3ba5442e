// SPDX-License-Identifier: Apache-2.0
#include "graph/narrow_weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/checked.hpp"
#include "base/half.hpp"
#include "base/narrow.hpp"

namespace colonnade {
namespace {

bool is_signed(DType type) { return type == DType::i8 || type == DType::i4 || type == DType::i2; }

template <class From, class Convert>
void converted(const Constant& from, std::int64_t first, std::span<float> to, Convert convert) {
  std::vector<From> elements(to.size());
  from.read(first, std::as_writable_bytes(std::span(elements)));
  std::transform(elements.begin(), elements.end(), to.begin(), convert);
}

float normal(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? 0.0f : x; }

/// Blocks of rows [first, end) of a parameter.
std::vector<float> block_rows(const Constant& parameter, std::int64_t first, std::int64_t end) {
  const std::int64_t columns = parameter.shape()[1];
  std::vector<float> values(static_cast<std::size_t>((end - first) * columns));
  parameter.read(first * columns, std::as_writable_bytes(std::span(values)));
  return values;
}

void dequantise(const NarrowWeights& weights, std::int64_t columns, std::int64_t first, std::span<float> to) {
  const NarrowWeights::Parts parts = weights.parts();
  numbers_as_floats(*parts.numbers, first, to);
  const std::int64_t end = first + static_cast<std::int64_t>(to.size());
  const std::int64_t first_block = first / columns / weights.block_rows;
  const std::int64_t end_block = ceil_div(ceil_div(end, columns), weights.block_rows);
  const std::vector<float> scales = block_rows(*parts.scales, first_block, end_block);
  const std::vector<float> zeros =
      weights.has_zeros ? block_rows(*parts.zeros, first_block, end_block) : std::vector<float>();
  const std::int64_t of_row = ceil_div(columns, weights.block_columns);
  std::int64_t row = first / columns, column = first % columns;
  for (float& x : to) {
    const auto block =
        static_cast<std::size_t>((row / weights.block_rows - first_block) * of_row + column / weights.block_columns);
    x = normal((x - (zeros.empty() ? weights.zero : zeros[block])) * scales[block]);
    if (++column == columns) column = 0, ++row;
  }
}

}  // namespace

void numbers_as_floats(const Constant& numbers, std::int64_t first, std::span<float> target) {
  if (numbers.dtype() == DType::f16) return converted<std::uint16_t>(numbers, first, target, f16_to_float);
  if (numbers.dtype() == DType::bf16) return converted<std::uint16_t>(numbers, first, target, bf16_to_float);
  const auto number = [](auto x) { return static_cast<float>(x); };
  if (is_signed(numbers.dtype())) return converted<std::int8_t>(numbers, first, target, number);
  converted<std::uint8_t>(numbers, first, target, number);
}

std::shared_ptr<const Constant> widened(NarrowWeights weights, Shape shape) {
  auto kept = std::make_shared<const NarrowWeights>(std::move(weights));
  const std::int64_t columns = shape.back();
  const auto make = [kept, columns](std::int64_t first, std::span<std::byte> target) {
    if (target.empty()) return;
    const std::span to(reinterpret_cast<float*>(target.data()), target.size() / sizeof(float));
    if (kept->is_scaled()) return dequantise(*kept, columns, first, to);
    numbers_as_floats(*kept->parts().numbers, first, to);
  };
  const bool is_normal = kept->type != DType::bf16;
  return std::make_shared<const Constant>(DType::f32, std::move(shape), make, is_normal, std::move(kept));
}

std::shared_ptr<const Constant> fields_of(std::shared_ptr<const Constant> bytes, DType type, std::int64_t columns) {
  const std::int64_t rows = bytes->shape()[0], row_bytes = bytes->shape()[1];
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    const int bits = bits_of(type);
    const std::int64_t a_byte = 8 / bits;
    const unsigned mask = (1u << bits) - 1;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(row_bytes));
    for (auto to = target.begin(); to != target.end(); first += columns - first % columns) {
      bytes->read(first / columns * row_bytes, std::as_writable_bytes(std::span(row)));
      for (std::int64_t column = first % columns; column < columns && to != target.end(); ++column, ++to)
        *to = static_cast<std::byte>(row[static_cast<std::size_t>(column / a_byte)] >> column % a_byte * bits & mask);
    }
  };
  return std::make_shared<const Constant>(type, Shape{rows, columns}, make);
}

}  // namespace colonnade
