// SPDX-License-Identifier: Apache-2.0
// Rows of elements of any type: arithmetic, comparison, logic, casts, selection, copies; positions of extremes.
// What graphs do with indices, masks and thresholds; exact where the reference is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels::typed {

enum class Type : unsigned char { f32, f64, i8, u8, i16, u16, i32, u32, i64, u64, boolean };

enum class Unary : unsigned char {
  logical_not,
  is_nan,
  is_inf,
  neg,
  abs,
  sign,
  relu,
  bitwise_not,
  square,
  // of doubles alone
  floor,
  ceil,
  round,
  sqrt,
  reciprocal,
  exp,  ///< this and what follows within 4 units in the last place
  sigmoid,
  tanh,
  log,
  erf,
  sin,
  cos
};

enum class Binary : unsigned char {
  add,
  sub,
  mul,
  min,
  max,
  squared_difference,
  prelu,  ///< a < 0 ? a * b : a
  div,
  mod,   ///< has the sign of the divisor; integers only
  fmod,  ///< has the sign of the dividend
  pow,   ///< not of floats of 32 bits
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  equal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  logical_and,
  logical_or,
  logical_xor
};

/// out[i] = f(in[0][i * step[0]], ...) for `count` elements; steps count elements, 0 repeats one. Integers wrap around.
struct RowArgs {
  const void* in[3] = {};
  std::ptrdiff_t step[3] = {};
  void* out = nullptr;
  std::size_t count = 0;
  std::ptrdiff_t out_step = 1;  ///< other than 1 for copies alone
  bool* undefined = nullptr;    ///< becomes true where div, mod or fmod of integers has a divisor of zero
};
using RowFn = void (*)(const RowArgs&) noexcept;

/// out[o][i] = position of the extreme of in[o][0..size)[i] for the first `lines` of the inner i: the first, or the
/// last of equal ones; NaN is an extreme. Positions fit 31 bits.
struct ArgArgs {
  const void* in = nullptr;
  std::int64_t* out = nullptr;
  std::size_t outer = 1;
  std::size_t size = 1;
  std::size_t inner = 1;
  std::size_t lines = 1;
  bool max = true;
  bool last = false;
};
using ArgFn = void (*)(const ArgArgs&) noexcept;

enum class Reduction : unsigned char { sum, mean, max, min, prod, l1, l2, log_sum, sum_square };

/// out[o][i] = reduction of in[o][0..size)[i] for the first `lines` of the inner i. Integers wrap around, but for the
/// sum of a mean, which truncates; NaN is an extreme. The order of sums is the same on every tier.
struct ReduceArgs {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t outer = 1;
  std::size_t size = 1;
  std::size_t inner = 1;
  std::size_t lines = 1;
};
using ReduceFn = void (*)(const ReduceArgs&) noexcept;

/// Softmax of each of `lines` lines of `size` doubles (the largest is subtracted first); `log`: its logarithm. In place
/// is allowed. The order of sums is the same on every tier.
struct SoftmaxArgs {
  const double* in = nullptr;
  double* out = nullptr;
  std::size_t lines = 0;
  std::size_t size = 1;
  bool log = false;
};

/// Functions by type; null where there is none. The same ones are null on every tier.
struct Kernel {
  const char* name;
  Isa isa;
  RowFn (*unary)(Unary, Type) noexcept;         ///< logical_not and the tests give booleans
  RowFn (*binary)(Binary, Type) noexcept;       ///< comparisons and logic give booleans
  RowFn (*cast)(Type from, Type to) noexcept;   ///< floating point to integer truncates and saturates, NaN gives 0
  RowFn (*select)(std::size_t bytes) noexcept;  ///< inputs: condition (boolean), then, else; elements of `bytes`
  RowFn (*copy)(std::size_t bytes) noexcept;    ///< elements of `bytes`
  ArgFn (*arg)(Type) noexcept;
  ReduceFn (*reduce)(Reduction, Type) noexcept;  ///< of i32, i64 and f64, extremes of bytes and booleans
  void (*softmax)(const SoftmaxArgs&) noexcept;
};

std::span<const Kernel> table() noexcept;
const Kernel& select(Features features) noexcept;

}  // namespace colonnade::kernels::typed
