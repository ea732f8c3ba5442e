// SPDX-License-Identifier: Apache-2.0
// Operators that are a few others put together: as ONNX defines them, or as gathers by computed positions.
#include <algorithm>
#include <limits>
#include <numbers>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_swiglu(Lowering& low) {
  const ValueId gate = low.input(0);
  const ValueId sigmoid =
      unary(low, UnaryKind::sigmoid, binary_scalar(low, BinaryKind::mul, gate, low.float_or("alpha", 1)));
  return {binary(low, BinaryKind::mul, binary(low, BinaryKind::mul, gate, sigmoid), low.input(1))};
}

/// The sizes of the axes along which an input is cropped and padded.
ValueId sizes_of(Lowering& low, ValueId x, const Ints& axes) {
  Ints known;
  for (const std::int64_t axis : axes) known.push_back(low.dim(x, axis));
  const bool is_known = std::none_of(known.begin(), known.end(), [](std::int64_t dim) { return dim < 0; });
  return is_known ? ints(low, known) : low.emit(Gather{0}, {shape_of(low, x), ints(low, axes)});
}

/// An odd element more is cropped off the end, or padded there.
Values lower_center_crop_pad(Lowering& low) {
  const ValueId x = low.input(0);
  const std::int64_t rank = low.rank(x);
  Ints axes = find_ints(low.node(), "axes").value_or(axes_between(0, rank));
  for (std::int64_t& axis : axes) axis = checked_axis(low, axis, rank);
  const std::int64_t given = low.dim(low.input(1), 0), expected = static_cast<std::int64_t>(axes.size());
  if (given >= 0 && given != expected) low.invalid("expected {} sizes as axes, found {}", expected, given);
  const ValueId target = cast(low, low.input(1), DType::i64), along = ints(low, axes);
  const auto half = [&](ValueId more, ValueId less) {
    return binary_scalar(low, BinaryKind::div, binary(low, BinaryKind::sub, more, less), 2.0);
  };
  const ValueId sizes = sizes_of(low, x, axes), enlarged = binary(low, BinaryKind::max, sizes, target);
  const ValueId before = half(enlarged, sizes);
  const ValueId after = binary(low, BinaryKind::sub, binary(low, BinaryKind::sub, enlarged, sizes), before);
  const ValueId padded = low.emit(Pad{}, {x, low.emit(Concat{0}, {before, after}), kAbsent, along});
  const ValueId begin = half(enlarged, target);
  return {low.emit(Slice{}, {padded, begin, binary(low, BinaryKind::add, begin, target), along})};
}

/// 0, 1, ... `count` numbers.
ValueId counted(Lowering& low, ValueId count) {
  return low.emit(Range{}, {int_scalar(low, 0), count, int_scalar(low, 1)});
}

/// `size` positions from -1 to 1: of the outermost points, or of what lies half a step within.
ValueId grid_positions(Lowering& low, ValueId size, DType dtype, bool to_corners) {
  const ValueId count = cast(low, size, DType::f64), steps = cast(low, counted(low, size), DType::f64);
  const ValueId last = binary_scalar(low, BinaryKind::max, binary_scalar(low, BinaryKind::sub, count, 1.0), 1.0);
  const ValueId at =
      to_corners
          ? binary(low, BinaryKind::div, binary_scalar(low, BinaryKind::mul, steps, 2.0), last)
          : binary(low, BinaryKind::div,
                   binary_scalar(low, BinaryKind::add, binary_scalar(low, BinaryKind::mul, steps, 2.0), 1.0), count);
  return cast(low, binary_scalar(low, BinaryKind::sub, at, 1.0), dtype);
}

