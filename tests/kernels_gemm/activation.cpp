// SPDX-License-Identifier: Apache-2.0
#include "kernels_gemm/activation.hpp"

#include <algorithm>
#include <cmath>

namespace colonnade::testing {

using kernels::Unary;
using kernels::UnaryOp;

double activate(const UnaryOp& op, double x, std::size_t channel) {
  const double a = static_cast<double>(op.a);
  const double b = static_cast<double>(op.b);
  const double gelu_argument = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  switch (op.kind) {
    case Unary::identity: return x;
    case Unary::relu: return std::max(x, 0.0);
    case Unary::clip: return std::min(std::max(x, a), b);
    case Unary::leaky_relu: return x < 0 ? a * x : x;
    case Unary::prelu: return x < 0 ? static_cast<double>(op.slope[channel]) * x : x;
    case Unary::sigmoid: return 1 / (1 + std::exp(-x));
    case Unary::hard_sigmoid: return std::min(std::max(a * x + b, 0.0), 1.0);
    case Unary::hard_swish: return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    case Unary::silu: return x / (1 + std::exp(-x));
    case Unary::tanh: return std::tanh(x);
    case Unary::gelu_erf: return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Unary::gelu_tanh: return x / (1 + std::exp(-2 * gelu_argument));
    case Unary::elu: return x < 0 ? a * std::expm1(x) : x;
    case Unary::selu: return b * (x < 0 ? a * std::expm1(x) : x);
    case Unary::softplus: return std::log1p(std::exp(x));
    case Unary::softsign: return x / (1 + std::fabs(x));
    case Unary::mish: return x * std::tanh(std::log1p(std::exp(x)));
    case Unary::exp: return std::exp(x);
    case Unary::log: return std::log(x);
    case Unary::erf: return std::erf(x);
    case Unary::sqrt: return std::sqrt(x);
    case Unary::reciprocal: return 1 / x;
    case Unary::abs: return std::fabs(x);
    case Unary::neg: return -x;
    case Unary::square: return x * x;
    case Unary::floor: return std::floor(x);
    case Unary::ceil: return std::ceil(x);
    case Unary::round: return std::nearbyint(x);
    case Unary::affine: return a * x + b;
    case Unary::steps: return a * std::min(std::max(std::nearbyint(x / a), b), b + 65535);
  }
  return NAN;
}

double activation_tolerance(const UnaryOp& op, double x) {
  const double relative = 0x1p-20 * std::fabs(activate(op, x, 0));
  switch (op.kind) {
    case Unary::prelu: return 0x1p-23 * std::fabs(x);
    case Unary::gelu_erf: return relative + 0x1p-22 * std::fabs(x);
    case Unary::hard_sigmoid:
    case Unary::hard_swish:
    case Unary::affine: return relative + 0x1p-22 * (std::fabs(x) + 1);
    case Unary::steps: {  // either, where two are equally near
      const double a = static_cast<double>(op.a), part = x / a - std::floor(x / a);
      return relative + (std::fabs(part - 0.5) < 0x1p-20 * std::fabs(x / a) ? 1.001 * a : 0);
    }
    default: return relative + 1e-30;
  }
}

std::vector<UnaryOp> every_activation(const float* slopes) {
  std::vector<UnaryOp> all;
  for (int kind = 0; kind < kernels::kUnaryCount; ++kind) all.push_back({static_cast<Unary>(kind), 0.1f, 0.7f, slopes});
  return all;
}

}  // namespace colonnade::testing
