// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_product/byte_product.hpp"

#include <cstring>

#include "kernels/base/table.hpp"

namespace colonnade::kernels::byte_product {

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::vnni, tier::avxvnni>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

std::span<const SplitKernel> split_table() noexcept { return table_of<SplitKernel>(); }

const Kernel* select_split(Features features) noexcept {
  for (const SplitKernel& kernel : split_table())
    if (kernel.isa == select(features).isa) return &kernel;
  return nullptr;
}

namespace {

/// Makes of two weights such that 255 times both fits 16 bits, and of what the larger of them was more, `rest`. False
/// where they were.
bool take_rest(std::int8_t* pair, std::int8_t* rest) noexcept {
  constexpr int kMost = 128;
  const int a = pair[0], b = pair[1], sizes[2] = {a < 0 ? -a : a, b < 0 ? -b : b};
  rest[0] = rest[1] = 0;
  if (sizes[0] + sizes[1] <= kMost || (a < 0) != (b < 0)) return false;
  const std::size_t larger = sizes[0] < sizes[1] ? 1 : 0;
  const int kept = kMost - sizes[1 - larger];
  rest[larger] = static_cast<std::int8_t>(a < 0 ? kept - sizes[larger] : sizes[larger] - kept);
  pair[larger] = static_cast<std::int8_t>(a < 0 ? -kept : kept);
  return true;
}

/// Puts the rests of `steps` steps of a panel behind them.
bool split(std::int8_t* weights, std::size_t steps, std::size_t step) noexcept {
  const std::size_t step_bytes = kPanel * step;
  std::int8_t* const behind = weights + steps * step_bytes;
  std::int8_t* rest = behind + rest_steps_bytes(steps);
  std::memset(behind, 0, rest_steps_bytes(steps) + most_rests(steps) * step_bytes);
  std::uint32_t count = 0;
  for (std::uint32_t at = 0; at < steps; ++at, weights += step_bytes) {
    std::int8_t some[kPanel * 4];
    bool has_rest = false;
    for (std::size_t i = 0; i < step_bytes; i += 2) has_rest |= take_rest(weights + i, some + i);
    if (!has_rest) continue;
    if (count == most_rests(steps)) return false;
    std::memcpy(behind + ++count * sizeof at, &at, sizeof at);
    std::memcpy(rest, some, step_bytes);
    rest += step_bytes;
  }
  std::memcpy(behind, &count, sizeof count);
  return true;
}

}  // namespace

bool pack(const std::int8_t* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, Depth depth, std::size_t n,
          Packing packing, std::int8_t* packed) noexcept {
  const std::size_t step = packing.step, padded = padded_row(step, depth.row);
  for (std::size_t first = 0; first < n; first += kPanel) {
    std::int32_t sums[kPanel] = {};
    std::int8_t* const header = packed;
    std::int8_t* const end = packed + panel_bytes(packing, depth);
    packed += sizeof sums;
    for (std::size_t row = 0; row < depth.rows; ++row)
      for (std::size_t of_step = 0; of_step < padded; of_step += step)
        for (std::size_t column = 0; column < kPanel; ++column)
          for (std::size_t i = of_step; i < of_step + step; ++i) {
            const bool is_there = i < depth.row && first + column < n;
            const auto k = static_cast<std::ptrdiff_t>(row * depth.row + i),
                       output = static_cast<std::ptrdiff_t>(first + column);
            const std::int8_t weight = is_there ? source[k * k_stride + output * n_stride] : std::int8_t{0};
            *packed++ = weight;
            sums[column] += weight;
          }
    std::memcpy(header, sums, sizeof sums);
    if (packing.splits && !split(header + sizeof sums, depth.rows * padded / step, step)) return false;
    packed = end;
  }
  return true;
}

}  // namespace colonnade::kernels::byte_product
