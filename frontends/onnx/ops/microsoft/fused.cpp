// SPDX-License-Identifier: Apache-2.0
// com.microsoft: activations, sums and moves that optimisers fuse or export under names of their own.
#include <algorithm>
#include <limits>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/core/window.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"

namespace colonnade::onnx_import {
namespace {

template <UnaryKind kind>
Values lower_biased_unary(Lowering& low) {
  return {unary(low, kind, add_input(low, low.input(0), 1))};
}

Values lower_quick_gelu(Lowering& low) {
  const float alpha = low.float_or("alpha", 1.702f);
  const ValueId x = low.input(0);
  if (alpha == 1) return {unary(low, UnaryKind::silu, x)};
  return {
      binary(low, BinaryKind::mul, x, unary(low, UnaryKind::sigmoid, binary_scalar(low, BinaryKind::mul, x, alpha)))};
}

Values lower_scaled_silu(Lowering& low) {
  const ValueId x = low.input(0), scale = low.optional_input(1);
  if (scale == kAbsent)
    return {unary(low, UnaryKind::silu, binary_scalar(low, BinaryKind::mul, x, low.float_or("alpha", 1)))};
  const ValueId number = reshape(low, cast(low, scale, low.dtype(x)), {});
  return {unary(low, UnaryKind::silu, binary(low, BinaryKind::mul, x, number))};
}

Values lower_bias_add(Lowering& low) { return {add_input(low, add(low, low.input(0), low.input(1)), 2)}; }

/// Inference: nothing is dropped.
Values lower_bias_dropout(Lowering& low) {
  if (low.optional_input(4) != kAbsent) {
    const auto mode = low.constant_of(low.input(4));
    if (!mode || mode->dtype() != DType::boolean || mode->size() != 1 || mode->tensor()->values<std::uint8_t>()[0]) {
      low.unsupported("training_mode must be a constant false");
    }
  }
  const ValueId sum = add_input(low, add(low, low.input(0), low.input(1)), 2);
  Values outputs = {sum};
  if (low.wants_output(1)) outputs.push_back(low.emit(Fill{}, {shape_of(low, sum), scalar(low, DType::boolean, 1)}));
  return outputs;
}

/// The left half of x + bias times the gelu of the right half.
Values lower_bias_split_gelu(Lowering& low) {
  const Values halves = low.emit_all(Split{.axis = 2}, {add(low, low.input(0), low.input(1))}, 2);
  return {binary(low, BinaryKind::mul, halves[0], unary(low, UnaryKind::gelu_erf, halves[1]))};
}

/// Softmax over all axes from `axis` on.
Values lower_bias_softmax(Lowering& low) {
  const ValueId sum = add(low, low.input(0), low.input(1));
  const std::int64_t rank = low.rank(sum), axis = checked_axis(low, low.int_or("axis", 1), rank);
  if (axis == rank - 1) return {low.emit(Softmax{.axis = -1}, {sum})};
  const ValueId flat = low.emit(Flatten{axis}, {sum});
  return {reshape_like(low, low.emit(Softmax{.axis = -1}, {flat}), sum)};
}

Values lower_gated_add(Lowering& low) {
  return {add(low, low.input(0), binary(low, BinaryKind::mul, low.input(1), low.input(2)))};
}

Activation conv_activation(const Lowering& low) {
  return {low.string_or("activation", ""), find_floats(low.node(), "activation_params").value_or(std::vector<float>())};
}

Values lower_fused_conv(Lowering& low) {
  return {activate(low, add_input(low, convolve(low, {low.input(0), low.input(1), low.optional_input(2)}), 3),
                   conv_activation(low))};
}

Values lower_nhwc_conv(Lowering& low) {
  const std::int64_t rank = low.rank(low.input(1));
  const ValueId y = convolve(low, {to_channels_first(low, low.input(0), rank), low.input(1), low.optional_input(2)});
  return {activate(low, add_input(low, to_channels_last(low, y, rank), 3), conv_activation(low))};
}

Values lower_nhwc_max_pool(Lowering& low) {
  const std::int64_t rank = low.rank(low.input(0));
  const ValueId y = pool(low, PoolKind::max, to_channels_first(low, low.input(0), rank)).front();
  return {to_channels_last(low, y, rank)};
}

/// A depthwise convolution that sees its own position and those before it; the last ones are the state. Sequences lie
/// along axis 2, or with channels_last along axis 1.
Values lower_causal_conv(Lowering& low) {
  if (low.int_or("ndim", 1) != 1) low.unsupported("ndim {} is not supported", low.int_or("ndim", 1));
  if (low.int_or("state_window", 0) != 0) low.unsupported("state_window is not supported");
  const ValueId input = low.input(0), weight = low.input(1), state = low.optional_input(3);
  const std::int64_t channels = low.dim(weight, 0), taps = low.dim(weight, 2), dilation = low.int_or("dilation", 1);
  if (channels < 1 || taps < 1) low.unsupported("the shape of the weight is not known");
  if (dilation < 1 || dilation > (1 << 20)) low.invalid("attribute 'dilation': {} is out of range", dilation);
  const bool channels_last = low.flag("channels_last");
  const auto by_channel = [&](ValueId x) {
    return channels_last ? transpose(low, reshape(low, x, {0, 0, channels}), {0, 2, 1}) : x;
  };
  const auto by_position = [&](ValueId x) { return channels_last ? transpose(low, x, {0, 2, 1}) : x; };
  const std::int64_t kept = (taps - 1) * dilation;
  const ValueId x = by_channel(input), zero = scalar(low, low.dtype(x), 0);
  const ValueId all = state != kAbsent ? low.emit(Concat{2}, {by_channel(state), x})
                                       : low.emit(Pad{}, {x, ints(low, {0, 0, kept, 0, 0, 0}), zero});
  Values operands = {to_window_layout(low, all, 3), unsqueeze(low, weight, {2})};
  if (low.optional_input(2) != kAbsent) operands.push_back(low.input(2));
  const Conv conv{.kernel = {1, taps},
                  .strides = {1, 1},
                  .dilations = {1, dilation},
                  .pads = {0, 0, 0, 0},
                  .groups = channels,
                  .epilogue = {}};
  ValueId y = from_window_layout(low, low.emit(conv, std::move(operands)), 3);
  const std::string activation = low.string_or("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = unary(low, UnaryKind::silu, y);
  } else if (activation != "none") {
    low.invalid("attribute 'activation': '{}' does not exist", printable(activation));
  }
  const ValueId present = by_position(slice_of(low, all, 2, extent(low, x, 2), extent(low, all, 2)));
  return {channels_last ? reshape_like(low, by_position(y), input) : y,
          channels_last && state != kAbsent ? reshape_like(low, present, state) : present};
}

Values lower_expand_dims(Lowering& low) {
  const ValueId axis = cast(low, low.input(1), DType::i64);
  return {low.emit(Unsqueeze{}, {low.input(0), reshape(low, axis, {1})})};
}

Values lower_identity(Lowering& low) { return {unary(low, UnaryKind::identity, low.input(0))}; }

Values lower_range(Lowering& low) {
  const ValueId start = low.input(0), step = low.optional_input(2);
  return {low.emit(Range{}, {start, low.input(1), step == kAbsent ? scalar(low, low.dtype(start), 1) : step})};
}

Values lower_trilu(Lowering& low) {
  low.input(0);
  return {low.emit(Trilu{.upper = low.flag("upper", true)}, low.inputs())};
}

Values lower_pad(Lowering& low) {
  Values inputs = low.inputs();
  inputs[1] = reshape(low, low.input(1), {-1});
  return {low.emit(Pad{pad_mode(low)}, std::move(inputs))};
}

Values lower_grid_sample(Lowering& low) { return {sample_grid(low)}; }

Values lower_gather_nd(Lowering& low) { return {low.emit(GatherNd{}, {low.input(0), low.input(1)})}; }

Values lower_embedding(Lowering& low) { return {low.emit(Gather{0}, {low.input(0), low.input(1)})}; }

/// Whether no number of any input is infinite (or, as asked, NaN).
Values lower_is_all_finite(Lowering& low) {
  const bool only_nan = low.flag("isnan_only"), only_infinite = low.flag("isinf_only");
  if (only_nan && only_infinite) low.invalid("attributes 'isnan_only' and 'isinf_only' exclude each other");
  ValueId wrong = kAbsent;
  for (std::size_t i = 0; i < low.input_count(); ++i) {
    const ValueId x = low.input(i);
    const ValueId infinite =
        binary_scalar(low, BinaryKind::equal, unary(low, UnaryKind::abs, x), std::numeric_limits<double>::infinity());
    const ValueId nan = unary(low, UnaryKind::is_nan, x);
    const ValueId either = binary(low, BinaryKind::logical_or, infinite, nan);
    const ValueId bad = cast(low, only_nan ? nan : only_infinite ? infinite : either, DType::i32);
    const ValueId count = low.emit(Reduce{.kind = ReduceKind::sum, .keepdims = false}, {bad});
    wrong = wrong == kAbsent ? count : add(low, wrong, count);
  }
  return {binary_scalar(low, BinaryKind::equal, wrong, 0.0)};
}

/// Pairs (real, imaginary) along the last axis.
template <bool conjugates>
Values lower_complex_mul(Lowering& low) {
  const auto parts = [&](ValueId x) { return low.emit_all(Split{.axis = low.rank(x) - 1}, {x}, 2); };
  const Values a = parts(low.input(0)), b = parts(low.input(1));
  const auto product = [&](ValueId x, ValueId y) { return binary(low, BinaryKind::mul, x, y); };
  const BinaryKind real_sign = conjugates ? BinaryKind::add : BinaryKind::sub;
  const BinaryKind imaginary_sign = conjugates ? BinaryKind::sub : BinaryKind::add;
  const ValueId real = binary(low, real_sign, product(a[0], b[0]), product(a[1], b[1]));
  const ValueId imaginary = binary(low, imaginary_sign, product(a[1], b[0]), product(a[0], b[1]));
  return {low.emit(Concat{low.rank(real) - 1}, {real, imaginary})};
}

/// Every slice of `size` elements along an axis, `step` apart, as a new last axis.
Values lower_unfold(Lowering& low) {
  const ValueId x = low.input(0);
  const std::int64_t rank = low.rank(x), axis = checked_axis(low, low.int_or("dim", -1), rank);
  const std::int64_t size = low.required_int("size"), step = low.int_or("step", 1), length = low.dim(x, axis);
  if (length < 0) low.unsupported("the size of axis {} is not known", axis);
  if (size < 1 || size > length || step < 1) {
    low.invalid("attributes 'size' and 'step': {} and {} do not fit {} elements", size, step, length);
  }
  const std::int64_t count = (length - size) / step + 1;
  if (count > (std::int64_t{1} << 24) / size) low.unsupported("{} slices of {} elements are too many", count, size);
  Ints positions;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < size; ++j) positions.push_back(i * step + j);
  }
  Tensor index(DType::i64, {count, size});
  std::copy(positions.begin(), positions.end(), index.values<std::int64_t>().begin());
  const ValueId slices = low.emit(Gather{axis}, {x, low.constant(std::move(index))});
  Ints perm = axes_between(0, rank + 1);
  std::rotate(perm.begin() + axis + 1, perm.begin() + axis + 2, perm.end());
  return {transpose(low, slices, perm)};
}

