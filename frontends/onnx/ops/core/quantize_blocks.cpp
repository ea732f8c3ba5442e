// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/core/quantize_blocks.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade::onnx_import {

bool has_one_element(const Lowering& low, ValueId id) {
  const auto& shape = low.shape(id);
  return shape && std::all_of(shape->begin(), shape->end(), [](std::int64_t dim) { return dim == 1; });
}

bool is_quantised(DType dtype) {
  return is_minifloat(dtype) ||
         (dtype != DType::boolean && bits_of(dtype) <= 16 && bits_of(dtype) > 0 && !is_float(dtype));
}

ValueId repeated(Lowering& low, ValueId parameter, ValueId x, std::int64_t axis, std::int64_t block) {
  const std::int64_t size = low.dim(x, axis), given = low.dim(parameter, axis);
  if (block < 1 || block > kMaxDim) low.invalid("attribute 'block_size': {} is out of range", block);
  if (size >= 0 && given >= 0 && given != ceil_div(size, block)) {
    low.invalid("expected {} blocks of {} for axis {} of {}, found {}", ceil_div(size, block), block, axis, size,
                given);
  }
  const ValueId count =
      size >= 0 ? int_scalar(low, size) : squeeze(low, low.emit(ShapeOf{.start = axis, .end = axis + 1}, {x}), {0});
  const ValueId positions = low.emit(Range{}, {int_scalar(low, 0), count, int_scalar(low, 1)});
  return low.emit(Gather{axis}, {parameter, binary(low, BinaryKind::div, positions, int_scalar(low, block))});
}

bool is_weight_matrix(const Lowering& low, ValueId x, const Quantization& q) {
  const auto constant = low.constant_of(x);
  const bool zero_known = q.zero_point == kAbsent || low.constant_of(q.zero_point);
  return constant && constant->shape().size() == 2 && constant->size() > 0 && bits_of(low.dtype(x)) <= 8 &&
         is_quantised(low.dtype(x)) && !is_minifloat(low.dtype(x)) && low.constant_of(q.scale) && zero_known &&
         is_float(low.dtype(q.scale));
}

ValueId dequantize_matrix(Lowering& low, ValueId x, const Quantization& q) {
  std::int64_t axis = checked_axis(low, q.axis, 2), block = q.block;
  const auto parameter = [&](ValueId id) {
    if (id == kAbsent || has_one_element(low, id) || q.block != 0) return id;
    const std::int64_t size = low.dim(x, axis), given = low.dim(id, 0);
    if (low.rank(id) != 1 || given != size) low.invalid("expected {} scales for axis {}, found {}", size, axis, given);
    return unsqueeze(low, id, {1 - axis});
  };
  const auto check = [&](ValueId id, std::string_view what) {
    if (id == kAbsent || has_one_element(low, id) || q.block == 0) return;
    if (block < 1 || block > kMaxDim) low.invalid("attribute 'block_size': {} is out of range", block);
    if (low.rank(id) != 2)
      low.invalid("expected {} of rank 2 in blocks along axis {}, found rank {}", what, axis, low.rank(id));
    const std::int64_t size = low.dim(x, axis), given = low.dim(id, axis), other = low.dim(x, 1 - axis);
    if (given != ceil_div(size, block))
      low.invalid("expected {} blocks of {} for axis {} of {}, found {}", ceil_div(size, block), block, axis, size,
                  given);
    if (low.dim(id, 1 - axis) != other)
      low.invalid("expected {} {} along axis {}, found {}", other, what, 1 - axis, low.dim(id, 1 - axis));
  };
  check(q.scale, "scales");
  check(q.zero_point, "zero points");
  Values inputs{x, parameter(q.scale)};
  if (!is_zero(low, q.zero_point)) inputs.push_back(parameter(q.zero_point));
  if (q.block == 0) axis = 1 - axis, block = low.dim(x, axis);
  return low.emit(Dequantize{axis, block}, std::move(inputs));
}

ValueId dequantize_blocks(Lowering& low, ValueId x, const Quantization& q) {
  const std::int64_t rank = low.rank(x);
  const DType from = low.dtype(x);
  if (q.block == 0 || (from != DType::u8 && from != DType::i8) || low.dtype(q.scale) != DType::f32) return kAbsent;
  const std::int64_t axis = checked_axis(low, q.axis, rank);
  if (!low.shape(x) || std::ranges::any_of(*low.shape(x), [](auto dim) { return dim < 1; }) ||
      (axis > 0 && axis + 1 < rank))
    return kAbsent;
  Shape blocks = *low.shape(x);
  blocks[static_cast<std::size_t>(axis)] = ceil_div(blocks[static_cast<std::size_t>(axis)], q.block);
  const auto has_each = [&](ValueId id) { return low.shape(id) && *low.shape(id) == blocks; };
  const bool has_zero = !is_zero(low, q.zero_point);
  const bool one_zero = has_zero && has_one_element(low, q.zero_point) && low.constant_of(q.zero_point);
  if (!has_each(q.scale) || (has_zero && !one_zero && !has_each(q.zero_point))) return kAbsent;
  const auto matrix = [&](ValueId id) {
    if (id == kAbsent || rank == 2 || (id == q.zero_point && one_zero)) return id;
    const std::int64_t size = low.dim(id, axis), others = product_of(*low.shape(id)) / size;
    return reshape(low, id, axis == 0 ? Ints{size, others} : Ints{others, size});
  };
  const Quantization by{matrix(q.scale), has_zero ? matrix(q.zero_point) : kAbsent, axis == 0 ? 0 : 1, q.block};
  const ValueId y = dequantize_matrix(low, matrix(x), by);
  return rank == 2 ? y : reshape(low, y, *low.shape(x));
}

}  // namespace colonnade::onnx_import
