// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace colonnade::kernels {

/// Functions of one float. `a` and `b` are the parameters of UnaryOp.
enum class Unary : unsigned char {
  identity,
  relu,          // max(x, 0)
  clip,          // min(max(x, a), b)
  leaky_relu,    // x < 0 ? a * x : x
  prelu,         // x < 0 ? slope[channel] * x : x
  sigmoid,       // 1 / (1 + exp(-x))
  hard_sigmoid,  // min(max(a * x + b, 0), 1)
  hard_swish,    // x * min(max(x / 6 + 0.5, 0), 1)
  silu,          // x * sigmoid(x)
  tanh,
  gelu_erf,   // x / 2 * (1 + erf(x / sqrt 2))
  gelu_tanh,  // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  elu,        // x < 0 ? a * (exp(x) - 1) : x
  selu,       // b * (x < 0 ? a * (exp(x) - 1) : x)
  softplus,   // log(1 + exp(x))
  softsign,   // x / (1 + |x|)
  mish,       // x * tanh(softplus(x))
  exp,
  log,
  erf,
  sqrt,
  reciprocal,
  abs,
  neg,
  square,
  floor,
  ceil,
  round,   // ties to even
  affine,  // a * x + b
};
inline constexpr int kUnaryCount = static_cast<int>(Unary::affine) + 1;

/// A function of one float with its parameters. `slope` (prelu only) holds one value per channel.
struct UnaryOp {
  Unary kind = Unary::identity;
  float a = 0;
  float b = 0;
  const float* slope = nullptr;
};

/// What a contraction does to its sums before it stores them:
///   y = act(sum + residual)   or, with residual_after, y = act(sum) + residual.
struct Epilogue {
  UnaryOp activation;
  bool residual_after = false;
};

}  // namespace colonnade::kernels
