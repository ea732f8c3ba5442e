// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX once had as experimental ones and removed; old models still hold them.
#include <limits>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_affine(Lowering& low) {
  const ValueId scaled = binary(low, BinaryKind::mul, low.input(0), low.float_or("alpha", 1));
  return {binary(low, BinaryKind::add, scaled, low.float_or("beta", 0))};
}

Values lower_scale(Lowering& low) { return {binary(low, BinaryKind::mul, low.input(0), low.float_or("scale", 1))}; }

/// x * scale, plus one bias a channel.
Values lower_image_scaler(Lowering& low) {
  const ValueId x = low.input(0);
  const auto bias = find_floats(low.node(), "bias").value_or(std::vector<float>());
  const ValueId scaled = binary(low, BinaryKind::mul, x, low.float_or("scale", 1));
  if (bias.empty()) return {scaled};
  const auto channels = static_cast<std::int64_t>(bias.size());
  if (low.dim(x, 1) >= 0 && low.dim(x, 1) != channels) {
    low.invalid("attribute 'bias': expected {} values, found {}", low.dim(x, 1), channels);
  }
  return {binary(low, BinaryKind::add, scaled, cast(low, floats(low, bias, {channels, 1, 1}), low.dtype(x)))};
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
  const ValueId inner = binary(low, BinaryKind::mul, low.input(0), low.float_or("beta", 1));
  return {binary(low, BinaryKind::mul, unary(low, UnaryKind::softplus, inner), low.float_or("alpha", 1))};
}

Values lower_scaled_tanh(Lowering& low) {
  const ValueId inner = binary(low, BinaryKind::mul, low.input(0), low.float_or("beta", 1));
  return {binary(low, BinaryKind::mul, unary(low, UnaryKind::tanh, inner), low.float_or("alpha", 1))};
}

constexpr Row removed_row(std::string_view name, Lower lower) {
  return {kOnnxDomain, name, 1, kNoLimit, 1, 1, 1, lower};
}

constexpr Row kRows[] = {
    removed_row("Affine", lower_affine),
    removed_row("Crop", lower_crop),
    removed_row("ImageScaler", lower_image_scaler),
    removed_row("ParametricSoftplus", lower_parametric_softplus),
    removed_row("Scale", lower_scale),
    removed_row("ScaledTanh", lower_scaled_tanh),
};

}  // namespace

std::span<const Row> legacy_rows() { return kRows; }

}  // namespace colonnade::onnx_import
