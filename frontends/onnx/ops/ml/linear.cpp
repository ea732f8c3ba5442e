// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml without trees: preprocessing and linear models.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "frontends/onnx/ops/ml/shared.hpp"

namespace colonnade::onnx_import {
namespace {

/// One value a feature, or one for all.
ValueId per_feature(Lowering& low, std::string_view name, const std::vector<float>& values) {
  const ValueId x = low.input(0);
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t features = low.shape(x) ? low.dim(x, low.rank(x) - 1) : -1;
  if (count != 1 && features >= 0 && features != count) {
    low.invalid("attribute '{}': expected {} values as features, found {}", name, features, count);
  }
  return floats(low, values, {count});
}

/// Doubles are scaled as doubles: large offsets would take their digits.
Values lower_scaler(Lowering& low) {
  const DType dtype = low.dtype(low.input(0)) == DType::f64 ? DType::f64 : DType::f32;
  ValueId y = cast(low, numbers(low, 0), dtype);
  for (const auto& [name, kind] : {std::pair("offset", BinaryKind::sub), std::pair("scale", BinaryKind::mul)}) {
    const auto values = floats_or_none(low, name);
    if (!values.empty()) y = binary(low, kind, y, cast(low, per_feature(low, name, values), dtype));
  }
  return {cast(low, y, DType::f32)};
}

Values impute_integers(Lowering& low, const Ints& values) {
  const ValueId x = low.input(0);
  const DType dtype = low.dtype(x);
  if (dtype != DType::i64 && dtype != DType::i32)
    low.invalid("expected integers for 'imputed_value_int64s', found {}", name_of(dtype));
  const std::int64_t features = low.shape(x) ? low.dim(x, low.rank(x) - 1) : -1;
  const auto count = static_cast<std::int64_t>(values.size());
  if (count != 1 && features >= 0 && features != count) {
    low.invalid("attribute 'imputed_value_int64s': expected {} values as features, found {}", features, count);
  }
  const ValueId replaced = cast(low, int_scalar(low, low.int_or("replaced_value_int64", 0)), dtype);
  return {select(low, binary(low, BinaryKind::equal, x, replaced), cast(low, ints(low, values), dtype), x)};
}

Values lower_imputer(Lowering& low) {
  const auto integers = find_ints(low.node(), "imputed_value_int64s");
  if (integers && !integers->empty()) return impute_integers(low, *integers);
  const ValueId x = low.input(0);
  const auto values = required_floats(low, "imputed_value_floats");
  const DType dtype = low.dtype(x);
  if (!is_float(dtype)) low.invalid("expected float input for 'imputed_value_floats', found {}", name_of(dtype));
  const float replaced = low.float_or("replaced_value_float", 0);
  const ValueId missing =
      std::isnan(replaced) ? unary(low, UnaryKind::is_nan, x) : binary_scalar(low, BinaryKind::equal, x, replaced);
  return {select(low, missing, cast(low, per_feature(low, "imputed_value_floats", values), dtype), x)};
}

/// An input as float32 [N, width], cut or filled with zeros.
ValueId feature_block(Lowering& low, ValueId x, std::int64_t width) {
  const std::int64_t rank = low.rank(x);
  if (rank != 1 && rank != 2) low.invalid("expected inputs of rank 1 or 2, found rank {}", rank);
  ValueId block = cast(low, x, DType::f32);
  if (rank == 1) block = unsqueeze(low, block, {1});
  if (low.dim(block, 1) == width) return block;
  const ValueId found = low.emit(ShapeOf{.start = 1, .end = 2}, {block});
  const ValueId missing = binary(low, BinaryKind::sub, ints(low, {width}), found);
  const ValueId pads = low.emit(Concat{0}, {ints(low, {0, 0, 0}), missing});
  return low.emit(Pad{}, {block, pads, scalar(low, DType::f32, 0)});
}

Values lower_feature_vectorizer(Lowering& low) {
  const Ints widths = low.required_ints("inputdimensions");
  if (widths.size() != low.input_count()) {
    low.invalid("attribute 'inputdimensions': expected {} values as inputs, found {}", low.input_count(),
                widths.size());
  }
  Values blocks;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] < 1 || widths[i] > (1 << 24))
      low.invalid("attribute 'inputdimensions': {} is out of range", widths[i]);
    blocks.push_back(feature_block(low, numbers(low, i), widths[i]));
  }
  return {low.emit(Concat{1}, std::move(blocks))};
}

/// By the largest element, the sum of sizes or the length; what has none of it stays.
Values lower_normalizer(Lowering& low) {
  const std::string norm = low.string_or("norm", "MAX");
  const ValueId x = cast(low, numbers(low, 0), DType::f32);
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    low.invalid("attribute 'norm': '{}' does not exist", printable(norm));
  const ReduceKind kind = norm == "MAX" ? ReduceKind::max : norm == "L1" ? ReduceKind::l1 : ReduceKind::l2;
  const ValueId size = reduce(low, kind, x, {-1});
  const ValueId divisor =
      select(low, binary_scalar(low, BinaryKind::equal, size, 0.0), scalar(low, DType::f32, 1), size);
  return {binary(low, BinaryKind::div, x, divisor)};
}