constexpr Row kFusedRows[] = {
    microsoft_row("BiasAdd", 3, 3, 1, lower_bias_add),
    microsoft_row("BiasDropout", 2, 5, 2, lower_bias_dropout),
    microsoft_row("BiasGelu", 2, 2, 1, lower_biased_unary<UnaryKind::gelu_erf>),
    microsoft_row("BiasSoftmax", 2, 2, 1, lower_bias_softmax),
    microsoft_row("BiasSplitGelu", 2, 2, 1, lower_bias_split_gelu),
    microsoft_row("CausalConvWithState", 2, 4, 2, lower_causal_conv),
    microsoft_row("ComplexMul", 2, 2, 1, lower_complex_mul<false>),
    microsoft_row("ComplexMulConj", 2, 2, 1, lower_complex_mul<true>),
    microsoft_row("ExpandDims", 2, 2, 1, lower_expand_dims),
    microsoft_row("FastGelu", 1, 2, 1, lower_biased_unary<UnaryKind::gelu_tanh>),
    microsoft_row("FusedConv", 2, 4, 1, lower_fused_conv),
    microsoft_row("GatedAdd", 3, 3, 1, lower_gated_add),
    microsoft_row("GatherND", 2, 2, 1, lower_gather_nd),
    microsoft_row("Gelu", 1, 1, 1, lower_biased_unary<UnaryKind::gelu_erf>),
    microsoft_row("GridSample", 2, 2, 1, lower_grid_sample),
    microsoft_row("IsAllFinite", 1, kNoLimit, 1, lower_is_all_finite),
    microsoft_row("NhwcConv", 2, 3, 1, lower_nhwc_conv),
    microsoft_row("NhwcFusedConv", 2, 4, 1, lower_nhwc_conv),
    microsoft_row("NhwcMaxPool", 1, 1, 1, lower_nhwc_max_pool),
    microsoft_row("Pad", 2, 3, 1, lower_pad),
    microsoft_row("QuickGelu", 1, 1, 1, lower_quick_gelu),
    microsoft_row("Range", 2, 3, 1, lower_range),
    microsoft_row("SampleOp", 1, 1, 1, lower_identity),
    microsoft_row("ScaledSiLU", 1, 2, 1, lower_scaled_silu),
    microsoft_row("TorchEmbedding", 2, 4, 1, lower_embedding),
    microsoft_row("Trilu", 1, 2, 1, lower_trilu),
    microsoft_row("UnfoldTensor", 1, 1, 1, lower_unfold),
};

}  // namespace

std::span<const Row> microsoft_fused_rows() { return kFusedRows; }

}  // namespace colonnade::onnx_import
