// SPDX-License-Identifier: Apache-2.0
// com.microsoft: normalisations with residuals, biases and embeddings fused.
#include "frontends/onnx/ops/core/quantize.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"

namespace colonnade::onnx_import {
namespace {

/// 1 / sqrt(mean(x^2) + epsilon) over the axes.
ValueId inverse_root_mean_square(Lowering& low, ValueId x, const Ints& axes, float epsilon) {
  const ValueId mean = reduce(low, ReduceKind::mean, unary(low, UnaryKind::square, x), axes);
  return unary(low, UnaryKind::reciprocal,
               unary(low, UnaryKind::sqrt, binary_scalar(low, BinaryKind::add, mean, epsilon)));
}

/// Its statistics are of the type that stash_type names, float32 where it names none.
Values lower_simplified_layer_norm(Lowering& low) {
  const ValueId x = low.input(0);
  LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-5f), .axis = low.int_or("axis", -1), .rms = true};
  if (low.shape(x)) norm.axis = checked_axis(low, norm.axis, low.rank(x));
  Values outputs = {low.emit(norm, {x, low.input(1)})};
  if (low.wants_output(1)) {
    const std::int64_t rank = low.rank(x);
    const ValueId wide = low.int_or("stash_type", 1) == 1 ? cast(low, x, DType::f32) : x;
    const Ints axes = axes_between(checked_axis(low, norm.axis, rank), rank);
    outputs.push_back(inverse_root_mean_square(low, wide, axes, norm.epsilon));
  }
  return outputs;
}

/// The norm of input + skip + bias, and the sum as fourth output; mean and deviation are of training.
Values normalize_sum(Lowering& low, const LayerNorm& norm, ValueId beta, ValueId bias) {
  ValueId sum = add(low, low.input(0), low.input(1));
  if (bias != kAbsent) sum = add(low, sum, bias);
  Values inputs = {sum, low.input(2)};
  if (beta != kAbsent) inputs.push_back(beta);
  return {low.emit(norm, std::move(inputs)), kAbsent, kAbsent, sum};
}

Values lower_skip_layer_norm(Lowering& low) {
  const LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-12f), .axis = -1};
  return normalize_sum(low, norm, low.optional_input(3), low.optional_input(4));
}

Values lower_skip_simplified_layer_norm(Lowering& low) {
  const LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-12f), .axis = -1, .rms = true};
  return normalize_sum(low, norm, kAbsent, low.optional_input(3));
}

/// Rows of the position table: those at `positions`, else the first ones.
ValueId position_rows(Lowering& low, ValueId table, ValueId positions) {
  if (positions != kAbsent) return low.emit(Gather{0}, {table, positions});
  return slice_of(low, table, 0, ints(low, {0}), extent(low, low.input(0), 1));
}

/// How many words of each sentence the mask counts; 0 where there is no mask.
ValueId word_counts(Lowering& low) {
  const ValueId mask = low.optional_input(7);
  if (mask == kAbsent) return low.emit(Fill{}, {extent(low, low.input(0), 0), scalar(low, DType::i32, 0)});
  const ValueId is_word = cast(low, binary_scalar(low, BinaryKind::equal, mask, 1.0), DType::i32);
  return reduce(low, ReduceKind::sum, is_word, {1}, false);
}

/// Rows of the tables by word, position and segment (kAbsent: none), scale and offset.
struct Embeddings {
  ValueId words, places, segments, gamma, beta;
};

/// The norm of the sum of the rows, the counts of words, and the sum.
Values normalize_embeddings(Lowering& low, const Embeddings& rows) {
  const LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-12f), .axis = -1};
  ValueId sum = add(low, rows.words, rows.places);
  if (rows.segments != kAbsent) sum = add(low, sum, rows.segments);
  const ValueId y = low.emit(norm, {sum, rows.gamma, rows.beta});
  return {y, low.wants_output(1) ? word_counts(low) : kAbsent, sum};
}

/// Rows of table `index` by the segments, where there are any.
ValueId segment_rows(Lowering& low, std::size_t index) {
  const ValueId segments = low.optional_input(1);
  return segments == kAbsent ? kAbsent : low.emit(Gather{0}, {low.input(index), segments});
}

