// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

/// [C] as [C, 1, 1, ...], to be applied along axis 1 of a tensor of the rank.
ValueId per_channel(Lowering& low, ValueId values, std::int64_t rank) {
  return rank <= 2 ? values : unsqueeze(low, values, axes_between(1, rank - 1));
}

/// Training form: statistics of this batch, and running statistics as further outputs; before opset 14 also those of
/// the batch.
Values train_batch_norm(Lowering& low, float epsilon) {
  const ValueId x = low.input(0);
  const std::int64_t rank = low.rank(x);
  Ints axes = axes_between(2, rank);
  axes.insert(axes.begin(), 0);
  const ValueId mean = reduce(low, ReduceKind::mean, x, axes, false);
  const ValueId squares = binary(low, BinaryKind::squared_difference, x, per_channel(low, mean, rank));
  const ValueId variance = reduce(low, ReduceKind::mean, squares, axes, false);
  const double momentum = low.float_or("momentum", 0.9f);
  const auto running = [&](ValueId before, ValueId now) {
    const ValueId kept = binary_scalar(low, BinaryKind::mul, before, momentum);
    return binary(low, BinaryKind::add, kept,
                  binary_scalar(low, BinaryKind::mul, cast(low, now, low.dtype(before)), 1 - momentum));
  };
  const ValueId y = low.emit(BatchNorm{.epsilon = epsilon}, {x, low.input(1), low.input(2), mean, variance});
  return {y, running(low.input(3), mean), running(low.input(4), variance), mean, variance};
}

/// Statistics, scale and bias of each activation, not of each channel: all have the shape of x without its batch.
ValueId normalize_activations(Lowering& low, float epsilon) {
  const ValueId centred = binary(low, BinaryKind::sub, low.input(0), low.input(3));
  const ValueId deviation = unary(low, UnaryKind::sqrt, binary_scalar(low, BinaryKind::add, low.input(4), epsilon));
  const ValueId normal = binary(low, BinaryKind::div, centred, deviation);
  return binary(low, BinaryKind::add, binary(low, BinaryKind::mul, normal, low.input(1)), low.input(2));
}

/// Before opset 14 the number of outputs says whether statistics are taken, before opset 7 'is_test' may forbid it.
bool trains(const Lowering& low) {
  if (low.opset() >= 14) return low.flag("training_mode");
  return !low.flag("is_test") &&
         (low.wants_output(1) || low.wants_output(2) || low.wants_output(3) || low.wants_output(4));
}

Values lower_batch_norm(Lowering& low) {
  const float epsilon = low.float_or("epsilon", 1e-5f);
  const bool per_channel = low.opset() > 8 || low.flag("spatial", true);
  if (trains(low)) {
    if (!per_channel) low.unsupported("training with spatial 0 is not supported");
    return train_batch_norm(low, epsilon);
  }
  const ValueId mean = low.input(3), variance = low.input(4);
  const ValueId y =
      per_channel ? low.emit(BatchNorm{.epsilon = epsilon}, {low.input(0), low.input(1), low.input(2), mean, variance})
                  : normalize_activations(low, epsilon);
  return {y, mean, variance, mean, variance};
}

Values lower_instance_norm(Lowering& low) {
  const InstanceNorm norm{.epsilon = low.float_or("epsilon", 1e-5f)};
  return {low.emit(norm, {low.input(0), low.input(1), low.input(2)})};
}

/// Mean and inverse standard deviation as LayerNormalization's further outputs.
void add_statistics(Lowering& low, ValueId x, const Ints& axes, float epsilon, Values& outputs) {
  const ValueId mean = reduce(low, ReduceKind::mean, x, axes);
  const ValueId squares = binary(low, BinaryKind::squared_difference, x, mean);
  const ValueId variance = reduce(low, ReduceKind::mean, squares, axes);
  const ValueId root = unary(low, UnaryKind::sqrt, binary_scalar(low, BinaryKind::add, variance, epsilon));
  outputs.push_back(mean);
  outputs.push_back(unary(low, UnaryKind::reciprocal, root));
}

