// SPDX-License-Identifier: Apache-2.0
// What stands beside attention: heads, rotary embeddings, caches and convolutions over the past.
#include <algorithm>
#include <limits>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/core/window.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {

ValueId turn_heads(Lowering& low, const Values& x_and_angles, const Turn& turn) {
  const Attributes attributes{
      {"pairs", turn.pairs}, {"heads_axis", turn.heads_axis}, {"interleaved", std::int64_t{turn.interleaved}}};
  return low.emit(make_opaque(reference::kRotate, 1, attributes), x_and_angles);
}

std::int64_t read_heads(const Lowering& low, std::string_view name) {
  constexpr std::int64_t kMostHeads = std::int64_t{1} << 24;
  const std::int64_t heads = low.required_int(name);
  if (heads < 1 || heads > kMostHeads) low.invalid("attribute '{}': {} is out of range", name, heads);
  return heads;
}

ValueId with_heads(Lowering& low, ValueId x, std::int64_t heads) {
  if (low.rank(x) != 3) low.invalid("expected [batch, sequence, hidden], found rank {}", low.rank(x));
  const std::int64_t hidden = low.dim(x, 2);
  if (heads <= 0 || (hidden >= 0 && hidden % heads != 0))
    low.invalid("{} heads do not divide a width of {}", heads, hidden);
  return reshape(low, x, {0, 0, heads, hidden < 0 ? -1 : hidden / heads});
}

ValueId dim_of(Lowering& low, ValueId x, std::int64_t axis) {
  const std::int64_t known = low.dim(x, axis);
  return known >= 0 ? ints(low, {known}) : low.emit(ShapeOf{.start = axis, .end = axis + 1}, {x});
}

ValueId length_of(Lowering& low, ValueId x, std::int64_t axis) {
  const std::int64_t known = low.dim(x, axis);
  return known >= 0 ? int_scalar(low, known) : squeeze(low, dim_of(low, x, axis), {0});
}

ValueId positions(Lowering& low, ValueId x, std::int64_t axis) {
  return low.emit(Range{}, {int_scalar(low, 0), length_of(low, x, axis), int_scalar(low, 1)});
}

