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

namespace {

/// Fields [first, first + to.size()) of bytes, lowest first.
template <int kBits>
void spread(const std::uint8_t* bytes, std::int64_t first, std::span<std::byte> to) {
  constexpr std::int64_t kInByte = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  const auto field = [&](std::int64_t i) {
    return static_cast<std::byte>(bytes[i / kInByte] >> i % kInByte * kBits & kMask);
  };
  const auto count = static_cast<std::int64_t>(to.size());
  std::int64_t done = 0;
  for (; done < count && (first + done) % kInByte != 0; ++done)
    to[static_cast<std::size_t>(done)] = field(first + done);
  const std::uint8_t* from = bytes + (first + done) / kInByte;
  std::byte* out = to.data() + done;
  const std::int64_t whole = (count - done) / kInByte;
  for (std::int64_t i = 0; i < whole; ++i)
    for (std::int64_t j = 0; j < kInByte; ++j)
      out[i * kInByte + j] = static_cast<std::byte>(from[i] >> j * kBits & kMask);
  for (done += whole * kInByte; done < count; ++done) to[static_cast<std::size_t>(done)] = field(first + done);
}

}  // namespace

std::shared_ptr<const Constant> fields_of(std::shared_ptr<const Constant> bytes, DType type, std::int64_t columns) {
  const std::int64_t rows = bytes->shape()[0], row_bytes = bytes->shape()[1];
  const auto make = [=](std::int64_t first, std::span<std::byte> target) {
    const auto spread_some = bits_of(type) == 2 ? spread<2> : bits_of(type) == 4 ? spread<4> : spread<8>;
    if (target.empty()) return;
    const std::int64_t from = first / columns;
    const std::int64_t end = (first + static_cast<std::int64_t>(target.size()) - 1) / columns + 1;
    std::vector<std::uint8_t> read(static_cast<std::size_t>((end - from) * row_bytes));
    bytes->read(from * row_bytes, std::as_writable_bytes(std::span(read)));
    for (const std::uint8_t* row = read.data(); !target.empty(); row += row_bytes) {
      const std::int64_t column = first % columns;
      const std::size_t some = std::min(target.size(), static_cast<std::size_t>(columns - column));
      spread_some(row, column, target.first(some));
      target = target.subspan(some);
      first += static_cast<std::int64_t>(some);
    }
  };
  return std::make_shared<const Constant>(type, Shape{rows, columns}, make);
}

}  // namespace colonnade
