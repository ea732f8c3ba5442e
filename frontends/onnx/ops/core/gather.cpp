// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/shared.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

std::int64_t axis_of_first(const Lowering& low, std::int64_t fallback) {
  const std::int64_t axis = low.int_or("axis", fallback);
  return low.shape(low.input(0)) ? checked_axis(low, axis, low.rank(low.input(0))) : axis;
}

Values lower_gather(Lowering& low) { return {low.emit(Gather{axis_of_first(low, 0)}, {low.input(0), low.input(1)})}; }

Values lower_gather_elements(Lowering& low) {
  return {low.emit(GatherElements{axis_of_first(low, 0)}, {low.input(0), low.input(1)})};
}

Values lower_gather_nd(Lowering& low) {
  const std::int64_t batch_dims = low.int_or("batch_dims", 0);
  if (batch_dims < 0) low.invalid("attribute 'batch_dims': {} is negative", batch_dims);
  return {low.emit(GatherNd{batch_dims}, {low.input(0), low.input(1)})};
}

ScatterMode scatter_mode(const Lowering& low) {
  const std::string mode = low.string_or("reduction", "none");
  if (mode == "none") return ScatterMode::replace;
  if (mode == "add") return ScatterMode::add;
  if (mode == "mul") return ScatterMode::mul;
  if (mode == "min") return ScatterMode::min;
  if (mode == "max") return ScatterMode::max;
  low.invalid("attribute 'reduction': '{}' does not exist", printable(mode));
}

Values lower_scatter_elements(Lowering& low) {
  const ScatterElements scatter{.axis = axis_of_first(low, 0), .mode = scatter_mode(low)};
  return {low.emit(scatter, {low.input(0), low.input(1), low.input(2)})};
}

Values lower_scatter_nd(Lowering& low) {
  return {low.emit(ScatterNd{scatter_mode(low)}, {low.input(0), low.input(1), low.input(2)})};
}

ValueId as_index(Lowering& low, ValueId x) { return is_float(low.dtype(x)) ? cast(low, x, DType::i64) : x; }

Values lower_one_hot(Lowering& low) {
  const Values inputs = {as_index(low, low.input(0)), as_index(low, low.input(1)), low.input(2)};
  return {low.emit(OneHot{low.int_or("axis", -1)}, inputs)};
}

Values lower_top_k_attribute(Lowering& low) {
  const std::int64_t k = low.required_int("k");
  if (k < 1) low.invalid("attribute 'k': {} is not positive", k);
  return low.emit_all(TopK{.axis = low.int_or("axis", -1)}, {low.input(0), ints(low, {k})}, 2);
}

Values lower_top_k(Lowering& low) {
  const TopK top{
      .axis = low.int_or("axis", -1), .largest = low.flag("largest", true), .sorted = low.flag("sorted", true)};
  return low.emit_all(top, {low.input(0), low.input(1)}, 2);
}

Values lower_cum_sum(Lowering& low) {
  const CumSum sum{.exclusive = low.flag("exclusive"), .reverse = low.flag("reverse")};
  return {low.emit(sum, {low.input(0), low.input(1)})};
}

Values lower_non_zero(Lowering& low) { return {low.emit(NonZero{}, {low.input(0)})}; }

Values lower_trilu(Lowering& low) {
  low.input(0);
  return {low.emit(Trilu{.upper = low.flag("upper", true)}, low.inputs())};
}

/// Slices at known positions are gathered; else where they are is found as the condition comes.
Values lower_compress(Lowering& low) {
  if (!low.constant_of(low.input(1))) return lower_opaque(low, reference::kCompress);
  const auto axis = find_int(low.node(), "axis");
  const ValueId x = axis ? low.input(0) : reshape(low, low.input(0), {-1});
  const ValueId positions = squeeze(low, low.emit(NonZero{}, {low.input(1)}), {0});
  return {low.emit(Gather{axis.value_or(0)}, {x, positions})};
}

}  // namespace

ValueId sample_grid(Lowering& low) {
  const std::string mode = low.string_or("mode", low.opset() < 20 ? "bilinear" : "linear");
  const std::string padding = low.string_or("padding_mode", "zeros");
  GridSample sample{.align_corners = low.flag("align_corners")};
  if (mode == "nearest") {
    sample.mode = ResizeMode::nearest;
  } else if (mode == "bicubic" || mode == "cubic") {
    sample.mode = ResizeMode::cubic;
  } else if (mode != "bilinear" && mode != "linear") {
    low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
  }
  if (padding == "border") {
    sample.padding = GridSample::Padding::border;
  } else if (padding == "reflection") {
    sample.padding = GridSample::Padding::reflection;
  } else if (padding != "zeros") {
    low.invalid("attribute 'padding_mode': '{}' does not exist", printable(padding));
  }
  return low.emit(sample, {low.input(0), low.input(1)});
}

namespace {

Values lower_grid_sample(Lowering& low) { return {sample_grid(low)}; }

constexpr Row kGatherRows[] = {
    {kOnnxDomain, "Gather", 1, kNoLimit, 2, 2, 1, lower_gather},
    {kOnnxDomain, "GatherElements", 11, kNoLimit, 2, 2, 1, lower_gather_elements},
    {kOnnxDomain, "GatherND", 11, kNoLimit, 2, 2, 1, lower_gather_nd},
    {kOnnxDomain, "Scatter", 9, 10, 3, 3, 1, lower_scatter_elements},
    {kOnnxDomain, "ScatterElements", 11, kNoLimit, 3, 3, 1, lower_scatter_elements},
    {kOnnxDomain, "ScatterND", 11, kNoLimit, 3, 3, 1, lower_scatter_nd},
    {kOnnxDomain, "OneHot", 9, kNoLimit, 3, 3, 1, lower_one_hot},
    {kOnnxDomain, "TopK", 1, 9, 1, 1, 2, lower_top_k_attribute},
    {kOnnxDomain, "TopK", 10, kNoLimit, 2, 2, 2, lower_top_k},
    {kOnnxDomain, "CumSum", 11, kNoLimit, 2, 2, 1, lower_cum_sum},
    {kOnnxDomain, "NonZero", 9, kNoLimit, 1, 1, 1, lower_non_zero},
    {kOnnxDomain, "Trilu", 14, kNoLimit, 1, 2, 1, lower_trilu},
    {kOnnxDomain, "Compress", 9, kNoLimit, 2, 2, 1, lower_compress},
    {kOnnxDomain, "GridSample", 16, kNoLimit, 2, 2, 1, lower_grid_sample},
};

}  // namespace

std::span<const Row> gather_rows() { return kGatherRows; }

}  // namespace colonnade::onnx_import