Values lower_binarizer(Lowering& low) {
  const ValueId x = numbers(low, 0);
  const ValueId real = is_float(low.dtype(x)) ? x : cast(low, x, DType::f64);
  const auto threshold = static_cast<double>(low.float_or("threshold", 0));
  return {cast(low, binary_scalar(low, BinaryKind::greater, real, threshold), low.dtype(x))};
}

Values lower_array_feature_extractor(Lowering& low) {
  ValueId x = low.input(0);
  if (low.rank(x) == 1) x = unsqueeze(low, x, {0});
  return {low.emit(Gather{low.rank(x) - 1}, {x, reshape(low, low.input(1), {-1})})};
}

/// x times the coefficients [outputs, features], plus intercepts.
ValueId linear_scores(Lowering& low, std::int64_t outputs) {
  const auto coefficients = required_floats(low, "coefficients");
  const auto intercepts = find_floats(low.node(), "intercepts").value_or(std::vector<float>());
  const auto count = static_cast<std::int64_t>(coefficients.size());
  if (outputs < 1 || count % outputs != 0)
    low.invalid("attribute 'coefficients': {} values for {} outputs", count, outputs);
  if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != outputs) {
    low.invalid("attribute 'intercepts': expected {} values, found {}", outputs, intercepts.size());
  }
  Values inputs = {float_samples(low), floats(low, coefficients, {outputs, count / outputs})};
  if (!intercepts.empty()) inputs.push_back(floats(low, intercepts, {outputs}));
  return low.emit(MatMul{.transpose_b = true, .epilogue = {}}, std::move(inputs));
}

/// "0" and "1", or 0 and 1: the labels of one score whose classes have no names.
Tensor labels_of_sign(DType dtype) {
  if (dtype == DType::i64) return ints_tensor({0, 1});
  Tensor labels(DType::string, {2});
  labels.strings() = {"0", "1"};
  return labels;
}

/// One score stands for two classes: itself for the second one, for the first one what is left of one, or its opposite
/// where the scores are transformed.
Values classify_by_sign(Lowering& low, Tensor labels, ValueId score) {
  const bool named = labels.size() == 2;
  const ValueId second = cast(low, binary_scalar(low, BinaryKind::greater, squeeze(low, score, {1}), 0.0), DType::i64);
  const ValueId label = label_of(low, named ? std::move(labels) : labels_of_sign(labels.dtype()), second);
  if (!named) return {label, post_transformed(low, score)};
  const bool plain = low.string_or("post_transform", "NONE") == "NONE";
  const ValueId opposite = unary(low, UnaryKind::neg, score);
  const ValueId first = plain ? binary_scalar(low, BinaryKind::add, opposite, 1) : opposite;
  return {label, post_transformed(low, low.emit(Concat{1}, {first, score}))};
}

Values lower_linear_classifier(Lowering& low) {
  Tensor labels = class_labels(low, "classlabels_ints", "classlabels_strings");
  const auto intercepts = static_cast<std::int64_t>(floats_or_none(low, "intercepts").size());
  const std::int64_t outputs = intercepts > 0 ? intercepts : labels.size();
  const ValueId scores = linear_scores(low, outputs);
  if (outputs == 1) return classify_by_sign(low, std::move(labels), scores);
  if (labels.size() != outputs) low.invalid("expected {} class labels, found {}", outputs, labels.size());
  return {label_of(low, std::move(labels), best_of(low, scores)), post_transformed(low, scores)};
}

Values lower_linear_regressor(Lowering& low) {
  return {post_transformed(low, linear_scores(low, low.int_or("targets", 1)))};
}

constexpr Row ml_row(std::string_view name, int inputs, int outputs, Lower lower) {
  return {kMlDomain, name, 1, kNoLimit, inputs == kNoLimit ? 1 : inputs, inputs, outputs, lower};
}

constexpr Row kLinearRows[] = {
    ml_row("ArrayFeatureExtractor", 2, 1, lower_array_feature_extractor),
    ml_row("Binarizer", 1, 1, lower_binarizer),
    ml_row("FeatureVectorizer", kNoLimit, 1, lower_feature_vectorizer),
    ml_row("Imputer", 1, 1, lower_imputer),
    ml_row("LinearClassifier", 1, 2, lower_linear_classifier),
    ml_row("LinearRegressor", 1, 1, lower_linear_regressor),
    ml_row("Normalizer", 1, 1, lower_normalizer),
    ml_row("Scaler", 1, 1, lower_scaler),
};

}  // namespace

std::span<const Row> ml_linear_rows() { return kLinearRows; }

}  // namespace colonnade::onnx_import
