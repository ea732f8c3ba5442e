// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_reshape(Lowering& low) {
  return {low.emit(Reshape{.allow_zero = low.flag("allowzero")}, {low.input(0), low.input(1)})};
}

Values lower_flatten(Lowering& low) {
  const ValueId x = low.input(0);
  std::int64_t axis = low.int_or("axis", 1);
  if (low.shape(x)) {
    const std::int64_t rank = low.rank(x);
    if (axis < -rank || axis > rank) low.invalid("axis {} is out of range for rank {}", axis, rank);
    if (axis < 0) axis += rank;
  }
  return {low.emit(Flatten{axis}, {x})};
}

template <class Op>
Values lower_axes_attribute(Lowering& low) {
  const auto axes = find_ints(low.node(), "axes");
  if (axes) return {low.emit(Op{}, {low.input(0), ints(low, *axes)})};
  if constexpr (std::is_same_v<Op, Unsqueeze>) low.invalid("attribute 'axes' is required");
  return {low.emit(Op{}, {low.input(0)})};
}

template <class Op>
Values lower_axes_input(Lowering& low) {
  if (low.optional_input(1) == kAbsent) return {low.emit(Op{}, {low.input(0)})};
  return {low.emit(Op{}, {low.input(0), low.input(1)})};
}

Values lower_unsqueeze(Lowering& low) { return {low.emit(Unsqueeze{}, {low.input(0), low.input(1)})}; }

Values lower_transpose(Lowering& low) {
  return {transpose(low, low.input(0), find_ints(low.node(), "perm").value_or(Ints()))};
}

Values lower_expand(Lowering& low) { return {low.emit(Expand{}, {low.input(0), low.input(1)})}; }
Values lower_tile(Lowering& low) { return {low.emit(Tile{}, {low.input(0), low.input(1)})}; }
Values lower_size(Lowering& low) { return {low.emit(SizeOf{}, {low.input(0)})}; }

Values lower_shape(Lowering& low) {
  return {low.emit(ShapeOf{.start = low.int_or("start", 0), .end = find_int(low.node(), "end")}, {low.input(0)})};
}

std::int64_t read_block(const Lowering& low) {
  const std::int64_t block = low.required_int("blocksize");
  if (block < 1 || block > (std::int64_t{1} << 20)) low.invalid("attribute 'blocksize': {} is out of range", block);
  return block;
}

bool is_depth_last(const Lowering& low) {
  const std::string mode = low.string_or("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
  return mode == "CRD";
}

Values lower_depth_to_space(Lowering& low) {
  return {low.emit(DepthToSpace{.block = read_block(low), .crd = is_depth_last(low)}, {low.input(0)})};
}

/// With the depth last, places within a block and channels change their order.
Values lower_space_to_depth(Lowering& low) {
  const std::int64_t block = read_block(low);
  const ValueId x = low.input(0), blocks = low.emit(SpaceToDepth{.block = block}, {x});
  if (!is_depth_last(low)) return {blocks};
  const auto sizes = [&](ValueId of, std::int64_t start, std::optional<std::int64_t> end) {
    return low.emit(ShapeOf{.start = start, .end = end}, {of});
  };
  const ValueId apart =
      low.emit(Concat{0}, {sizes(x, 0, 1), ints(low, {block * block}), sizes(x, 1, 2), sizes(blocks, 2, std::nullopt)});
  const ValueId turned = transpose(low, low.emit(Reshape{}, {blocks, apart}), {0, 2, 1, 3, 4});
  return {low.emit(Reshape{}, {turned, shape_of(low, blocks)})};
}

constexpr Row kShapeRows[] = {
    {kOnnxDomain, "Reshape", 5, kNoLimit, 2, 2, 1, lower_reshape},
    {kOnnxDomain, "Flatten", 1, kNoLimit, 1, 1, 1, lower_flatten},
    {kOnnxDomain, "Squeeze", 1, 12, 1, 1, 1, lower_axes_attribute<Squeeze>},
    {kOnnxDomain, "Squeeze", 13, kNoLimit, 1, 2, 1, lower_axes_input<Squeeze>},
    {kOnnxDomain, "Unsqueeze", 1, 12, 1, 1, 1, lower_axes_attribute<Unsqueeze>},
    {kOnnxDomain, "Unsqueeze", 13, kNoLimit, 2, 2, 1, lower_unsqueeze},
    {kOnnxDomain, "Transpose", 1, kNoLimit, 1, 1, 1, lower_transpose},
    {kOnnxDomain, "Expand", 8, kNoLimit, 2, 2, 1, lower_expand},
    {kOnnxDomain, "Tile", 6, kNoLimit, 2, 2, 1, lower_tile},
    {kOnnxDomain, "Shape", 1, kNoLimit, 1, 1, 1, lower_shape},
    {kOnnxDomain, "Size", 1, kNoLimit, 1, 1, 1, lower_size},
    {kOnnxDomain, "DepthToSpace", 1, kNoLimit, 1, 1, 1, lower_depth_to_space},
    {kOnnxDomain, "SpaceToDepth", 1, kNoLimit, 1, 1, 1, lower_space_to_depth},
};

}  // namespace

std::span<const Row> shape_rows() { return kShapeRows; }

}  // namespace colonnade::onnx_import
