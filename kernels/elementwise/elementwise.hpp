// SPDX-License-Identifier: Apache-2.0
// Functions of one and of two floats over rows of pixels, and pairs of floats that turn.
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

// Functions of one float that rows alone are mapped by, each with its functor in functions.hpp.
// clang-format off
#define COLONNADE_ROW_FUNCTIONS(F)                                                          \
  F(celu,             Celu)            /* x < 0 ? a * (exp(x / a) - 1) : x */               \
  F(thresholded_relu, ThresholdedRelu) /* x > a ? x : 0 */                                  \
  F(sign,             Sign)            /* 0 and NaN as they are */                          \
  F(sin,              Sin)                                                                  \
  F(cos,              Cos)                                                                  \
  F(tan,              Tan)                                                                  \
  F(asin,             Asin)                                                                 \
  F(acos,             Acos)                                                                 \
  F(atan,             Atan)                                                                 \
  F(sinh,             Sinh)                                                                 \
  F(cosh,             Cosh)                                                                 \
  F(asinh,            Asinh)                                                                \
  F(acosh,            Acosh)                                                                \
  F(atanh,            Atanh)
// clang-format on

#define COLONNADE_ENUMERATOR(name, Functor) name,
enum class Function : unsigned char { COLONNADE_ROW_FUNCTIONS(COLONNADE_ENUMERATOR) };
#undef COLONNADE_ENUMERATOR
#define COLONNADE_NAME(name, Functor) #name,
inline constexpr const char* kFunctionNames[] = {COLONNADE_ROW_FUNCTIONS(COLONNADE_NAME)};
#undef COLONNADE_NAME
inline constexpr int kRowFunctionCount = static_cast<int>(sizeof kFunctionNames / sizeof *kFunctionNames);

/// out[p][c] = function(in[p][c]), as UnaryArgs has it; within 8 units in the last place of the true value. Sine and
/// cosine may be off by 2^-23 instead, a tangent t by 2^-23 (1 + t^2).
struct FunctionArgs {
  Function function = Function::sign;
  float a = 0;
  float b = 0;
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

/// Pairs of elements turned by angles, the same for all pixels: a, b become a cos - b sin, a sin + b cos. Pair i is
/// elements 2i and 2i + 1 where interleaved, else i and i + pairs. Pixel strides in floats; in place is allowed.
struct RotateArgs {
  bool interleaved = false;
  std::size_t pixels = 0;
  std::size_t pairs = 0;
  const float* x = nullptr;
  const float* cosines = nullptr;
  const float* sines = nullptr;
  float* out = nullptr;
  std::ptrdiff_t x_pixel_stride = 0;
  std::ptrdiff_t out_pixel_stride = 0;
};

using UnaryFn = void (*)(const UnaryArgs&) noexcept;
using FunctionFn = void (*)(const FunctionArgs&) noexcept;
using BinaryFn = void (*)(const BinaryArgs&) noexcept;
using RotateFn = void (*)(const RotateArgs&) noexcept;

struct Kernel {
  const char* name;
  Isa isa;
  UnaryFn unary;
  FunctionFn function;
  BinaryFn binary;
  RotateFn rotate;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::elementwise
