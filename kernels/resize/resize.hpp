// SPDX-License-Identifier: Apache-2.0
// Lines of floats that lie side by side, resized: rows are blended into one, and its elements looked up and weighted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::resize {

/// Elements of a tap's columns and weights: a multiple of the lanes of every tier, at least `width`.
static constexpr std::size_t tap_stride(std::size_t width) { return (width + 15) / 16 * 16; }

/// out[i] = sum over j of weights[j] * rows[j][i], in order of j.
struct BlendArgs {
  std::size_t count = 0;
  std::size_t taps = 1;
  const float* const* rows = nullptr;  ///< [taps]
  const float* weights = nullptr;      ///< [taps]
  float* out = nullptr;
};

/// How lines of width_in floats become lines of width_out. Tap t of element x is element
/// columns[t * tap_stride(width_out) + x] of the line, in [0, width_in), until `settle` writes what `lines` reads there
/// and in `starts`.
struct Line {
  std::size_t width_in = 0, width_out = 0;
  std::size_t taps = 1;
  const float* weights = nullptr;  ///< as columns, in readable memory of the same size; null: one tap, moved as it is
  std::int32_t* columns = nullptr;
  std::int32_t* starts = nullptr;  ///< [taps * tap_stride(width_out) / 4]
};

/// out[i * width_out + x] = sum over t of weights[t][x] * in[i][columns[t][x]] for `count` lines i, in order of t.
struct LinesArgs {
  const Line* line = nullptr;  ///< settled by the same kernel
  std::size_t count = 1;
  const float* const* in = nullptr;  ///< [count]
  float* out = nullptr;
};

struct Kernel {
  const char* name;
  Isa isa;
  void (*settle)(const Line&) noexcept;
  void (*blend)(const BlendArgs&) noexcept;
  void (*lines)(const LinesArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::resize
