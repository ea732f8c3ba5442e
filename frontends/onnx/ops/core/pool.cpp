// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/core/window.hpp"

namespace colonnade::onnx_import {
namespace {

/// Indices of a two-dimensional pool count columns first.
ValueId column_major_indices(Lowering& low, ValueId x, ValueId indices) {
  const std::int64_t height = low.dim(x, 2), width = low.dim(x, 3);
  if (low.rank(x) != 4 || height < 1 || width < 1) {
    low.unsupported("storage_order 1 with indices needs a 4-D input of known size");
  }
  const ValueId position = binary_scalar(low, BinaryKind::mod, indices, static_cast<double>(height * width));
  const ValueId base = binary(low, BinaryKind::sub, indices, position);
  const ValueId row = binary_scalar(low, BinaryKind::div, position, static_cast<double>(width));
  const ValueId column = binary_scalar(low, BinaryKind::mod, position, static_cast<double>(width));
  const ValueId start = binary_scalar(low, BinaryKind::mul, column, static_cast<double>(height));
  return binary(low, BinaryKind::add, base, binary(low, BinaryKind::add, start, row));
}

/// The exponent of a norm, which the first opset gives as a float.
double read_power(const Lowering& low) {
  const double p = low.opset() < 2 ? low.float_or("p", 2) : static_cast<double>(low.int_or("p", 2));
  if (!(p >= 1) || p > 1024) low.invalid("attribute 'p': {} is out of range", p);
  return p;
}

}  // namespace

Values pool(Lowering& low, PoolKind kind, ValueId x) {
  const auto kernel = read_kernel(low);
  if (!kernel || kernel->empty()) low.invalid("attribute 'kernel_shape' is required");
  const auto rank = static_cast<std::int64_t>(kernel->size()) + 2;
  if (low.shape(x) && low.rank(x) != rank) {
    low.invalid("expected an input of rank {} for its kernel, found rank {}", rank, low.rank(x));
  }
  Window window = read_window(low, *kernel);
  lift(window);
  Pool window_pool{.kind = kind,
                   .kernel = window.kernel,
                   .strides = window.strides,
                   .dilations = window.dilations,
                   .pads = window.pads,
                   .auto_pad = window.auto_pad,
                   .ceil_mode = low.flag("ceil_mode"),
                   .count_include_pad = low.flag("count_include_pad"),
                   .p = 2};
  if (kind == PoolKind::lp) {
    const double p = read_power(low);
    if (p != std::floor(p)) low.unsupported("attribute 'p': {} is no whole number", p);
    window_pool.p = static_cast<std::int64_t>(p);
  }
  const std::size_t outputs = low.wants_output(1) ? 2 : 1;
  Values results = low.emit_all(std::move(window_pool), {to_window_layout(low, x, rank)}, outputs);
  for (auto& result : results) result = from_window_layout(low, result, rank);
  if (outputs == 2 && low.flag("storage_order")) results[1] = column_major_indices(low, x, results[1]);
  return results;
}

namespace {

template <PoolKind kind>
Values lower_pool(Lowering& low) {
  return pool(low, kind, low.input(0));
}

Ints spatial_axes(const Lowering& low) {
  const std::int64_t rank = low.rank(low.input(0));
  if (rank < 3) low.invalid("expected an input of rank 3 or more, found rank {}", rank);
  return axes_between(2, rank);
}

template <ReduceKind kind>
Values lower_global_pool(Lowering& low) {
  return {reduce(low, kind, low.input(0), spatial_axes(low))};
}

Values lower_global_lp_pool(Lowering& low) {
  const double p = read_power(low);
  const Ints axes = spatial_axes(low);
  if (p == 1 || p == 2) return {reduce(low, p == 1 ? ReduceKind::l1 : ReduceKind::l2, low.input(0), axes)};
  const ValueId powers = binary_scalar(low, BinaryKind::pow, unary(low, UnaryKind::abs, low.input(0)), p);
  return {binary_scalar(low, BinaryKind::pow, reduce(low, ReduceKind::sum, powers, axes), 1 / p)};
}

constexpr Row kPoolRows[] = {
    {kOnnxDomain, "MaxPool", 1, kNoLimit, 1, 1, 2, lower_pool<PoolKind::max>},
    {kOnnxDomain, "AveragePool", 1, kNoLimit, 1, 1, 1, lower_pool<PoolKind::average>},
    {kOnnxDomain, "LpPool", 1, kNoLimit, 1, 1, 1, lower_pool<PoolKind::lp>},
    {kOnnxDomain, "GlobalAveragePool", 1, kNoLimit, 1, 1, 1, lower_global_pool<ReduceKind::mean>},
    {kOnnxDomain, "GlobalMaxPool", 1, kNoLimit, 1, 1, 1, lower_global_pool<ReduceKind::max>},
    {kOnnxDomain, "GlobalLpPool", 1, kNoLimit, 1, 1, 1, lower_global_lp_pool},
};

}  // namespace

std::span<const Row> pool_rows() { return kPoolRows; }

}  // namespace colonnade::onnx_import
