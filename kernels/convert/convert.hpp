// SPDX-License-Identifier: Apache-2.0
// Rows of elements of one type as another: floating point of 32, 16 and 8 bits, bytes.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::convert {

enum class Type : unsigned char { f32, bf16, f16, u8, i8, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz };
inline constexpr int kTypeCount = static_cast<int>(Type::f8e5m2fnuz) + 1;

/// out[p][c] = in[p][c] as another type. Rounded once, to nearest even; 16-bit subnormals and infinities are kept, NaN
/// stays one and is quiet. What float8 has no room for becomes its largest number. A number becomes a byte truncated
/// and saturated, NaN as 0; bytes become each other modulo 256. Pixel strides in bytes; in and out do not overlap.
struct Args {
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const void* in = nullptr;
  void* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
};
using Fn = void (*)(const Args&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  Fn (*convert)(Type from, Type to) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::convert
