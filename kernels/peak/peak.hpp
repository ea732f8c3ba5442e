// SPDX-License-Identifier: Apache-2.0
// What a core can do at best, fp32: multiply-adds that stay in registers, and reading memory.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::peak {

struct Kernel {
  const char* name;
  Isa isa;
  double flop_per_round;
  /// `rounds` rounds of independent chains of multiply-adds; the result depends on every one of them.
  float (*multiply_add)(std::size_t rounds, float seed) noexcept;
  /// Sum of `count` floats; reads all of them once.
  float (*sum)(const float* values, std::size_t count) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::peak
