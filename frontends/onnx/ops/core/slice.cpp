// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/shared.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_concat(Lowering& low) {
  std::int64_t axis = low.opset() < 4 ? low.int_or("axis", 1) : low.required_int("axis");
  for (std::size_t i = 0; i < low.input_count(); ++i) low.input(i);
  if (low.shape(low.input(0))) axis = checked_axis(low, axis, low.rank(low.input(0)));
  return {low.emit(Concat{axis}, low.inputs())};
}

Values lower_slice(Lowering& low) {
  Values inputs = {low.input(0), low.input(1), low.input(2)};
  inputs.insert(inputs.end(), low.inputs().begin() + 3, low.inputs().end());
  return {low.emit(Slice{}, std::move(inputs))};
}

Values lower_slice_attributes(Lowering& low) {
  const Ints starts = low.required_ints("starts"), ends = low.required_ints("ends");
  const auto axes = find_ints(low.node(), "axes");
  if (ends.size() != starts.size() || (axes && axes->size() != starts.size())) {
    low.invalid("attributes 'starts', 'ends' and 'axes' have {}, {} and {} values", starts.size(), ends.size(),
                axes ? axes->size() : starts.size());
  }
  Values inputs = {low.input(0), ints(low, starts), ints(low, ends)};
  if (axes) inputs.push_back(ints(low, *axes));
  return {low.emit(Slice{}, std::move(inputs))};
}

std::int64_t split_axis(const Lowering& low) {
  const std::int64_t axis = low.int_or("axis", 0);
  return low.shape(low.input(0)) ? checked_axis(low, axis, low.rank(low.input(0))) : axis;
}

Values split(Lowering& low, ValueId sizes) {
  Values inputs = {low.input(0)};
  if (sizes != kAbsent) inputs.push_back(sizes);
  return low.emit_all(::colonnade::Split{split_axis(low)}, std::move(inputs), low.output_count());
}

Values lower_split_attribute(Lowering& low) {
  const auto sizes = find_ints(low.node(), "split");
  if (sizes && sizes->size() != low.output_count()) {
    low.invalid("attribute 'split': expected {} values as outputs, found {}", low.output_count(), sizes->size());
  }
  return split(low, sizes ? ints(low, *sizes) : kAbsent);
}

/// Since opset 18 equal parts are asked for by num_outputs, and the last may be smaller.
Values lower_split_input(Lowering& low) {
  const ValueId sizes = low.optional_input(1);
  const auto parts = find_int(low.node(), "num_outputs");
  if (parts && sizes != kAbsent) low.invalid("has both sizes and 'num_outputs'");
  if (parts && *parts != static_cast<std::int64_t>(low.output_count())) {
    low.invalid("attribute 'num_outputs': expected {} as outputs, found {}", low.output_count(), *parts);
  }
  const std::int64_t size = low.dim(low.input(0), split_axis(low));
  const auto count = static_cast<std::int64_t>(low.output_count());
  if (low.opset() < 18 && sizes == kAbsent && size >= 0 && size % count != 0) {
    low.invalid("{} elements do not split into {} equal parts", size, count);
  }
  return split(low, sizes);
}

}  // namespace

PadMode pad_mode(const Lowering& low) {
  const std::string mode = low.string_or("mode", "constant");
  if (mode == "constant") return PadMode::constant;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "edge") return PadMode::edge;
  if (mode == "wrap") return PadMode::wrap;
  low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
}

namespace {

Values lower_pad_attributes(Lowering& low) {
  const Ints pads = low.required_ints(low.opset() < 2 ? "paddings" : "pads");
  const ValueId x = low.input(0);
  if (low.shape(x) && static_cast<std::int64_t>(pads.size()) != 2 * low.rank(x)) {
    low.invalid("attribute 'pads': expected {} values, found {}", 2 * low.rank(x), pads.size());
  }
  const ValueId value = scalar(low, low.dtype(x), low.float_or("value", 0));
  return {low.emit(Pad{pad_mode(low)}, {x, ints(low, pads), value})};
}

Values lower_pad(Lowering& low) {
  Values inputs = low.inputs();
  low.input(0), low.input(1);
  return {low.emit(Pad{pad_mode(low)}, std::move(inputs))};
}

constexpr Row kSliceRows[] = {
    {kOnnxDomain, "Concat", 1, kNoLimit, 1, kNoLimit, 1, lower_concat},
    {kOnnxDomain, "Slice", 1, 9, 1, 1, 1, lower_slice_attributes},
    {kOnnxDomain, "Slice", 10, kNoLimit, 3, 5, 1, lower_slice},
    {kOnnxDomain, "DynamicSlice", 1, 9, 3, 4, 1, lower_slice},
    {kOnnxDomain, "Split", 2, 12, 1, 1, kNoLimit, lower_split_attribute},
    {kOnnxDomain, "Split", 13, kNoLimit, 1, 2, kNoLimit, lower_split_input},
    {kOnnxDomain, "Pad", 1, 10, 1, 1, 1, lower_pad_attributes},
    {kOnnxDomain, "Pad", 11, kNoLimit, 2, 4, 1, lower_pad},
};

}  // namespace

std::span<const Row> slice_rows() { return kSliceRows; }

}  // namespace colonnade::onnx_import
