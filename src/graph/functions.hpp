// SPDX-License-Identifier: Apache-2.0
// Functions of one number. All that the engine knows of one stands in its row here; only a kernel has another place
// (kernels/base/unary.hpp and vector_math.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <string_view>

// A row: the enumerator, which is also the name; the ONNX operator, if there is one; its first opset (0: the importer
// lowers it in a way of its own); the parameters a and b; operations an element; monotone; kernel; and the value at x
// in double precision, for which functions above it may be called.
// clang-format off
#define COLONNADE_FUNCTIONS(F)                                                                                       \
  F(identity,         "Identity",        1,  none(),                                   0,  yes,           rows,      \
    x)                                                                                                               \
  F(relu,             "Relu",            1,  none(),                                   1,  yes,           sums,      \
    x < 0 ? 0 : x)                                                                                                   \
  F(clip,             "Clip",            0,  two("min", kLowest, "max", kHighest),     1,  yes,           sums,      \
    std::min(std::max(x, a), b))                                                                                     \
  F(leaky_relu,       "LeakyRelu",       1,  one("alpha", 0.01f),                      1,  by_parameters, sums,      \
    x < 0 ? a * x : x)                                                                                               \
  F(sigmoid,          "Sigmoid",         1,  none(),                                   10, yes,           sums,      \
    x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)))                                               \
  F(hard_sigmoid,     "HardSigmoid",     1,  two("alpha", 0.2f, "beta", 0.5f),         1,  by_parameters, sums,      \
    clip(a * x + b, 0, 1))                                                                                           \
  F(hard_swish,       "HardSwish",       14, none(),                                   1,  no,            sums,      \
    x * clip(x / 6 + 0.5, 0, 1))                                                                                     \
  F(silu,             "",                0,  none(),                                   10, no,            sums,      \
    x * sigmoid(x, a, b))                                                                                            \
  F(tanh,             "Tanh",            1,  none(),                                   10, yes,           sums,      \
    std::tanh(x))                                                                                                    \
  F(gelu_erf,         "",                0,  none(),                                   10, no,            sums,      \
    0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)))                                                               \
  F(gelu_tanh,        "",                0,  none(),                                   10, no,            sums,      \
    0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))))                         \
  F(elu,              "Elu",             1,  one("alpha", 1),                          10, by_parameters, sums,      \
    x < 0 ? a * std::expm1(x) : x)                                                                                   \
  F(selu,             "Selu",            6,  two("alpha", kSeluAlpha, "gamma", kSeluGamma), 10, by_parameters, sums, \
    x > 0 ? b * x : b * a * std::expm1(x))                                                                           \
  F(celu,             "Celu",            12, one("alpha", 1),                          10, by_parameters, none,      \
    x < 0 ? a * std::expm1(x / a) : x)                                                                               \
  F(thresholded_relu, "ThresholdedRelu", 1,  one("alpha", 1),                          1,  no,            none,      \
    x > a ? x : 0)                                                                                                   \
  F(softplus,         "Softplus",        1,  none(),                                   10, yes,           sums,      \
    std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))))                                                           \
  F(softsign,         "Softsign",        1,  none(),                                   1,  yes,           sums,      \
    x / (1 + std::abs(x)))                                                                                           \
  F(mish,             "Mish",            18, none(),                                   10, no,            sums,      \
    x * std::tanh(softplus(x, a, b)))                                                                                \
  F(exp,              "Exp",             1,  none(),                                   10, yes,           sums,      \
    std::exp(x))                                                                                                     \
  F(log,              "Log",             1,  none(),                                   10, no,            rows,      \
    std::log(x))                                                                                                     \
  F(erf,              "Erf",             9,  none(),                                   10, yes,           rows,      \
    std::erf(x))                                                                                                     \
  F(sqrt,             "Sqrt",            1,  none(),                                   1,  no,            sums,      \
    std::sqrt(x))                                                                                                    \
  F(reciprocal,       "Reciprocal",      1,  none(),                                   1,  no,            rows,      \
    1 / x)                                                                                                           \
  F(abs,              "Abs",             1,  none(),                                   1,  no,            sums,      \
    std::abs(x))                                                                                                     \
  F(neg,              "Neg",             1,  none(),                                   1,  no,            sums,      \
    -x)                                                                                                              \
  F(sign,             "Sign",            9,  none(),                                   1,  yes,           none,      \
    x > 0 ? 1 : x < 0 ? -1 : x)                                                                                      \
  F(square,           "",                0,  none(),                                   1,  no,            sums,      \
    x * x)                                                                                                           \
  F(floor,            "Floor",           1,  none(),                                   1,  yes,           rows,      \
    std::floor(x))                                                                                                   \
  F(ceil,             "Ceil",            1,  none(),                                   1,  yes,           rows,      \
    std::ceil(x))                                                                                                    \
  F(round,            "Round",           11, none(),                                   1,  yes,           rows,      \
    std::nearbyint(x))                                                                                               \
  F(steps,            "",                0,  none(),                                   4,  by_parameters, sums,      \
    a == 0 ? 0 * x : a * std::min(std::max(std::nearbyint(x / a), b), b + 65535))                                    \
  F(affine,           "",                0,  none(),                                   1,  by_parameters, sums,      \
    a * x + b)                                                                                                       \
  F(sin,              "Sin",             7,  none(),                                   10, no,            none,      \
    std::sin(x))                                                                                                     \
  F(cos,              "Cos",             7,  none(),                                   10, no,            none,      \
    std::cos(x))                                                                                                     \
  F(tan,              "Tan",             7,  none(),                                   10, no,            none,      \
    std::tan(x))                                                                                                     \
  F(asin,             "Asin",            7,  none(),                                   10, no,            none,      \
    std::asin(x))                                                                                                    \
  F(acos,             "Acos",            7,  none(),                                   10, no,            none,      \
    std::acos(x))                                                                                                    \
  F(atan,             "Atan",            7,  none(),                                   10, yes,           none,      \
    std::atan(x))                                                                                                    \
  F(sinh,             "Sinh",            9,  none(),                                   10, yes,           none,      \
    std::sinh(x))                                                                                                    \
  F(cosh,             "Cosh",            9,  none(),                                   10, no,            none,      \
    std::cosh(x))                                                                                                    \
  F(asinh,            "Asinh",           9,  none(),                                   10, yes,           none,      \
    std::asinh(x))                                                                                                   \
  F(acosh,            "Acosh",           9,  none(),                                   10, no,            none,      \
    std::acosh(x))                                                                                                   \
  F(atanh,            "Atanh",           9,  none(),                                   10, no,            none,      \
    std::atanh(x))                                                                                                   \
  F(logical_not,      "Not",             1,  none(),                                   1,  no,            none,      \
    x == 0 ? 1 : 0)                                                                                                  \
  F(is_nan,           "IsNaN",           9,  none(),                                   1,  no,            none,      \
    std::isnan(x) ? 1 : 0)                                                                                           \
  F(is_inf,           "",                0,  none(),                                   1,  no,            none,      \
    std::isinf(x) ? 1 : 0)                                                                                           \
  F(bitwise_not,      "BitwiseNot",      18, none(),                                   1,  no,            none,      \
    -x - 1)
