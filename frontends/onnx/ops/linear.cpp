// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml without trees: preprocessing and linear models.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

std::vector<float> required_floats(const Lowering& low, std::string_view name) {
  auto values = find_floats(low.node(), name);
  if (!values || values->empty()) low.invalid("attribute '{}' is required", name);
  return *std::move(values);
}

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

Values lower_scaler(Lowering& low) {
  ValueId y = cast(low, low.input(0), DType::f32);
  if (const auto offset = find_floats(low.node(), "offset"); offset && !offset->empty()) {
    y = binary(low, BinaryKind::sub, y, per_feature(low, "offset", *offset));
  }
  if (const auto scale = find_floats(low.node(), "scale"); scale && !scale->empty()) {
    y = binary(low, BinaryKind::mul, y, per_feature(low, "scale", *scale));
  }
  return {y};
}

Values impute_integers(Lowering& low, const Ints& values) {
  const ValueId x = low.input(0);
  if (low.dtype(x) != DType::i64)
    low.invalid("expected int64 input for 'imputed_value_int64s', found {}", name_of(low.dtype(x)));
  const std::int64_t features = low.shape(x) ? low.dim(x, low.rank(x) - 1) : -1;
  const auto count = static_cast<std::int64_t>(values.size());
  if (count != 1 && features >= 0 && features != count) {
    low.invalid("attribute 'imputed_value_int64s': expected {} values as features, found {}", features, count);
  }
  const ValueId missing = binary(low, BinaryKind::equal, x, int_scalar(low, low.int_or("replaced_value_int64", 0)));
  return {select(low, missing, ints(low, values), x)};
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
      std::isnan(replaced) ? unary(low, UnaryKind::is_nan, x) : binary(low, BinaryKind::equal, x, replaced);
  return {select(low, missing, cast(low, per_feature(low, "imputed_value_floats", values), dtype), x)};
}

/// An input as float32 [N, width], cut or filled with zeros.
ValueId feature_block(Lowering& low, ValueId x, std::int64_t width) {
  const std::int64_t rank = low.rank(x);
  if (rank != 1 && rank != 2) low.invalid("expected inputs of rank 1 or 2, found rank {}", rank);
  ValueId block = cast(low, x, DType::f32);
  if (rank == 1) block = unsqueeze(low, block, {1});
  const std::int64_t found = low.dim(block, 1);
  if (found == width) return block;
  if (found < 0) low.unsupported("the number of features of an input is not known");
  return low.emit(Pad{}, {block, ints(low, {0, 0, 0, width - found}), scalar(low, DType::f32, 0)});
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
    blocks.push_back(feature_block(low, low.input(i), widths[i]));
  }
  return {low.emit(Concat{1}, std::move(blocks))};
}

Values lower_normalizer(Lowering& low) {
  const std::string norm = low.string_or("norm", "MAX");
  const ValueId x = cast(low, low.input(0), DType::f32);
  if (norm != "MAX" && norm != "L1" && norm != "L2")
    low.invalid("attribute 'norm': '{}' does not exist", printable(norm));
  const ReduceKind kind = norm == "MAX" ? ReduceKind::max : norm == "L1" ? ReduceKind::l1 : ReduceKind::l2;
  const ValueId size = reduce(low, kind, norm == "MAX" ? unary(low, UnaryKind::abs, x) : x, {-1});
  return {binary(low, BinaryKind::div, x, binary(low, BinaryKind::max, size, 1e-30))};
}

Values lower_binarizer(Lowering& low) {
  const ValueId x = low.input(0);
  return {cast(low, binary(low, BinaryKind::greater, x, low.float_or("threshold", 0)), low.dtype(x))};
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
  const ValueId x = cast(low, low.input(0), DType::f32);
  Values inputs = {low.rank(x) == 1 ? unsqueeze(low, x, {0}) : x,
                   floats(low, coefficients, {outputs, count / outputs})};
  if (!intercepts.empty()) inputs.push_back(floats(low, intercepts, {outputs}));
  return low.emit(MatMul{.transpose_b = true, .epilogue = {}}, std::move(inputs));
}

ValueId post_transformed(Lowering& low, ValueId scores) {
  const std::string post = low.string_or("post_transform", "NONE");
  if (post == "NONE") return scores;
  if (post == "LOGISTIC") return unary(low, UnaryKind::sigmoid, scores);
  if (post == "SOFTMAX") return low.emit(Softmax{.axis = -1}, {scores});
  low.unsupported("post_transform '{}' is not supported", printable(post));
}

ValueId label_table(Lowering& low, const Ints& integers, const std::vector<std::string>& strings) {
  if (!integers.empty()) return ints(low, integers);
  Tensor tensor(DType::string, {static_cast<std::int64_t>(strings.size())});
  tensor.strings() = strings;
  return low.constant(std::move(tensor));
}

Values lower_linear_classifier(Lowering& low) {
  const Ints integers = find_ints(low.node(), "classlabels_ints").value_or(Ints());
  const auto strings = find_strings(low.node(), "classlabels_strings").value_or(std::vector<std::string>());
  if (integers.empty() == strings.empty()) low.invalid("expected either integer or string class labels");
  const auto classes = static_cast<std::int64_t>(std::max(integers.size(), strings.size()));
  const auto intercepts = find_floats(low.node(), "intercepts").value_or(std::vector<float>());
  const bool one_score = classes == 2 && intercepts.size() == 1;
  ValueId scores = linear_scores(low, one_score ? 1 : classes);
  if (one_score) scores = low.emit(Concat{1}, {unary(low, UnaryKind::neg, scores), scores});
  if (classes == 1) low.unsupported("a single class is not supported");
  scores = post_transformed(low, scores);
  const ValueId best = low.emit(ArgReduce{.max = true, .axis = 1, .keepdims = false}, {scores});
  return {low.emit(Gather{0}, {label_table(low, integers, strings), best}), scores};
}

Values lower_linear_regressor(Lowering& low) {
  return {post_transformed(low, linear_scores(low, low.int_or("targets", 1)))};
}

constexpr Row ml_row(std::string_view name, int inputs, int outputs, Lower lower) {
  return {kMlDomain, name, 1, kNoLimit, inputs == kNoLimit ? 1 : inputs, inputs, outputs, lower};
}

constexpr Row kRows[] = {
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

std::span<const Row> linear_rows() { return kRows; }

}  // namespace colonnade::onnx_import
