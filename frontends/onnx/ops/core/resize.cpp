// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

ResizeMode mode_of(const Lowering& low) {
  const std::string mode = low.string_or("mode", "nearest");
  if (mode == "nearest") return ResizeMode::nearest;
  if (mode == "linear" || mode == "bilinear") return ResizeMode::linear;
  if (mode == "cubic") return ResizeMode::cubic;
  low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
}

CoordinateMode coordinates_of(const Lowering& low) {
  const std::string mode = low.string_or("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return CoordinateMode::half_pixel;
  if (mode == "half_pixel_symmetric") return CoordinateMode::half_pixel_symmetric;
  if (mode == "pytorch_half_pixel") return CoordinateMode::pytorch_half_pixel;
  if (mode == "align_corners") return CoordinateMode::align_corners;
  if (mode == "asymmetric") return CoordinateMode::asymmetric;
  if (mode == "tf_crop_and_resize") return CoordinateMode::tf_crop_and_resize;
  low.unsupported("coordinate_transformation_mode '{}' is not supported", printable(mode));
}

NearestMode nearest_of(const Lowering& low) {
  const std::string mode = low.string_or("nearest_mode", "round_prefer_floor");
  if (mode == "round_prefer_floor") return NearestMode::round_prefer_floor;
  if (mode == "round_prefer_ceil") return NearestMode::round_prefer_ceil;
  if (mode == "floor") return NearestMode::floor;
  if (mode == "ceil") return NearestMode::ceil;
  low.invalid("attribute 'nearest_mode': '{}' does not exist", printable(mode));
}

AspectPolicy aspect_of(const Lowering& low) {
  const std::string policy = low.string_or("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") return AspectPolicy::stretch;
  if (policy == "not_larger") return AspectPolicy::not_larger;
  if (policy == "not_smaller") return AspectPolicy::not_smaller;
  low.invalid("attribute 'keep_aspect_ratio_policy': '{}' does not exist", printable(policy));
}

void check_scales(const Lowering& low, std::span<const float> scales) {
  for (const float scale : scales) {
    if (!(scale > 0) || !std::isfinite(scale)) low.invalid("scale {} is not positive and finite", scale);
  }
}

/// The scales where they are known before run time.
std::optional<std::vector<float>> known_scales(const Lowering& low, ValueId scales) {
  const auto constant = low.constant_of(scales);
  if (!constant) return std::nullopt;
  const auto tensor = constant->tensor();
  if (tensor->dtype() != DType::f32) low.invalid("expected float32 scales, found {}", name_of(tensor->dtype()));
  std::vector<float> values(tensor->values<float>().begin(), tensor->values<float>().end());
  check_scales(low, values);
  return values;
}

/// Bytes are resized as floats and cut off, as the operator's definition does with exact numbers. What lies that close
/// below an integer is one that was rounded: a picture of one value keeps it.
ValueId resized(Lowering& low, const Resize& resize, Values inputs) {
  constexpr double kRounded = 1.0 / 2048;
  if (resize.mode == ResizeMode::nearest || low.dtype(inputs[0]) != DType::u8)
    return low.emit(resize, std::move(inputs));
  inputs[0] = cast(low, inputs[0], DType::f32);
  ValueId y = binary_scalar(low, BinaryKind::add, low.emit(resize, std::move(inputs)), kRounded);
  y = unary(low, UnaryKind::clip, y, 0, 255);
  return cast(low, y, DType::u8);
}

/// Upsample and the first Resize: asymmetric coordinates; nearest rounds down when enlarging, up when reducing.
Values resize_by_scales(Lowering& low, ValueId scales) {
  Resize resize{
      .mode = mode_of(low), .coordinates = CoordinateMode::asymmetric, .nearest = NearestMode::floor, .axes = {}};
  const auto known = known_scales(low, scales);
  const bool reduces = known && std::any_of(known->begin(), known->end(), [](float scale) { return scale < 1; });
  const bool enlarges = !known || std::any_of(known->begin(), known->end(), [](float scale) { return scale > 1; });
  if (resize.mode == ResizeMode::nearest && reduces) {
    if (enlarges) low.unsupported("scales on both sides of 1 are not supported");
    resize.nearest = NearestMode::ceil;
  }
  return {resized(low, resize, {low.input(0), kAbsent, scales})};
}

Values lower_upsample_attribute(Lowering& low) {
  const auto scales = find_floats(low.node(), "scales");
  if (!scales) low.invalid("attribute 'scales' is required");
  check_scales(low, *scales);
  return resize_by_scales(low, floats(low, *scales, {static_cast<std::int64_t>(scales->size())}));
}

Values lower_upsample_image(Lowering& low) {
  const auto height = find_float(low.node(), "height_scale"), width = find_float(low.node(), "width_scale");
  if (!height || !width) low.invalid("attributes 'height_scale' and 'width_scale' are required");
  const std::vector<float> scales = {1, 1, *height, *width};
  check_scales(low, scales);
  return resize_by_scales(low, floats(low, scales, {4}));
}

Values lower_upsample(Lowering& low) { return resize_by_scales(low, low.input(1)); }

Values lower_resize(Lowering& low) {
  Resize resize{.mode = mode_of(low),
                .coordinates = coordinates_of(low),
                .nearest = nearest_of(low),
                .aspect = aspect_of(low),
                .cubic_a = low.float_or("cubic_coeff_a", -0.75f),
                .exclude_outside = low.flag("exclude_outside"),
                .antialias = low.flag("antialias"),
                .extrapolation = low.float_or("extrapolation_value", 0),
                .axes = find_ints(low.node(), "axes").value_or(Ints())};
  const ValueId x = low.input(0);
  if (low.shape(x)) {
    for (auto& axis : resize.axes) axis = checked_axis(low, axis, low.rank(x));
  }
  const bool crops = resize.coordinates == CoordinateMode::tf_crop_and_resize;
  const ValueId roi = crops ? low.optional_input(1) : kAbsent;
  const ValueId scales = low.is_empty(low.optional_input(2)) ? kAbsent : low.input(2);
  const ValueId sizes = low.is_empty(low.optional_input(3)) ? kAbsent : low.input(3);
  if (crops && low.is_empty(roi)) low.invalid("tf_crop_and_resize needs a region of interest");
  if ((scales == kAbsent) == (sizes == kAbsent)) low.invalid("expected either scales or sizes");
  if (scales == kAbsent) return {resized(low, resize, {x, roi, kAbsent, sizes})};
  known_scales(low, scales);
  return {resized(low, resize, {x, roi, scales})};
}

constexpr Row kResizeRows[] = {
    {kOnnxDomain, "Upsample", 1, 6, 1, 1, 1, lower_upsample_image},
    {kOnnxDomain, "Upsample", 7, 8, 1, 1, 1, lower_upsample_attribute},
    {kOnnxDomain, "Upsample", 9, 9, 2, 2, 1, lower_upsample},
    {kOnnxDomain, "Resize", 10, 10, 2, 2, 1, lower_upsample},
    {kOnnxDomain, "Resize", 11, kNoLimit, 1, 4, 1, lower_resize},
};

}  // namespace

std::span<const Row> resize_rows() { return kResizeRows; }

}  // namespace colonnade::onnx_import