// clang-format on

namespace colonnade {

#define COLONNADE_ENUMERATOR(name, ...) name,
enum class UnaryKind : std::uint8_t { COLONNADE_FUNCTIONS(COLONNADE_ENUMERATOR) };
#undef COLONNADE_ENUMERATOR

/// Whether a function never falls as x grows, and gives NaN for NaN. by_parameters: where neither of its parameters is
/// negative.
enum class Monotone : std::uint8_t { no, yes, by_parameters };

/// Which kernels compute a function: none, those that map rows, and besides them contractions, of their sums.
enum class FunctionKernel : std::uint8_t { none, rows, sums };

/// A parameter under the name of its ONNX attribute, which is empty when there is no parameter, and what it is where
/// none is given.
struct Parameter {
  std::string_view name;
  float fallback = 0;
};
struct Parameters {
  Parameter a, b;
};

struct UnaryFunction {
  std::string_view name;
  std::string_view onnx_name;
  int onnx_since;
  Parameters parameters;
  double flop;
  Monotone monotone;
  FunctionKernel kernel;
  double (*value)(double x, double a, double b);
};

namespace functions {

#define COLONNADE_VALUE(name, onnx_name, since, parameters, flop, monotone, kernel, value) \
  inline double name([[maybe_unused]] double x, [[maybe_unused]] double a, [[maybe_unused]] double b) { return value; }
COLONNADE_FUNCTIONS(COLONNADE_VALUE)
#undef COLONNADE_VALUE

inline constexpr float kLowest = std::numeric_limits<float>::lowest(), kHighest = std::numeric_limits<float>::max();
inline constexpr float kSeluAlpha = 1.67326319217681884765625f, kSeluGamma = 1.05070102214813232421875f;

constexpr Parameters none() { return {}; }
constexpr Parameters one(std::string_view a, float fallback) { return {{a, fallback}, {}}; }
constexpr Parameters two(std::string_view a, float fallback_a, std::string_view b, float fallback_b) {
  return {{a, fallback_a}, {b, fallback_b}};
}

#define COLONNADE_ROW(name, onnx_name, since, parameters, flop, monotone, kernel, value) \
  UnaryFunction{#name, onnx_name, since, parameters, flop, Monotone::monotone, FunctionKernel::kernel, functions::name},
inline constexpr UnaryFunction kTable[] = {COLONNADE_FUNCTIONS(COLONNADE_ROW)};
#undef COLONNADE_ROW

}  // namespace functions

inline constexpr std::size_t kFunctionCount = std::size(functions::kTable);
constexpr const UnaryFunction& function_of(UnaryKind kind) { return functions::kTable[static_cast<std::size_t>(kind)]; }

/// The function that an ONNX operator of one input is.
constexpr std::optional<UnaryKind> find_function(std::string_view onnx_name) {
  for (std::size_t i = 0; i < kFunctionCount; ++i)
    if (!onnx_name.empty() && functions::kTable[i].onnx_name == onnx_name) return static_cast<UnaryKind>(i);
  return std::nullopt;
}

/// More than a few instructions an element.
constexpr bool is_costly(UnaryKind kind) { return function_of(kind).flop > 1; }
constexpr bool has_kernel(UnaryKind kind) { return function_of(kind).kernel != FunctionKernel::none; }
/// Contractions apply it to their sums.
constexpr bool is_fusable(UnaryKind kind) { return function_of(kind).kernel == FunctionKernel::sums; }

}  // namespace colonnade
