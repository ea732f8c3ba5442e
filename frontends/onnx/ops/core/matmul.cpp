// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "frontends/onnx/ops/core/shared.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_matmul(Lowering& low) { return {low.emit(MatMul{}, {low.input(0), low.input(1)})}; }

/// C as the bias [N] of a product with N columns; kAbsent when it has another form.
ValueId as_bias(Lowering& low, ValueId c, std::int64_t columns) {
  const auto& shape = low.shape(c);
  if (!shape || columns < 1) return kAbsent;
  if (*shape == Shape{columns}) return c;
  if (*shape == Shape{1, columns}) return reshape(low, c, {columns});
  return kAbsent;
}

ValueId scaled(Lowering& low, ValueId x, float factor) {
  return factor == 1 ? x : binary_scalar(low, BinaryKind::mul, x, factor);
}

struct GemmInputs {
  ValueId a, b, c;  ///< c may be absent
};

ValueId gemm_of(Lowering& low, const GemmInputs& inputs, float alpha, float beta) {
  auto [a, b, c] = inputs;
  for (const ValueId id : {a, b}) {
    if (low.shape(id) && low.rank(id) != 2) low.invalid("expected matrices, found rank {}", low.rank(id));
  }
  const MatMul product{.transpose_a = low.flag("transA"), .transpose_b = low.flag("transB"), .epilogue = {}};
  const std::int64_t columns = low.dim(b, product.transpose_b ? 0 : 1);
  if (low.constant_of(a)) {
    a = scaled(low, a, alpha);
  } else {
    b = scaled(low, b, alpha);
  }
  if (c == kAbsent || beta == 0) return low.emit(product, {a, b});
  if (low.shape(c) && low.rank(c) > 2) low.invalid("expected C of rank 2 or less, found rank {}", low.rank(c));
  c = scaled(low, c, beta);
  const ValueId bias = as_bias(low, c, columns);
  if (bias != kAbsent) return low.emit(product, {a, b, bias});
  return binary(low, BinaryKind::add, low.emit(product, {a, b}), c);
}

}  // namespace

ValueId gemm(Lowering& low) {
  const float alpha = low.float_or("alpha", 1), beta = low.float_or("beta", 1);
  const DType dtype = low.dtype(low.input(0));
  // the factors of integers need not be whole
  const bool is_whole = alpha == std::trunc(alpha) && beta == std::trunc(beta);
  const bool is_wide = !is_whole && dtype != DType::undefined && !is_float(dtype);
  const auto wide = [&](ValueId x) { return is_wide && x != kAbsent ? cast(low, x, DType::f64) : x; };
  const GemmInputs inputs{wide(low.input(0)), wide(low.input(1)), wide(low.optional_input(2))};
  return cast(low, gemm_of(low, inputs, alpha, beta), dtype);
}

namespace {

Values lower_gemm(Lowering& low) { return {gemm(low)}; }

Values lower_einsum(Lowering& low) {
  Einsum einsum{low.required_string("equation")};
  std::erase(einsum.equation, ' ');
  return {low.emit(std::move(einsum), low.inputs())};
}

constexpr Row kMatmulRows[] = {
    {kOnnxDomain, "MatMul", 1, kNoLimit, 2, 2, 1, lower_matmul},
    {kOnnxDomain, "Gemm", 1, 10, 3, 3, 1, lower_gemm},
    {kOnnxDomain, "Gemm", 11, kNoLimit, 2, 3, 1, lower_gemm},
    {kOnnxDomain, "Einsum", 12, kNoLimit, 1, kNoLimit, 1, lower_einsum},
};

}  // namespace

std::span<const Row> matmul_rows() { return kMatmulRows; }

}  // namespace colonnade::onnx_import
