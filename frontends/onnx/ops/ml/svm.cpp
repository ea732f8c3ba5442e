// SPDX-License-Identifier: Apache-2.0
// Support vector machines of ai.onnx.ml: kernels, decisions and votes are products of matrices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"
#include "frontends/onnx/ops/ml/shared.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

ValueId product(Lowering& low, ValueId x, ValueId rows) {
  return low.emit(MatMul{.transpose_b = true, .epilogue = {}}, {x, rows});
}

struct KernelParameters {
  float gamma = 0, coef0 = 0, degree = 0;
};

KernelParameters kernel_parameters(const Lowering& low) {
  const auto given = floats_or_none(low, "kernel_params");
  if (given.empty()) return {};
  if (given.size() != 3) low.invalid("attribute 'kernel_params': expected 3 values, found {}", given.size());
  return {given[0], given[1], given[2]};
}

/// exp(-gamma |x - vector|^2), the distances by products of what is left when the vectors' mean is taken away: what x
/// and the vectors have in common would take the digits of the difference.
ValueId radial_kernel(Lowering& low, ValueId x, std::vector<float> vectors, std::int64_t count, float gamma) {
  const std::int64_t features = static_cast<std::int64_t>(vectors.size()) / count;
  std::vector<float> mean, squares;
  for (std::int64_t f = 0; f < features; ++f) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
      sum += static_cast<double>(vectors[static_cast<std::size_t>(i * features + f)]);
    mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    double square = 0;
    for (std::size_t f = 0; f < mean.size(); ++f) {
      float& value = vectors[i * mean.size() + f];
      value -= mean[f];
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    squares.push_back(static_cast<float>(square));
  }
  const ValueId centered = binary(low, BinaryKind::sub, x, floats(low, mean, {features}));
  const ValueId both = product(low, centered, floats(low, vectors, {count, features}));
  const ValueId sums =
      binary(low, BinaryKind::add, reduce(low, ReduceKind::sum_square, centered, {-1}), floats(low, squares, {count}));
  const ValueId distance = binary(low, BinaryKind::sub, sums, binary_scalar(low, BinaryKind::mul, both, 2.0));
  const ValueId positive = binary_scalar(low, BinaryKind::max, distance, 0.0);
  return unary(low, UnaryKind::exp, binary_scalar(low, BinaryKind::mul, positive, -static_cast<double>(gamma)));
}

/// The kernel of every sample with every support vector: [samples, vectors].
ValueId kernels(Lowering& low, std::vector<float> vectors, std::int64_t count) {
  const std::string type = low.string_or("kernel_type", "LINEAR");
  const KernelParameters parameters = kernel_parameters(low);
  const ValueId x = float_samples(low);
  if (type == "RBF") return radial_kernel(low, x, std::move(vectors), count, parameters.gamma);
  const auto features = static_cast<std::int64_t>(vectors.size()) / count;
  const ValueId linear = product(low, x, floats(low, vectors, {count, features}));
  if (type == "LINEAR") return linear;
  if (type != "POLY" && type != "SIGMOID") low.invalid("attribute 'kernel_type': '{}' does not exist", printable(type));
  const ValueId scaled = binary_scalar(low, BinaryKind::mul, linear, static_cast<double>(parameters.gamma));
  const ValueId moved = binary_scalar(low, BinaryKind::add, scaled, static_cast<double>(parameters.coef0));
  return type == "POLY" ? binary_scalar(low, BinaryKind::pow, moved, static_cast<double>(parameters.degree))
                        : unary(low, UnaryKind::tanh, moved);
}

std::vector<float> support_vectors(const Lowering& low, std::int64_t count) {
  auto vectors = required_floats(low, "support_vectors");
  if (static_cast<std::int64_t>(vectors.size()) % count != 0) {
    low.invalid("attribute 'support_vectors': {} values for {} vectors", vectors.size(), count);
  }
  return vectors;
}

void check_count(const Lowering& low, std::string_view name, std::size_t found, std::int64_t expected) {
  if (static_cast<std::int64_t>(found) != expected) {
    low.invalid("attribute '{}': expected {} values, found {}", name, expected, found);
  }
}

Values lower_svm_regressor(Lowering& low) {
  const std::int64_t count = low.int_or("n_supports", 0);
  const auto coefficients = required_floats(low, "coefficients"), rho = required_floats(low, "rho");
  if (count < 0) low.invalid("attribute 'n_supports': {} is negative", count);
  const auto terms = static_cast<std::int64_t>(coefficients.size());
  if (count > 0) check_count(low, "coefficients", coefficients.size(), count);
  const ValueId x = count > 0 ? kernels(low, support_vectors(low, count), count) : float_samples(low);
  const ValueId sum = binary_scalar(low, BinaryKind::add, product(low, x, floats(low, coefficients, {1, terms})),
                                    static_cast<double>(rho[0]));
  if (!low.flag("one_class")) return {post_transformed(low, sum)};
  return {select(low, binary_scalar(low, BinaryKind::greater, sum, 0.0), scalar(low, DType::f32, 1),
                 scalar(low, DType::f32, -1.0))};
}

// Classifiers with support vectors decide between the classes of every pair.

struct Machine {
  std::int64_t classes = 0, pairs = 0, vectors = 0;
  Ints per_class;
  std::vector<float> coefficients;  // [classes - 1, vectors]
};

constexpr std::int64_t kMaxWeights = std::int64_t{1} << 26;