namespace {

/// A part of the last axis of x.
ValueId slice_last(Lowering& low, ValueId x, std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
  return low.emit(Slice{}, {x, ints(low, {begin}), ints(low, {end}), ints(low, {low.rank(x) - 1}), ints(low, {step})});
}

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// cos or sin [N, 1, sequence, half] (the axis of the heads is one), looked up where positions are given.
ValueId angles_of(Lowering& low, std::size_t input, std::int64_t heads_axis, std::int64_t rotated) {
  ValueId angles = low.input(input);
  if (low.optional_input(3) != kAbsent) angles = low.emit(Gather{0}, {angles, low.input(3)});
  if (low.rank(angles) != 3) low.invalid("expected input {} to give rank 3, found rank {}", input, low.rank(angles));
  if (rotated > 0 && low.dim(angles, 2) != rotated / 2) angles = slice_last(low, angles, 0, rotated / 2);
  return unsqueeze(low, angles, {heads_axis});
}

/// x rotated by the angles: pairs are neighbours, or lie half of the last axis apart.
ValueId rotate(Lowering& low, ValueId x, ValueId cos, ValueId sin, bool interleaved) {
  const Values halves = interleaved ? Values{slice_last(low, x, 0, kToTheEnd, 2), slice_last(low, x, 1, kToTheEnd, 2)}
                                    : low.emit_all(::colonnade::Split{3}, {x}, 2);
  const auto times = [&](ValueId angle, std::size_t half) { return binary(low, BinaryKind::mul, angle, halves[half]); };
  const ValueId real = binary(low, BinaryKind::sub, times(cos, 0), times(sin, 1));
  const ValueId imaginary = binary(low, BinaryKind::add, times(sin, 0), times(cos, 1));
  if (!interleaved) return low.emit(Concat{3}, {real, imaginary});
  return reshape_like(low, low.emit(Concat{4}, {unsqueeze(low, real, {4}), unsqueeze(low, imaginary, {4})}), x);
}

Values lower_rotary_embedding(Lowering& low) {
  const ValueId input = low.input(0);
  const std::int64_t rank = low.rank(input);
  if (rank != 3 && rank != 4) low.invalid("expected an input of rank 3 or 4, found rank {}", rank);
  const ValueId x = rank == 4 ? input : with_heads(low, input, read_heads(low, "num_heads"));
  const std::int64_t size = low.dim(x, 3), given = low.int_or("rotary_embedding_dim", 0);
  const std::int64_t rotated = given == 0 ? size : given;
  if (given < 0 || (size >= 0 && given > size) || (rotated > 0 && rotated % 2 != 0)) {
    low.invalid("attribute 'rotary_embedding_dim': cannot rotate {} of {} elements", given, size);
  }
  const std::int64_t heads_axis = rank == 4 ? 1 : 2;
  if (rotated > 0 && low.dtype(x) == DType::f32) {
    const Values inputs{x, low.input(1), low.input(2), low.optional_input(3)};
    const ValueId turned = turn_heads(low, inputs, {rotated / 2, heads_axis, low.flag("interleaved")});
    return {rank == 4 ? turned : reshape_like(low, turned, input)};
  }
  const ValueId cos = angles_of(low, 1, heads_axis, rotated), sin = angles_of(low, 2, heads_axis, rotated);
  const bool interleaved = low.flag("interleaved"), whole = rotated == size;
  ValueId y = rotate(low, whole ? x : slice_last(low, x, 0, rotated), cos, sin, interleaved);
  if (!whole) y = low.emit(Concat{3}, {y, slice_last(low, x, rotated, kToTheEnd)});
  return {rank == 4 ? y : reshape_like(low, y, input)};
}

/// Writes the update into the cache at each batch entry's index along the axis.
Values lower_tensor_scatter(Lowering& low) {
  const ValueId cache = low.input(0), update = low.input(1), starts = low.optional_input(2);
  const std::string mode = low.string_or("mode", "linear");
  if (mode != "linear" && mode != "circular") low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
  const std::int64_t rank = low.rank(cache), axis = checked_axis(low, low.int_or("axis", -2), rank);
  if (axis == 0) low.invalid("attribute 'axis': 0 is the batch");
  ValueId at = unsqueeze(low, positions(low, update, axis), axes_between(1, rank - axis));
  if (starts != kAbsent) {
    at = binary(low, BinaryKind::add, at, unsqueeze(low, cast(low, starts, DType::i64), axes_between(1, rank)));
  }
  if (mode == "circular") at = binary(low, BinaryKind::mod, at, length_of(low, cache, axis));
  const ValueId indices = low.emit(Expand{}, {at, shape_of(low, update)});
  return {low.emit(ScatterElements{.axis = axis}, {cache, indices, update})};
}

/// Convolution over the past only; the last positions are the next call's past.
Values lower_causal_conv(Lowering& low) {
  const ValueId x = low.input(0), weight = low.input(1), bias = low.optional_input(2), past = low.optional_input(3);
  const std::string activation = low.string_or("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    low.invalid("attribute 'activation': '{}' does not exist", printable(activation));
  }
  for (const ValueId id : {x, weight}) {
    if (low.rank(id) != 3) low.invalid("expected input and weight of rank 3, found rank {}", low.rank(id));
  }
  const std::int64_t kernel = low.dim(weight, 2), channels = std::max(low.dim(weight, 0), low.dim(x, 1));
  if (kernel < 0 || channels < 0) low.unsupported("neither the weight's shape nor the input's is known");
  if (kernel < 1 || channels < 1) low.invalid("a kernel of {} over {} channels is empty", kernel, channels);
  const ValueId padded =
      past == kAbsent ? low.emit(Pad{}, {x, ints(low, {0, 0, kernel - 1, 0, 0, 0}), scalar(low, low.dtype(x), 0)})
                      : low.emit(Concat{2}, {past, x});
  Conv conv{.kernel = {1, kernel},
            .strides = {1, 1},
            .dilations = {1, 1},
            .pads = {0, 0, 0, 0},
            .groups = channels,
            .epilogue = {}};
  Values inputs = {to_window_layout(low, padded, 3), unsqueeze(low, weight, {2})};
  if (bias != kAbsent) inputs.push_back(bias);
  ValueId y = from_window_layout(low, low.emit(std::move(conv), std::move(inputs)), 3);
  if (activation != "none") y = cast(low, unary(low, UnaryKind::silu, cast(low, y, DType::f32)), low.dtype(x));
  const std::int64_t kept = kernel - 1;
  return {y, slice_last(low, padded, kept == 0 ? kToTheEnd : -kept, kToTheEnd)};
}

constexpr Row kBesideAttentionRows[] = {
    {kOnnxDomain, "CausalConvWithState", 27, kNoLimit, 2, 4, 2, lower_causal_conv},
    {kOnnxDomain, "RotaryEmbedding", 23, kNoLimit, 3, 4, 1, lower_rotary_embedding},
    {kOnnxDomain, "TensorScatter", 24, kNoLimit, 2, 3, 1, lower_tensor_scatter},
};

}  // namespace

std::span<const Row> beside_attention_rows() { return kBesideAttentionRows; }

}  // namespace colonnade::onnx_import
