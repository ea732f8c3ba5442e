// SPDX-License-Identifier: Apache-2.0
// Determinants and running products.
#include <algorithm>
#include <cmath>

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

Types infer_det(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank_at_least(0, 2);
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  const Shape& shape = *ctx.shape(0);
  ctx.dim(0, shape.size() - 1, shape[shape.size() - 2], "the rows");
  return {{ctx.dtype(0), Shape(shape.begin(), shape.end() - 2)}};
}

/// By elimination with the largest pivot; the matrix [n, n] is consumed.
double determinant(std::span<double> matrix, std::size_t n) {
  double result = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row) {
      if (std::abs(matrix[row * n + column]) > std::abs(matrix[pivot * n + column])) pivot = row;
    }
    if (pivot != column) {
      std::swap_ranges(&matrix[pivot * n], &matrix[pivot * n] + n, &matrix[column * n]);
      result = -result;
    }
    const double scale = matrix[column * n + column];
    result *= scale;
    if (scale == 0) return 0;
    for (std::size_t row = column + 1; row < n; ++row) {
      const double factor = matrix[row * n + column] / scale;
      for (std::size_t i = column; i < n; ++i) matrix[row * n + i] -= factor * matrix[column * n + i];
    }
  }
  return result;
}

Data evaluate_det(const Opaque&, const Call& call) {
  const Tensor& x = call.input(0);
  const std::int64_t n = x.shape().back();
  std::vector<double> matrix(static_cast<std::size_t>(n * n)), results;
  Tensor y(call.dtype(), call.shape());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    load(x, i * n * n, n * n, matrix.data());
    results.push_back(determinant(matrix, static_cast<std::size_t>(n)));
  }
  store(results.data(), y.size(), y, 0);
  return {std::move(y)};
}

Types infer_cum_prod(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.integer(1);
  if (const auto axis = ctx.ints(1); axis && ctx.shape(0)) {
    if (axis->size() != 1) ctx.fail("{} must hold one axis, holds {}", ctx.text(1), axis->size());
    ctx.axis(axis->front(), rank_of(*ctx.shape(0)));
  }
  return {ctx.type(0)};
}

/// Every element the product of those before it along the axis, with itself unless `exclusive`.
template <class C>
void multiply_along(std::span<C> line, bool exclusive, bool reverse) {
  C product{1};
  for (std::size_t i = 0; i < line.size(); ++i) {
    C& element = line[reverse ? line.size() - 1 - i : i];
    C next{};
    if constexpr (std::is_integral_v<C>) {
      next = static_cast<C>(static_cast<std::uint64_t>(product) * static_cast<std::uint64_t>(element));
    } else {
      next = product * element;
    }
    element = exclusive ? product : next;
    product = next;
  }
}

Data evaluate_cum_prod(const Opaque& op, const Call& call) {
  const Tensor& x = call.input(0);
  const bool exclusive = op.int_or("exclusive", 0) != 0, reverse = op.int_or("reverse", 0) != 0;
  const Ints axis = call.ints(1);
  if (axis.size() != 1) call.invalid("expected one axis, found {}", axis.size());
  const AxisView view = axis_view(x.shape(), call.axis(axis.front(), x));
  Tensor y(x.dtype(), x.shape());
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) {
    std::vector<C> values = load_all<C>(x), line(static_cast<std::size_t>(view.size));
    for (std::int64_t i = 0; i < view.outer * view.inner && view.size > 0; ++i) {
      C* first = values.data() + (i / view.inner) * view.size * view.inner + i % view.inner;
      for (std::int64_t k = 0; k < view.size; ++k) line[static_cast<std::size_t>(k)] = first[k * view.inner];
      multiply_along<C>(line, exclusive, reverse);
      for (std::int64_t k = 0; k < view.size; ++k) first[k * view.inner] = line[static_cast<std::size_t>(k)];
    }
    store(values.data(), x.size(), y, 0);
  });
  return {std::move(y)};
}

}  // namespace

constexpr Definition kDet{"Det", infer_det, evaluate_det};
constexpr Definition kCumProd{"CumProd", infer_cum_prod, evaluate_cum_prod};

}  // namespace colonnade::reference
