// SPDX-License-Identifier: Apache-2.0
// Functions of one and of two floats over rows of pixels.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade::kernels::elementwise {

/// out[p][c] = op(in[p][c]) for `pixels` pixels of `channels` channels; pixel strides in floats. In place is allowed.
/// exp, log, erf, tanh, sigmoid and what is built on them are within 4 units in the last place of the true value.
struct UnaryArgs {
  UnaryOp op;
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* in = nullptr;
  float* out = nullptr;
  std::ptrdiff_t in_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
};

enum class Binary : unsigned char {
  add,
  sub,
  mul,
  div,
  min,
  max,
  pow,
  prelu /* a < 0 ? a * b : a */,
  squared_difference
};
inline constexpr int kBinaryCount = static_cast<int>(Binary::squared_difference) + 1;

/// out[p][c] = op(a[p * a_pixel_stride + c * a_channel_stride], b[...]). A channel stride is 0 (one value for all
/// channels) or 1; a pixel stride of 0 gives every pixel the same values. In place is allowed with equal strides.
/// `activation` is applied to the result (no prelu).
struct BinaryArgs {
  Binary op = Binary::add;
  UnaryOp activation;
  std::size_t pixels = 0;
  std::size_t channels = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* out = nullptr;
  std::ptrdiff_t a_pixel_stride = 0;
  std::ptrdiff_t a_channel_stride = 1;
  std::ptrdiff_t b_pixel_stride = 0;
  std::ptrdiff_t b_channel_stride = 1;
  std::ptrdiff_t out_pixel_stride = 0;
};

using UnaryFn = void (*)(const UnaryArgs&) noexcept;
using BinaryFn = void (*)(const BinaryArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  UnaryFn unary;
  BinaryFn binary;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::elementwise
