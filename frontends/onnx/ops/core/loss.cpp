// SPDX-License-Identifier: Apache-2.0
// Losses of classifiers: scores [N, classes, ...] against the labels of all other axes.
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

enum class Reduction { none, sum, mean };

Reduction read_reduction(const Lowering& low) {
  const std::string text = low.string_or("reduction", "mean");
  if (text == "none") return Reduction::none;
  if (text == "sum") return Reduction::sum;
  if (text == "mean") return Reduction::mean;
  low.invalid("attribute 'reduction': '{}' does not exist", printable(text));
}

ValueId total(Lowering& low, ValueId x) { return low.emit(Reduce{.kind = ReduceKind::sum, .keepdims = false}, {x}); }

/// Weights of the samples; absent: all are one. Ignored samples have none.
ValueId sample_weights(Lowering& low, ValueId labels, ValueId ignored, DType dtype) {
  const ValueId weights = low.optional_input(2);
  if (weights == kAbsent && ignored == kAbsent) return kAbsent;
  const ValueId each = weights == kAbsent ? scalar(low, dtype, 1) : low.emit(Gather{0}, {weights, labels});
  return ignored == kAbsent ? each : select(low, ignored, scalar(low, dtype, 0), each);
}

/// The negative log probability of each label, weighted and reduced.
ValueId likelihood_loss(Lowering& low, ValueId log_probabilities) {
  const DType dtype = low.dtype(log_probabilities);
  ValueId labels = cast(low, low.input(1), DType::i64), ignored = kAbsent;
  if (const auto index = find_int(low.node(), "ignore_index")) {
    ignored = binary(low, BinaryKind::equal, labels, int_scalar(low, *index));
    labels = select(low, ignored, int_scalar(low, 0), labels);
  }
  const ValueId picked = low.emit(GatherElements{1}, {log_probabilities, unsqueeze(low, labels, {1})});
  ValueId loss = unary(low, UnaryKind::neg, squeeze(low, picked, {1}));
  if (ignored != kAbsent) loss = select(low, ignored, scalar(low, dtype, 0), loss);
  const ValueId weights = sample_weights(low, labels, ignored, dtype);
  if (low.optional_input(2) != kAbsent) loss = binary(low, BinaryKind::mul, loss, weights);
  switch (read_reduction(low)) {
    case Reduction::none: return loss;
    case Reduction::sum: return total(low, loss);
    case Reduction::mean: break;
  }
  if (weights == kAbsent) return low.emit(Reduce{.kind = ReduceKind::mean, .keepdims = false}, {loss});
  return binary(low, BinaryKind::div, total(low, loss), total(low, weights));
}

void check_ranks(const Lowering& low) {
  const auto &scores = low.shape(low.input(0)), &labels = low.shape(low.input(1));
  if (scores && scores->size() < 2) low.invalid("expected scores of rank 2 or more, found rank {}", scores->size());
  if (scores && labels && labels->size() + 1 != scores->size()) {
    low.invalid("expected labels of rank {}, found rank {}", scores->size() - 1, labels->size());
  }
}

Values lower_likelihood_loss(Lowering& low) {
  check_ranks(low);
  return {likelihood_loss(low, low.input(0))};
}

Values lower_cross_entropy_loss(Lowering& low) {
  check_ranks(low);
  const ValueId log_probabilities = low.emit(Softmax{.axis = 1, .log = true}, {low.input(0)});
  return {likelihood_loss(low, log_probabilities), log_probabilities};
}

constexpr Row kLossRows[] = {
    {kOnnxDomain, "NegativeLogLikelihoodLoss", 12, kNoLimit, 2, 3, 1, lower_likelihood_loss},
    {kOnnxDomain, "SoftmaxCrossEntropyLoss", 12, kNoLimit, 2, 3, 2, lower_cross_entropy_loss},
};

}  // namespace

std::span<const Row> loss_rows() { return kLossRows; }

}  // namespace colonnade::onnx_import