Values lower_layer_norm(Lowering& low) {
  const ValueId x = low.input(0);
  LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-5f), .axis = low.int_or("axis", -1)};
  if (low.shape(x)) norm.axis = checked_axis(low, norm.axis, low.rank(x));
  Values inputs = {x, low.input(1)};
  if (low.optional_input(2) != kAbsent) inputs.push_back(low.input(2));
  Values outputs = {low.emit(norm, std::move(inputs))};
  if (low.wants_output(1) || low.wants_output(2)) {
    const std::int64_t rank = low.rank(x);
    const ValueId wide = low.int_or("stash_type", 1) == 1 ? cast(low, x, DType::f32) : x;
    add_statistics(low, wide, axes_between(checked_axis(low, norm.axis, rank), rank), norm.epsilon, outputs);
  }
  return outputs;
}

/// The result has the scale's type; where it is not x's, a type that holds both computes.
Values lower_rms_norm(Lowering& low) {
  const ValueId x = low.input(0), scale = low.input(1);
  LayerNorm norm{.epsilon = low.float_or("epsilon", 1e-5f), .axis = low.int_or("axis", -1), .rms = true};
  if (low.shape(x)) norm.axis = checked_axis(low, norm.axis, low.rank(x));
  const DType from = low.dtype(x), to = low.dtype(scale);
  const DType either = from == DType::f64 || to == DType::f64 ? DType::f64 : DType::f32;
  const DType common = from == to ? to : either;
  return {cast(low, low.emit(norm, {cast(low, x, common), cast(low, scale, common)}), to)};
}

/// x regrouped to [N, groups, everything else], where a group is a channel of instance normalisation.
ValueId group(Lowering& low, ValueId x, std::int64_t groups) {
  const std::int64_t channels = low.dim(x, 1);
  if (groups < 1 || (channels >= 0 && channels % groups != 0)) {
    low.invalid("attribute 'num_groups': {} does not divide {} channels", groups, channels);
  }
  return reshape(low, x, {0, groups, -1});
}

ValueId constants(Lowering& low, DType dtype, std::int64_t count, float value) {
  const std::vector<float> values(static_cast<std::size_t>(count), value);
  return cast(low, floats(low, values, {count}), dtype);
}

Values lower_group_norm(Lowering& low) {
  const ValueId x = low.input(0);
  const std::int64_t groups = low.required_int("num_groups"), rank = low.rank(x);
  if (groups > (std::int64_t{1} << 24)) low.invalid("attribute 'num_groups': {} is too large", groups);
  const InstanceNorm norm{.epsilon = low.float_or("epsilon", 1e-5f)};
  const ValueId grouped = group(low, x, groups);
  const DType dtype = low.dtype(x);
  const bool scales_groups = low.opset() < 21;
  const ValueId scale = scales_groups ? low.input(1) : constants(low, dtype, groups, 1);
  const ValueId bias = scales_groups ? low.input(2) : constants(low, dtype, groups, 0);
  const ValueId y = reshape_like(low, low.emit(norm, {grouped, scale, bias}), x);
  if (scales_groups) return {y};
  const ValueId scaled = binary(low, BinaryKind::mul, y, per_channel(low, low.input(1), rank));
  return {binary(low, BinaryKind::add, scaled, per_channel(low, low.input(2), rank))};
}

Values lower_lrn(Lowering& low) {
  const Lrn lrn{.size = low.required_int("size"),
                .alpha = low.float_or("alpha", 1e-4f),
                .beta = low.float_or("beta", 0.75f),
                .bias = low.float_or("bias", 1)};
  if (lrn.size < 1) low.invalid("attribute 'size': {} is not positive", lrn.size);
  return {low.emit(lrn, {low.input(0)})};
}

/// A vector of zeros stays zero.
Values lower_lp_normalization(Lowering& low) {
  const std::int64_t p = low.int_or("p", 2), axis = low.int_or("axis", -1);
  if (p != 1 && p != 2) low.invalid("attribute 'p': expected 1 or 2, found {}", p);
  const ValueId x = low.input(0);
  const ValueId norm = reduce(low, p == 1 ? ReduceKind::l1 : ReduceKind::l2, x, {axis});
  const ValueId is_zero = binary_scalar(low, BinaryKind::equal, norm, 0.0);
  return {binary(low, BinaryKind::div, x, select(low, is_zero, scalar(low, low.dtype(x), 1), norm))};
}

Values lower_mean_variance(Lowering& low) {
  const Ints axes = find_ints(low.node(), "axes").value_or(Ints{0, 2, 3});
  const ValueId x = low.input(0);
  const ValueId centred = binary(low, BinaryKind::sub, x, reduce(low, ReduceKind::mean, x, axes));
  const ValueId variance = reduce(low, ReduceKind::mean, unary(low, UnaryKind::square, centred), axes);
  const ValueId deviation = binary_scalar(low, BinaryKind::add, unary(low, UnaryKind::sqrt, variance), 1e-9);
  return {binary(low, BinaryKind::div, centred, deviation)};
}

