// SPDX-License-Identifier: Apache-2.0
// The core operators that compute element by element; operators.hpp lists all.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/narrow.hpp"
#include "colonnade/colonnade.hpp"
#include "graph/functions.hpp"

namespace colonnade {

std::string_view name_of(UnaryKind kind);

enum class BinaryKind : std::uint8_t {
  add,
  sub,
  mul,
  div,
  pow,
  min,
  max,
  mod,
  fmod,
  prelu,
  equal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  squared_difference,
};
std::string_view name_of(BinaryKind kind);

enum class ReduceKind : std::uint8_t { sum, mean, max, min, prod, l1, l2, log_sum, log_sum_exp, sum_square };
std::string_view name_of(ReduceKind kind);

/// y = f(x). a, b: the function's parameters (graph/functions.hpp).
struct Unary {
  UnaryKind kind = UnaryKind::identity;
  float a = 0;
  float b = 0;
  bool operator==(const Unary&) const = default;
};

/// inputs a, b with ONNX broadcasting. prelu: a < 0 ? a * b : a. Shifts: of unsigned numbers, 0 beyond all bits.
/// exact: rounded as written, never merged with other arithmetic; what it computes is rounded to integers next.
struct Binary {
  BinaryKind kind = BinaryKind::add;
  bool exact = false;
  bool operator==(const Binary&) const = default;
};

/// What a fused contraction does to its sums: y = act(sum + residual), or act(sum) + residual with residual_after.
/// The residual, when there is one, is the operator's last input and has the output's shape. With prelu_slope
/// the activation is prelu, and its per-channel slope (a constant of [channels]) is the input before the residual.
struct FusedEpilogue {
  Unary activation;
  bool prelu_slope = false;
  bool residual = false;
  bool residual_after = false;
  bool operator==(const FusedEpilogue&) const = default;
};

/// inputs condition (boolean), x, y.
struct Select {
  bool operator==(const Select&) const = default;
};
/// `saturate` and `rounding` are those of minifloats (base/narrow.hpp).
struct Cast {
  DType to = DType::undefined;
  bool saturate = true;
  PowerRounding rounding = PowerRounding::up;
  bool operator==(const Cast&) const = default;
};

}  // namespace colonnade
