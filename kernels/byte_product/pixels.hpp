// SPDX-License-Identifier: Apache-2.0
// Where the pixels of a register tile lie.
#pragma once

#include <cstddef>

#include "kernels/base/simd.hpp"

namespace colonnade::kernels::byte_product {
namespace {

/// Bytes of a pixel for one step: four channels, or two of 16 bits.
inline constexpr std::ptrdiff_t kStepOfPixel = 4;

/// Pixels of a tile, addressed by few registers: one for eight pixels and the odd multiples of the stride.
template <std::size_t R>
struct Pixels {
  static constexpr std::size_t kBases = (R + 7) / 8;
  const char* base[kBases];
  std::ptrdiff_t odd[4];

  [[gnu::always_inline]] Pixels(const char* first, std::ptrdiff_t stride) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kBases; ++i) {
      base[i] = first + static_cast<std::ptrdiff_t>(8 * i) * stride;
      hide(base[i]);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      odd[i] = static_cast<std::ptrdiff_t>(2 * i + 1) * stride;
      hide(odd[i]);
    }
  }
  [[gnu::always_inline]] const char* at(std::size_t r) const {
    const std::size_t i = r % 8;
    const char* p = base[r / 8];
    if (i != 0) p += i % 2 == 1 ? odd[i / 2] : i == 4 ? odd[0] * 4 : odd[i / 4] * 2;
    return p;
  }
  /// Hides the multiples of the stride anew: else GCC keeps theirs, which an address can scale, in registers as well.
  [[gnu::always_inline]] void advance() {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kBases; ++i) base[i] += kStepOfPixel;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) hide(odd[i]);
  }
};

}  // namespace
}  // namespace colonnade::kernels::byte_product