/// The experimental form: over all of an image with across_channels, and with the mean alone where asked.
Values lower_first_mean_variance(Lowering& low) {
  const ValueId x = low.input(0);
  const Ints axes = low.flag("across_channels") ? Ints{1, 2, 3} : Ints{2, 3};
  const ValueId centred = binary(low, BinaryKind::sub, x, reduce(low, ReduceKind::mean, x, axes));
  if (!low.flag("normalize_variance", true)) return {centred};
  const ValueId variance = reduce(low, ReduceKind::mean, unary(low, UnaryKind::square, centred), axes);
  const ValueId deviation = binary_scalar(low, BinaryKind::add, unary(low, UnaryKind::sqrt, variance), 1e-9);
  return {binary(low, BinaryKind::div, centred, deviation)};
}

template <bool is_log>
Values lower_softmax(Lowering& low) {
  return {low.emit(Softmax{.axis = low.int_or("axis", -1), .log = is_log}, {low.input(0)})};
}

Values lower_hardmax(Lowering& low) { return {low.emit(Hardmax{.axis = low.int_or("axis", -1)}, {low.input(0)})}; }

/// Before opset 13 these work on the input flattened to a matrix at `axis`.
Values lower_flattened(Lowering& low, const Operator& on_last, std::int64_t fallback_axis) {
  const ValueId x = low.input(0);
  const std::int64_t given = low.int_or("axis", fallback_axis);
  if (given == -1) return {low.emit(on_last, {x})};
  const std::int64_t rank = low.rank(x);
  const std::int64_t axis = given == rank ? rank : checked_axis(low, given, rank);
  if (axis == rank - 1) return {low.emit(on_last, {x})};
  const ValueId flat = low.emit(Flatten{.axis = axis}, {x});
  return {reshape_like(low, low.emit(on_last, {flat}), x)};
}

template <bool is_log>
Values lower_flattened_softmax(Lowering& low) {
  return lower_flattened(low, Softmax{.axis = -1, .log = is_log}, 1);
}

Values lower_flattened_hardmax(Lowering& low) { return lower_flattened(low, Hardmax{.axis = -1}, 1); }

constexpr Row kNormRows[] = {
    {kOnnxDomain, "BatchNormalization", 1, 13, 5, 5, 5, lower_batch_norm},
    {kOnnxDomain, "BatchNormalization", 14, kNoLimit, 5, 5, 3, lower_batch_norm},
    {kOnnxDomain, "InstanceNormalization", 1, kNoLimit, 3, 3, 1, lower_instance_norm},
    {kOnnxDomain, "LayerNormalization", 17, kNoLimit, 2, 3, 3, lower_layer_norm},
    {kOnnxDomain, "RMSNormalization", 23, kNoLimit, 2, 2, 1, lower_rms_norm},
    {kOnnxDomain, "GroupNormalization", 18, kNoLimit, 3, 3, 1, lower_group_norm},
    {kOnnxDomain, "LRN", 1, kNoLimit, 1, 1, 1, lower_lrn},
    {kOnnxDomain, "LpNormalization", 1, kNoLimit, 1, 1, 1, lower_lp_normalization},
    {kOnnxDomain, "MeanVarianceNormalization", 1, 8, 1, 1, 1, lower_first_mean_variance},
    {kOnnxDomain, "MeanVarianceNormalization", 9, kNoLimit, 1, 1, 1, lower_mean_variance},
    {kOnnxDomain, "Softmax", 1, 12, 1, 1, 1, lower_flattened_softmax<false>},
    {kOnnxDomain, "Softmax", 13, kNoLimit, 1, 1, 1, lower_softmax<false>},
    {kOnnxDomain, "LogSoftmax", 1, 12, 1, 1, 1, lower_flattened_softmax<true>},
    {kOnnxDomain, "LogSoftmax", 13, kNoLimit, 1, 1, 1, lower_softmax<true>},
    {kOnnxDomain, "Hardmax", 1, 12, 1, 1, 1, lower_flattened_hardmax},
    {kOnnxDomain, "Hardmax", 13, kNoLimit, 1, 1, 1, lower_hardmax},
};

}  // namespace

std::span<const Row> norm_rows() { return kNormRows; }

}  // namespace colonnade::onnx_import