/// What theta [N, d, d + 1] makes of each place along the innermost axis, apart from the others: [N, d, width * d], of
/// the other axes the numbers that they are multiplied with, innermost first, then the sum that they are added to.
ValueId grid_lines(Lowering& low, ValueId theta, ValueId positions, ValueId width, std::int64_t spatial) {
  const auto column = [&](std::int64_t i) {
    const ValueId end = ints(low, {i < spatial ? i + 1 : std::numeric_limits<std::int64_t>::max()});
    return reshape(low, low.emit(Slice{}, {theta, ints(low, {i}), end, ints(low, {2})}), {0, 1, 1, spatial});
  };
  const ValueId line = low.emit(Concat{0}, {width, ints(low, {1})});
  Values rows;
  for (std::int64_t i = 1; i < spatial; ++i) rows.push_back(low.emit(Expand{}, {column(i), line}));
  const ValueId scaled = binary(low, BinaryKind::mul, unsqueeze(low, positions, {1}), column(0));
  rows.push_back(binary(low, BinaryKind::add, scaled, column(spatial)));
  const ValueId batch = low.emit(ShapeOf{.start = 0, .end = 1}, {theta});
  const ValueId floats = binary(low, BinaryKind::mul, width, ints(low, {spatial}));
  const ValueId shape = low.emit(Concat{0}, {batch, ints(low, {spatial}), floats});
  return low.emit(Reshape{.allow_zero = true}, {low.emit(Concat{1}, std::move(rows)), shape});
}

/// theta [N, d, d + 1] times each point of a grid over the spatial sizes: [N, spatial..., d], innermost axis first. A
/// line along the innermost axis is a sum of d lines that all share, so that few values are made for each point.
Values lower_affine_grid(Lowering& low) {
  const ValueId theta = low.input(0), size = low.input(1);
  const std::int64_t length = low.dim(size, 0);
  const std::int64_t spatial = length >= 0 ? length - 2 : low.dim(theta, 1);
  if (spatial < 0 && length < 0) low.unsupported("the number of dimensions is not known");
  if (spatial != 2 && spatial != 3) low.invalid("expected a grid of 2 or 3 dimensions, found {}", spatial);
  if (low.rank(theta) != 3) low.invalid("expected theta of rank 3, found rank {}", low.rank(theta));
  for (std::int64_t axis = 1; axis < 3; ++axis) {
    const std::int64_t expected = spatial + axis - 1, found = low.dim(theta, axis);
    if (found >= 0 && found != expected)
      low.invalid("expected theta of {} numbers along axis {}, found {}", expected, axis, found);
  }
  const DType dtype = low.dtype(theta);
  const auto sizes = [&](std::int64_t from, std::int64_t to) {
    return low.emit(Slice{}, {size, ints(low, {from + 2}), ints(low, {to + 2})});
  };
  const auto positions = [&](std::int64_t axis) {
    return grid_positions(low, squeeze(low, sizes(axis, axis + 1), {0}), dtype, low.flag("align_corners"));
  };
  const std::int64_t inner = spatial - 1;
  Values factors;
  const ValueId extended = low.emit(Concat{0}, {sizes(0, inner), ints(low, {1})});
  for (std::int64_t axis = inner - 1; axis >= 0; --axis) {
    const ValueId column = unsqueeze(low, positions(axis), axes_between(1, inner - axis + 1));
    factors.push_back(low.emit(Expand{}, {column, extended}));
  }
  factors.push_back(low.emit(Expand{}, {scalar(low, dtype, 1), extended}));
  const ValueId points = reshape(low, low.emit(Concat{inner}, std::move(factors)), {-1, spatial});
  const ValueId lines = grid_lines(low, theta, positions(inner), sizes(inner, spatial), spatial);
  const ValueId moved = low.emit(MatMul{}, {points, lines});
  const ValueId batch = low.emit(ShapeOf{.start = 0, .end = 1}, {theta});
  const ValueId shape = low.emit(Concat{0}, {batch, sizes(0, spatial), ints(low, {spatial})});
  return {low.emit(Reshape{.allow_zero = true}, {moved, shape})};
}