Values lower_embed_layer_norm(Lowering& low) {
  return normalize_embeddings(low, {.words = low.emit(Gather{0}, {low.input(2), low.input(0)}),
                                    .places = position_rows(low, low.input(3), low.optional_input(8)),
                                    .segments = segment_rows(low, 4),
                                    .gamma = low.input(5),
                                    .beta = low.input(6)});
}

/// Rows are gathered first and dequantised after. The scale of input i is input i + 6, its zero point input i + 11.
Values lower_quantized_embed_layer_norm(Lowering& low) {
  const auto part = [&](std::size_t index, ValueId x) {
    return x == kAbsent ? x : dequantize(low, x, {low.input(index + 6), low.input(index + 11)}, DType::f32);
  };
  return normalize_embeddings(low, {.words = part(2, low.emit(Gather{0}, {low.input(2), low.input(0)})),
                                    .places = part(3, position_rows(low, low.input(3), kAbsent)),
                                    .segments = part(4, segment_rows(low, 4)),
                                    .gamma = part(5, low.input(5)),
                                    .beta = part(6, low.input(6))});
}

std::int64_t read_groups(const Lowering& low, ValueId x, std::int64_t channel_axis) {
  const std::int64_t groups = low.required_int("groups"), channels = low.dim(x, channel_axis);
  if (groups < 1 || groups > (std::int64_t{1} << 24) || (channels >= 0 && channels % groups != 0)) {
    low.invalid("attribute 'groups': {} does not divide {} channels", groups, channels);
  }
  return groups;
}

/// Group normalisation of x [N, C, spatial...] without scale and bias: a group is a channel of instance normalisation.
ValueId normalize_groups(Lowering& low, ValueId x, std::int64_t groups) {
  const auto filled = [&](float value) {
    const std::vector<float> values(static_cast<std::size_t>(groups), value);
    return cast(low, floats(low, values, {groups}), low.dtype(x));
  };
  const ValueId grouped = reshape(low, x, {0, groups, -1});
  const InstanceNorm norm{.epsilon = low.float_or("epsilon", 1e-5f)};
  return reshape_like(low, low.emit(norm, {grouped, filled(1), filled(0)}), x);
}

/// Of x, with gamma (input 1) and beta (input 2) a channel, then the activation.
ValueId group_norm(Lowering& low, ValueId x) {
  const std::int64_t rank = low.rank(x), activation = low.required_int("activation");
  if (rank < 3) low.invalid("expected an input of rank 3 or more, found rank {}", rank);
  if (activation != 0 && activation != 1) low.invalid("attribute 'activation': expected 0 or 1, found {}", activation);
  const bool channels_last = low.flag("channels_last", true);
  const std::int64_t groups = read_groups(low, x, channels_last ? rank - 1 : 1);
  ValueId y = normalize_groups(low, channels_last ? to_channels_first(low, x, rank) : x, groups);
  if (channels_last) y = to_channels_last(low, y, rank);
  const auto per_channel = [&](std::size_t index) {
    const ValueId values = cast(low, low.input(index), low.dtype(x));
    return channels_last ? values : unsqueeze(low, values, axes_between(1, rank - 1));
  };
  y = add(low, binary(low, BinaryKind::mul, y, per_channel(1)), per_channel(2));
  return activation == 1 ? unary(low, UnaryKind::silu, y) : y;
}

Values lower_group_norm(Lowering& low) { return {group_norm(low, low.input(0))}; }

/// The skip has x's shape, or one value an image and channel.
Values lower_skip_group_norm(Lowering& low) {
  const ValueId x = low.input(0);
  ValueId skip = low.input(3);
  const std::int64_t rank = low.rank(x);
  const bool channels_last = low.flag("channels_last", true);
  if (low.rank(skip) == 2)
    skip = unsqueeze(low, skip, channels_last ? axes_between(1, rank - 1) : axes_between(2, rank));
  ValueId sum = add(low, x, skip);
  if (low.optional_input(4) != kAbsent) {
    const ValueId bias = low.input(4);
    sum = add(low, sum, channels_last ? bias : unsqueeze(low, bias, axes_between(1, rank - 1)));
  }
  return {group_norm(low, sum), sum};
}

/// x [.., n C] as rows of C, in float32.
ValueId rows_of(Lowering& low, ValueId x, std::int64_t size) {
  const std::int64_t rank = low.rank(x), last = rank < 1 ? -1 : low.dim(x, rank - 1);
  if (size < 1 || rank < 1 || (last >= 0 && last % size != 0)) low.invalid("{} columns are no rows of {}", last, size);
  Ints shape(static_cast<std::size_t>(rank) - 1, 0);
  shape.insert(shape.end(), {-1, size});
  return reshape(low, cast(low, x, DType::f32), shape);
}

