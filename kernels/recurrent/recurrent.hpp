// SPDX-License-Identifier: Apache-2.0
// What recurrent cells do with the sums of their gates, fp32, for one entry of a batch. Products are kernels/gemm's.
// The new state may be written over the old one.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::recurrent {

/// cell = sigmoid(sums_f) * cell + sigmoid(sums_i) * tanh(sums_c); state = sigmoid(sums_o) * tanh(cell).
struct LstmArgs {
  std::size_t hidden = 0;
  const float* sums = nullptr;  ///< [4][hidden]: i, o, f, c
  float* cell = nullptr;
  float* state = nullptr;
};

/// r = sigmoid(sums_r), z = sigmoid(sums_z), n = tanh(sums_h + r * gated_h), state = (1 - z) * n + z * state. Without
/// `gated` sums_h is complete.
struct GruArgs {
  std::size_t hidden = 0;
  const float* sums = nullptr;   ///< [3][hidden]: z, r, h
  const float* gated = nullptr;  ///< [hidden], or null
  float* state = nullptr;
};

/// out = sigmoid(sums) * state.
struct ResetArgs {
  std::size_t hidden = 0;
  const float* sums = nullptr;
  const float* state = nullptr;
  float* out = nullptr;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*lstm)(const LstmArgs&) noexcept;
  void (*gru)(const GruArgs&) noexcept;
  void (*reset)(const ResetArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::recurrent
