// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace colonnade::kernels {

// Functions of one float, each with its functor in vector_math.hpp. a and b are the parameters of UnaryOp.
// clang-format off
#define COLONNADE_UNARY(F)                                                                  \
  F(identity,     Identity)                                                                 \
  F(relu,         Relu)        /* max(x, 0) */                                              \
  F(clip,         Clip)        /* min(max(x, a), b) */                                      \
  F(leaky_relu,   LeakyRelu)   /* x < 0 ? a * x : x */                                      \
  F(prelu,        Prelu)       /* x < 0 ? slope[channel] * x : x */                         \
  F(sigmoid,      Sigmoid)     /* 1 / (1 + exp(-x)) */                                      \
  F(hard_sigmoid, HardSigmoid) /* min(max(a * x + b, 0), 1) */                              \
  F(hard_swish,   HardSwish)   /* x * min(max(x / 6 + 0.5, 0), 1) */                        \
  F(silu,         Silu)        /* x * sigmoid(x) */                                         \
  F(tanh,         Tanh)                                                                     \
  F(gelu_erf,     GeluErf)     /* x / 2 * (1 + erf(x / sqrt 2)) */                          \
  F(gelu_tanh,    GeluTanh)    /* x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) */  \
  F(elu,          Elu)         /* x < 0 ? a * (exp(x) - 1) : x */                           \
  F(selu,         Selu)        /* b * (x < 0 ? a * (exp(x) - 1) : x) */                     \
  F(softplus,     Softplus)    /* log(1 + exp(x)) */                                        \
  F(softsign,     Softsign)    /* x / (1 + |x|) */                                          \
  F(mish,         Mish)        /* x * tanh(softplus(x)) */                                  \
  F(exp,          Exp)                                                                      \
  F(log,          Log)                                                                      \
  F(erf,          Erf)                                                                      \
  F(sqrt,         Sqrt)                                                                     \
  F(reciprocal,   Reciprocal)                                                               \
  F(abs,          Abs)                                                                      \
  F(neg,          Neg)                                                                      \
  F(square,       Square)                                                                   \
  F(floor,        Floor)                                                                    \
  F(ceil,         Ceil)                                                                     \
  F(round,        Round)       /* ties to even */                                           \
  F(affine,       Affine)      /* a * x + b */                                              \
  F(steps,        Steps)       /* a * min(max(round(x / a), b), b + 65535) */
// clang-format on

#define COLONNADE_ENUMERATOR(name, Functor) name,
enum class Unary : unsigned char { COLONNADE_UNARY(COLONNADE_ENUMERATOR) };
#undef COLONNADE_ENUMERATOR

#define COLONNADE_NAME(name, Functor) #name,
inline constexpr const char* kUnaryNames[] = {COLONNADE_UNARY(COLONNADE_NAME)};
#undef COLONNADE_NAME
inline constexpr int kUnaryCount = static_cast<int>(sizeof kUnaryNames / sizeof *kUnaryNames);

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
