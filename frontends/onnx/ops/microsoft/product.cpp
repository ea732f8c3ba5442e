// SPDX-License-Identifier: Apache-2.0
// com.microsoft: matrix products with transposes, factors, biases and activations fused.
#include <algorithm>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"

namespace colonnade::onnx_import {
namespace {

/// [rows, batch..., columns] as [batch..., rows, columns].
ValueId rows_behind_batch(Lowering& low, ValueId x) {
  const std::int64_t rank = low.rank(x);
  if (rank < 3) return x;
  Ints perm = axes_between(0, rank);
  std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  return transpose(low, x, perm);
}

/// The product times alpha; a constant operand takes the factor. Vectors are not transposed.
ValueId product(Lowering& low) {
  ValueId a = low.input(0), b = low.input(1);
  if (low.flag("transBatchA")) a = rows_behind_batch(low, a);
  if (low.flag("transBatchB")) b = rows_behind_batch(low, b);
  const auto transposes = [&](std::string_view name, ValueId x) { return low.flag(name) && low.rank(x) > 1; };
  const MatMul op{.transpose_a = transposes("transA", a), .transpose_b = transposes("transB", b), .epilogue = {}};
  const float alpha = low.float_or("alpha", 1);
  if (alpha == 1) return low.emit(op, {a, b});
  if (low.constant_of(b)) return low.emit(op, {a, binary_scalar(low, BinaryKind::mul, b, alpha)});
  if (low.constant_of(a)) return low.emit(op, {binary_scalar(low, BinaryKind::mul, a, alpha), b});
  return binary_scalar(low, BinaryKind::mul, low.emit(op, {a, b}), alpha);
}

/// The attributes activation_alpha, _beta and _gamma, as far as they go without a gap.
Activation attribute_activation(const Lowering& low) {
  Activation activation{low.string_or("activation", ""), {}};
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    const auto value = find_float(low.node(), name);
    const bool skips_beta = !value && name == std::string_view("activation_beta");
    if (!value && !skips_beta) break;
    activation.parameters.push_back(value.value_or(0));
  }
  return activation;
}

Values lower_fused_matmul(Lowering& low) { return {product(low)}; }

Values lower_activated_matmul(Lowering& low) {
  const Activation activation = attribute_activation(low);
  const ValueId y = product(low);
  if (activation.name == "Softmax" || activation.name == "LogSoftmax") {
    return {low.emit(Softmax{.axis = low.int_or("activation_axis", -1), .log = activation.name == "LogSoftmax"}, {y})};
  }
  return {activate(low, y, activation)};
}

Values lower_fused_gemm(Lowering& low) { return {activate(low, gemm(low), attribute_activation(low))}; }

Values lower_gemm_fast_gelu(Lowering& low) {
  Values inputs = {low.input(0), low.input(1)};
  if (low.optional_input(2) != kAbsent) inputs.push_back(low.input(2));
  return {unary(low, UnaryKind::gelu_tanh, low.emit(MatMul{}, std::move(inputs)))};
}

/// Distances between the rows of a and of b, by |a|^2 + |b|^2 - 2 ab: a product, as elsewhere.
Values lower_cdist(Lowering& low) {
  const std::string metric = low.string_or("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean")
    low.unsupported("metric '{}' is not supported", printable(metric));
  const ValueId a = low.input(0), b = low.input(1);
  const auto squares = [&](ValueId x, std::int64_t axis) {
    return unsqueeze(low, reduce(low, ReduceKind::sum, unary(low, UnaryKind::square, x), {1}, false), {axis});
  };
  const ValueId products = low.emit(MatMul{}, {a, transpose(low, b, {1, 0})});
  const ValueId sums = binary(low, BinaryKind::add, squares(a, 1), squares(b, 0));
  const ValueId far = binary(low, BinaryKind::sub, sums, binary_scalar(low, BinaryKind::mul, products, 2.0));
  const ValueId distances = unary(low, UnaryKind::relu, far);
  return {metric == "euclidean" ? unary(low, UnaryKind::sqrt, distances) : distances};
}

constexpr Row kProductRows[] = {
    microsoft_row("CDist", 2, 2, 1, lower_cdist),
    microsoft_row("FusedGemm", 2, 3, 1, lower_fused_gemm),
    microsoft_row("FusedMatMul", 2, 2, 1, lower_fused_matmul),
    microsoft_row("FusedMatMulActivation", 2, 2, 1, lower_activated_matmul),
    microsoft_row("GemmFastGelu", 2, 3, 1, lower_gemm_fast_gelu),
    microsoft_row("TransposeMatMul", 2, 2, 1, lower_fused_matmul),
};

}  // namespace

std::span<const Row> microsoft_product_rows() { return kProductRows; }

}  // namespace colonnade::onnx_import
