// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX once had as experimental ones and removed; old models still hold them.
#include <limits>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_affine(Lowering& low) {
  const ValueId x = low.input(0);
  const float alpha = low.float_or("alpha", 1), beta = low.float_or("beta", 0);
  if (low.dtype(x) == DType::f32) return {unary(low, UnaryKind::affine, x, alpha, beta)};
  return {binary_scalar(low, BinaryKind::add, binary_scalar(low, BinaryKind::mul, x, alpha), beta)};
}

Values lower_scale(Lowering& low) {
  return {binary_scalar(low, BinaryKind::mul, low.input(0), low.float_or("scale", 1))};
}

/// x * scale, plus one bias a channel: what a BatchNorm of mean 0 and variance 1 does.
Values lower_image_scaler(Lowering& low) {
  const ValueId x = low.input(0);
  const auto bias = find_floats(low.node(), "bias").value_or(std::vector<float>());
  const float scale = low.float_or("scale", 1);
  if (bias.empty()) return {binary_scalar(low, BinaryKind::mul, x, scale)};
  const auto channels = static_cast<std::int64_t>(bias.size());
  if (low.dim(x, 1) >= 0 && low.dim(x, 1) != channels) {
    low.invalid("attribute 'bias': expected {} values, found {}", low.dim(x, 1), channels);
  }
  const auto constant = [&](const std::vector<float>& values) {
    return cast(low, floats(low, values, {channels}), low.dtype(x));
  };
  const auto all = [&](float value) { return constant(std::vector<float>(bias.size(), value)); };
  return {low.emit(BatchNorm{.epsilon = 0}, {x, all(scale), constant(bias), all(0), all(1)})};
}

/// border is left, top, right, bottom; with scale (height, width) the size is given instead of right and bottom.
Values lower_crop(Lowering& low) {
  const Ints border = low.required_ints("border");
  const auto scale = find_ints(low.node(), "scale");
  if (border.size() != 4) low.invalid("attribute 'border': expected 4 values, found {}", border.size());
  if (scale && scale->size() != 2) low.invalid("attribute 'scale': expected 2 values, found {}", scale->size());
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::int64_t value : border) {
    if (value < 0 || value > kMost) low.invalid("attribute 'border': {} is out of range", value);
  }
  const auto end_of = [&](std::int64_t begin, std::int64_t after, std::size_t axis) {
    if (!scale) return after == 0 ? kMost : -after;
    if ((*scale)[axis] < 1 || (*scale)[axis] > kMost)
      low.invalid("attribute 'scale': {} is out of range", (*scale)[axis]);
    return begin + (*scale)[axis];
  };
  const ValueId starts = ints(low, {border[1], border[0]});
  const ValueId ends = ints(low, {end_of(border[1], border[3], 0), end_of(border[0], border[2], 1)});
  return {low.emit(Slice{}, {low.input(0), starts, ends, ints(low, {2, 3})})};
}

Values lower_parametric_softplus(Lowering& low) {
  const ValueId inner = binary_scalar(low, BinaryKind::mul, low.input(0), low.float_or("beta", 1));
  return {binary_scalar(low, BinaryKind::mul, unary(low, UnaryKind::softplus, inner), low.float_or("alpha", 1))};
}

Values lower_scaled_tanh(Lowering& low) {
  const ValueId inner = binary_scalar(low, BinaryKind::mul, low.input(0), low.float_or("beta", 1));
  return {binary_scalar(low, BinaryKind::mul, unary(low, UnaryKind::tanh, inner), low.float_or("alpha", 1))};
}

/// The shape to fill: the attribute's, or the input's or the one it holds, with 'extra_shape' after it.
ValueId filled_shape(Lowering& low) {
  const auto shape = find_ints(low.node(), "shape");
  const Ints extra = find_ints(low.node(), "extra_shape").value_or(Ints());
  const ValueId x = low.optional_input(0);
  if (x == kAbsent && !shape) low.invalid("expected an input or the attribute 'shape'");
  if (x == kAbsent) return ints(low, *shape);
  const ValueId given = low.flag("input_as_shape") ? cast(low, x, DType::i64) : shape_of(low, x);
  return extra.empty() ? given : low.emit(Concat{0}, {given, ints(low, extra)});
}

Values lower_constant_fill(Lowering& low) {
  const DType dtype = dtype_of(low.int_or("dtype", 1), low.node().label() + ": attribute 'dtype'");
  return {low.emit(Fill{}, {filled_shape(low), cast(low, scalar(low, DType::f32, low.float_or("value", 0)), dtype)})};
}

Values lower_given_tensor_fill(Lowering& low) {
  const auto values = find_floats(low.node(), "values");
  if (!values) low.invalid("attribute 'values' is required");
  const ValueId flat = floats(low, *values, {static_cast<std::int64_t>(values->size())});
  return {low.emit(Reshape{.allow_zero = true}, {flat, filled_shape(low)})};
}

/// The last step of a gated recurrent unit: inputs hidden [1, N, D], gates [1, N, 3 D] (reset, update, output),
/// lengths [N] and the time. A sequence that has ended keeps its state, or drops it.
Values lower_gru_unit(Lowering& low) {
  const ValueId hidden = low.input(0);
  const Values gates = low.emit_all(::colonnade::Split{2}, {low.input(1)}, 3);
  const ValueId update = unary(low, UnaryKind::sigmoid, gates[1]), output = unary(low, UnaryKind::tanh, gates[2]);
  const ValueId kept = binary(low, BinaryKind::mul, binary(low, BinaryKind::sub, hidden, output), update);
  const ValueId state = binary(low, BinaryKind::add, output, kept);
  const ValueId lengths = unsqueeze(low, cast(low, low.input(2), DType::i64), {1});
  const ValueId running = binary(low, BinaryKind::less, cast(low, low.input(3), DType::i64), lengths);
  const ValueId ended = low.flag("drop_states") ? scalar(low, low.dtype(hidden), 0) : hidden;
  return {select(low, running, state, ended)};
}

constexpr Row removed_row(std::string_view name, Lower lower) {
  return {kOnnxDomain, name, 1, kNoLimit, 1, 1, 1, lower};
}

constexpr Row kLegacyRows[] = {
    removed_row("Affine", lower_affine),
    {kOnnxDomain, "ConstantFill", 1, kNoLimit, 0, 1, 1, lower_constant_fill},
    removed_row("Crop", lower_crop),
    {kOnnxDomain, "GRUUnit", 1, kNoLimit, 4, 4, 1, lower_gru_unit},
    {kOnnxDomain, "GivenTensorFill", 1, kNoLimit, 0, 1, 1, lower_given_tensor_fill},
    removed_row("ImageScaler", lower_image_scaler),
    removed_row("ParametricSoftplus", lower_parametric_softplus),
    removed_row("Scale", lower_scale),
    removed_row("ScaledTanh", lower_scaled_tanh),
};

}  // namespace

std::span<const Row> legacy_rows() { return kLegacyRows; }

}  // namespace colonnade::onnx_import