/// RMS norm of each C columns, C being the scale's size, times a function of the gate; all in float32.
Values lower_gated_rms_norm(Lowering& low) {
  const ValueId x = low.input(0), scale = low.input(1), gate = cast(low, low.input(2), DType::f32);
  const std::string activation = low.string_or("activation", "silu");
  if (activation != "silu" && activation != "swish" && activation != "sigmoid")
    low.invalid("attribute 'activation': '{}' does not exist", printable(activation));
  if (low.rank(scale) != 1) low.invalid("expected a scale of rank 1, found rank {}", low.rank(scale));
  if (low.dim(scale, 0) < 0) low.unsupported("the size of the scale is not known");
  const LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-5f), .axis = low.rank(x), .rms = true};
  const ValueId rows = low.emit(norm, {rows_of(low, x, low.dim(scale, 0)), cast(low, scale, DType::f32)});
  const ValueId open = unary(low, activation == "sigmoid" ? UnaryKind::sigmoid : UnaryKind::silu, gate);
  return {cast(low, binary(low, BinaryKind::mul, reshape_like(low, rows, x), open), low.dtype(x))};
}

constexpr std::int64_t kMostColumns = std::int64_t{1} << 24;

/// RMS norm of each branch of [.., C, H], or of [.., C H] where there are num_branches; the scale is [H], [C, H] or
/// [C H], or absent.
Values lower_branchwise_rms_norm(Lowering& low) {
  const ValueId x = low.input(0), scale = low.optional_input(1);
  const std::int64_t rank = low.rank(x), branches = low.int_or("num_branches", 0), last = low.dim(x, rank - 1);
  if (last < 0) low.unsupported("the number of columns is not known");
  if (branches < 0 || (branches > 0 && last % branches != 0))
    low.invalid("attribute 'num_branches': {} does not divide {} columns", branches, last);
  const std::int64_t size = branches == 0 ? last : last / branches;
  if (size > kMostColumns) low.unsupported("{} columns are too many", size);
  const ValueId grouped = branches == 0 ? cast(low, x, DType::f32) : rows_of(low, x, size);
  const LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-5f), .axis = low.rank(grouped) - 1, .rms = true};
  const ValueId wide = scale == kAbsent ? kAbsent : cast(low, scale, DType::f32);
  const bool is_shared = wide != kAbsent && low.rank(wide) == 1 && low.dim(wide, 0) == size;
  const std::vector<float> ones(static_cast<std::size_t>(size), 1.0f);
  ValueId y = low.emit(norm, {grouped, is_shared ? wide : floats(low, ones, {size})});
  if (wide != kAbsent && !is_shared) y = binary(low, BinaryKind::mul, y, reshape(low, wide, {-1, size}));
  return {cast(low, branches == 0 ? y : reshape_like(low, y, x), low.dtype(x))};
}

constexpr Row kNormRows[] = {
    microsoft_row("BranchwiseRMSNorm", 1, 2, 1, lower_branchwise_rms_norm),
    microsoft_row("EmbedLayerNormalization", 7, 9, 3, lower_embed_layer_norm),
    microsoft_row("GatedRMSNorm", 3, 3, 1, lower_gated_rms_norm),
    microsoft_row("GroupNorm", 3, 3, 1, lower_group_norm),
    microsoft_row("QEmbedLayerNormalization", 18, 18, 2, lower_quantized_embed_layer_norm),
    microsoft_row("SimplifiedLayerNormalization", 2, 2, 2, lower_simplified_layer_norm),
    microsoft_row("SkipGroupNorm", 4, 5, 2, lower_skip_group_norm),
    microsoft_row("SkipLayerNormalization", 3, 5, 4, lower_skip_layer_norm),
    microsoft_row("SkipSimplifiedLayerNormalization", 3, 4, 4, lower_skip_simplified_layer_norm),
    {kOnnxDomain, "SimplifiedLayerNormalization", 1, kNoLimit, 2, 2, 2, lower_simplified_layer_norm},
};

}  // namespace

std::span<const Row> microsoft_norm_rows() { return kNormRows; }

}  // namespace colonnade::onnx_import
