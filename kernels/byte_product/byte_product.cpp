// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_product/byte_product.hpp"

#include <cstring>

#include "kernels/base/table.hpp"

namespace colonnade::kernels::byte_product {

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::vnni, tier::avxvnni>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

void pack(const std::int8_t* source, std::ptrdiff_t k_stride, std::ptrdiff_t n_stride, Depth depth, std::size_t n,
          std::size_t step, std::int8_t* packed) noexcept {
  const std::size_t padded = padded_row(step, depth.row);
  for (std::size_t first = 0; first < n; first += kPanel) {
    std::int32_t sums[kPanel] = {};
    std::int8_t* const header = packed;
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
  }
}

}  // namespace colonnade::kernels::byte_product