/// Every batch entry's first elements backwards: x [time, batch, ...] or [batch, time, ...].
Values lower_reverse_sequence(Lowering& low) {
  const std::int64_t batch_axis = low.int_or("batch_axis", 1), time_axis = low.int_or("time_axis", 0);
  if (batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis) {
    low.invalid("expected 'batch_axis' and 'time_axis' to be 0 and 1, found {} and {}", batch_axis, time_axis);
  }
  const std::int64_t rank = low.rank(low.input(0));
  if (rank < 2) low.invalid("expected an input of rank 2 or more, found rank {}", rank);
  const ValueId x = low.input(0);
  const auto counted_along = [&](std::int64_t axis) {
    return counted(low, squeeze(low, low.emit(ShapeOf{.start = axis, .end = axis + 1}, {x}), {0}));
  };
  const ValueId steps = unsqueeze(low, counted_along(time_axis), {batch_axis});
  const ValueId lengths = unsqueeze(low, cast(low, low.input(1), DType::i64), {time_axis});
  const ValueId reversed = binary(low, BinaryKind::sub, binary_scalar(low, BinaryKind::sub, lengths, 1.0), steps);
  const ValueId is_reversed = binary(low, BinaryKind::less, steps, lengths);
  const ValueId source = unsqueeze(low, select(low, is_reversed, reversed, steps), {2});
  if (batch_axis == 0) return {low.emit(GatherNd{1}, {x, source})};
  const ValueId entries = unsqueeze(low, counted_along(batch_axis), {time_axis});
  const ValueId entry = unsqueeze(low, select(low, is_reversed, entries, entries), {2});
  return {low.emit(GatherNd{0}, {x, low.emit(Concat{2}, {source, entry})})};
}

/// A sum of cosines over `size` points, of a period as long or, if symmetric, one shorter.
Values lower_window(Lowering& low, double constant, double first, double second) {
  const DType dtype = dtype_of(low.int_or("output_datatype", 1), low.node().label() + ": attribute 'output_datatype'");
  const DType wide = DType::f64;
  const ValueId size = reshape(low, cast(low, low.input(0), DType::i64), {}), count = cast(low, size, wide);
  const ValueId period = low.flag("periodic", true) ? count : binary_scalar(low, BinaryKind::sub, count, 1.0);
  const ValueId steps = cast(low, counted(low, size), wide);
  const ValueId step = binary(low, BinaryKind::div, scalar(low, wide, 2 * std::numbers::pi), period);
  const ValueId angles = binary(low, BinaryKind::mul, steps, step);
  const auto term = [&](ValueId angle, double factor) {
    return binary_scalar(low, BinaryKind::mul, unary(low, UnaryKind::cos, angle), factor);
  };
  ValueId y = binary(low, BinaryKind::sub, scalar(low, wide, constant), term(angles, first));
  if (second != 0) {
    y = binary(low, BinaryKind::add, y, term(binary_scalar(low, BinaryKind::mul, angles, 2.0), second));
  }
  return {cast(low, y, dtype)};
}

Values lower_blackman_window(Lowering& low) { return lower_window(low, 0.42, 0.5, 0.08); }
Values lower_hamming_window(Lowering& low) { return lower_window(low, 25.0 / 46, 21.0 / 46, 0); }
Values lower_hann_window(Lowering& low) { return lower_window(low, 0.5, 0.5, 0); }

constexpr Row kComposedRows[] = {
    {kOnnxDomain, "AffineGrid", 20, kNoLimit, 2, 2, 1, lower_affine_grid},
    {kOnnxDomain, "BlackmanWindow", 17, kNoLimit, 1, 1, 1, lower_blackman_window},
    {kOnnxDomain, "CenterCropPad", 18, kNoLimit, 2, 2, 1, lower_center_crop_pad},
    {kOnnxDomain, "HammingWindow", 17, kNoLimit, 1, 1, 1, lower_hamming_window},
    {kOnnxDomain, "HannWindow", 17, kNoLimit, 1, 1, 1, lower_hann_window},
    {kOnnxDomain, "ReverseSequence", 10, kNoLimit, 2, 2, 1, lower_reverse_sequence},
    {kOnnxDomain, "SwiGLU", 28, kNoLimit, 2, 2, 1, lower_swiglu},
};

}  // namespace

std::span<const Row> composed_rows() { return kComposedRows; }

}  // namespace colonnade::onnx_import