Machine read_machine(const Lowering& low, std::int64_t classes) {
  Machine machine{classes, checked_mul(classes, classes - 1) / 2, 0,
                  find_ints(low.node(), "vectors_per_class").value_or(Ints()), required_floats(low, "coefficients")};
  for (const std::int64_t count : machine.per_class) {
    if (count < 0) low.invalid("attribute 'vectors_per_class' holds {}", count);
    machine.vectors = checked_add(machine.vectors, count);
  }
  if (machine.vectors == 0) return machine;
  if (classes < 2) low.invalid("expected at least two classes");
  check_count(low, "vectors_per_class", machine.per_class.size(), classes);
  check_count(low, "coefficients", machine.coefficients.size(), checked_mul(classes - 1, machine.vectors));
  if (checked_mul(machine.vectors, machine.pairs) > kMaxWeights) {
    low.unsupported("{} classes with {} support vectors are too many", classes, machine.vectors);
  }
  return machine;
}

/// What each support vector weighs in the decision of each pair: [pairs, vectors].
std::vector<float> pair_weights(const Machine& machine) {
  std::vector<float> weights(static_cast<std::size_t>(machine.pairs * machine.vectors), 0);
  Ints starts(machine.per_class.size() + 1, 0);
  std::partial_sum(machine.per_class.begin(), machine.per_class.end(), starts.begin() + 1);
  std::int64_t pair = 0;
  const auto copy = [&](std::int64_t label, std::int64_t row) {
    const std::int64_t first = starts[static_cast<std::size_t>(label)];
    const auto from = machine.coefficients.begin() + row * machine.vectors + first;
    std::copy_n(from, machine.per_class[static_cast<std::size_t>(label)],
                weights.begin() + pair * machine.vectors + first);
  };
  for (std::int64_t i = 0; i < machine.classes; ++i) {
    for (std::int64_t j = i + 1; j < machine.classes; ++j, ++pair) {
      copy(i, j - 1);
      copy(j, i);
    }
  }
  return weights;
}

/// The class that wins most pairs; a pair that is not positive is won by its second class.
ValueId most_voted(Lowering& low, const Machine& machine, ValueId decisions) {
  std::vector<float> votes(static_cast<std::size_t>(machine.classes * machine.pairs), 0);
  std::vector<float> second(static_cast<std::size_t>(machine.classes), 0);
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < machine.classes; ++i) {
    for (std::int64_t j = i + 1; j < machine.classes; ++j, ++pair) {
      votes[static_cast<std::size_t>(i * machine.pairs + pair)] = 1;
      votes[static_cast<std::size_t>(j * machine.pairs + pair)] = -1;
      second[static_cast<std::size_t>(j)] += 1;
    }
  }
  const ValueId wins = cast(low, binary_scalar(low, BinaryKind::greater, decisions, 0.0), DType::f32);
  const ValueId counted = product(low, wins, floats(low, votes, {machine.classes, machine.pairs}));
  return best_of(low, binary(low, BinaryKind::add, counted, floats(low, second, {machine.classes})));
}

/// The chances of classes from the decisions of pairs, each through a sigmoid of its own.
ValueId coupled(Lowering& low, const Machine& machine, ValueId decisions) {
  const auto slope = required_floats(low, "prob_a"), offset = required_floats(low, "prob_b");
  check_count(low, "prob_a", slope.size(), machine.pairs);
  check_count(low, "prob_b", offset.size(), machine.pairs);
  const ValueId scaled = binary(low, BinaryKind::mul, decisions, floats(low, slope, {machine.pairs}));
  const ValueId moved = binary(low, BinaryKind::add, scaled, floats(low, offset, {machine.pairs}));
  const ValueId chances = unary(low, UnaryKind::sigmoid, unary(low, UnaryKind::neg, moved));
  const ValueId bounded = unary(low, UnaryKind::clip, chances, 1e-7f, 1 - 1e-7f);
  return low.emit(make_opaque(reference::kPairwiseCoupling, low.opset(), {{"classes", machine.classes}}), {bounded});
}

Values lower_svm_classifier(Lowering& low) {
  Tensor labels = class_labels(low, "classlabels_ints", "classlabels_strings");
  const auto rho = required_floats(low, "rho");
  const Machine machine = read_machine(low, labels.size());
  if (machine.vectors == 0) {
    const auto terms = static_cast<std::int64_t>(machine.coefficients.size());
    if (terms % machine.classes != 0)
      low.invalid("attribute 'coefficients': {} values for {} classes", terms, machine.classes);
    const ValueId weights = floats(low, machine.coefficients, {machine.classes, terms / machine.classes});
    const ValueId scores =
        binary_scalar(low, BinaryKind::add, product(low, float_samples(low), weights), static_cast<double>(rho[0]));
    return {label_of(low, std::move(labels), best_of(low, scores)), post_transformed(low, scores)};
  }
  check_count(low, "rho", rho.size(), machine.pairs);
  const ValueId near = kernels(low, support_vectors(low, machine.vectors), machine.vectors);
  const ValueId sums = product(low, near, floats(low, pair_weights(machine), {machine.pairs, machine.vectors}));
  const ValueId decisions = binary(low, BinaryKind::add, sums, floats(low, rho, {machine.pairs}));
  const ValueId label = label_of(low, std::move(labels), most_voted(low, machine, decisions));
  if (low.has_attribute("prob_a")) return {label, post_transformed(low, coupled(low, machine, decisions))};
  if (machine.pairs > 1) return {label, post_transformed(low, decisions)};
  const ValueId both = low.emit(Concat{1}, {unary(low, UnaryKind::neg, decisions), decisions});
  return {label, post_transformed(low, both)};
}

constexpr Row kSvmRows[] = {
    {kMlDomain, "SVMClassifier", 1, kNoLimit, 1, 1, 2, lower_svm_classifier},
    {kMlDomain, "SVMRegressor", 1, kNoLimit, 1, 1, 1, lower_svm_regressor},
};

}  // namespace

std::span<const Row> ml_svm_rows() { return kSvmRows; }

}  // namespace colonnade::onnx_import
