// SPDX-License-Identifier: Apache-2.0
// Regions of planes: weighted sums over the rows and columns that the bins of a region touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::regions {

/// Bins of a row that are summed at a time.
inline constexpr std::size_t kLanes = 16;

/// out[c][y][x] = sum over r of row_weights[r][y] * (sum over k of column_weights[k][x] * plane
/// c[rows[r]][columns[k]]), in this order, x < width <= kLanes.
struct AlignArgs {
  const float* planes = nullptr;
  float* out = nullptr;
  float* sums = nullptr;  ///< room for height * kLanes
  std::size_t channels = 1;
  std::ptrdiff_t plane_stride = 0, row_stride = 0;  ///< elements
  std::ptrdiff_t out_plane_stride = 0, out_row_stride = 0;
  const std::int32_t* rows = nullptr;
  const float* row_weights = nullptr;  ///< `height` a row
  std::size_t row_count = 0;
  const std::int32_t* columns = nullptr;
  const float* column_weights = nullptr;  ///< kLanes of every column are read
  std::ptrdiff_t column_weights_stride = kLanes;
  std::size_t column_count = 0;
  std::size_t height = 1;
  std::size_t width = 1;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*align)(const AlignArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::regions
