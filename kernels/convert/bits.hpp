// SPDX-License-Identifier: Apache-2.0
// A float as its bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace colonnade::kernels::convert {
namespace {

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline constexpr std::uint32_t kMagnitude = 0x7fffffffu, kInfinity = 0x7f800000u, kQuiet = 0x00400000u;

}  // namespace
}  // namespace colonnade::kernels::convert
