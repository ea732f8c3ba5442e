// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

using Ensemble = TreeEnsemble;

bool goes_true(const Ensemble::TreeNode& node, double x) {
  const double value = node.value;
  if (std::isnan(x)) return node.missing_tracks_true;
  switch (node.mode) {
    case Ensemble::Mode::leq: return x <= value;
    case Ensemble::Mode::lt: return x < value;
    case Ensemble::Mode::gte: return x >= value;
    case Ensemble::Mode::gt: return x > value;
    case Ensemble::Mode::eq: return x == value;
    case Ensemble::Mode::neq: return x != value;
    case Ensemble::Mode::leaf: break;
  }
  return false;
}

const Ensemble::TreeNode& node_at(const Ensemble& op, std::int32_t index, const Call& call) {
  if (index < 0 || static_cast<std::size_t>(index) >= op.nodes.size())
    call.invalid("tree node {} does not exist", index);
  return op.nodes[static_cast<std::size_t>(index)];
}

std::int32_t leaf_of(const Ensemble& op, std::int32_t root, std::span<const double> x, const Call& call) {
  std::int32_t index = root;
  const Ensemble::TreeNode* node = &node_at(op, root, call);
  for (std::size_t depth = 0; node->mode != Ensemble::Mode::leaf; ++depth) {
    if (depth > op.nodes.size()) call.invalid("a tree has a cycle");
    if (node->feature < 0 || static_cast<std::size_t>(node->feature) >= x.size()) {
      call.invalid("feature {} of {}", node->feature, x.size());
    }
    const bool taken = goes_true(*node, x[static_cast<std::size_t>(node->feature)]);
    index = taken ? node->if_true : node->if_false;
    node = &node_at(op, index, call);
  }
  return index;
}

std::span<const Ensemble::Weight> weights_of(const Ensemble& op, std::int32_t leaf) {
  const Ensemble::TreeNode* node = &op.nodes[static_cast<std::size_t>(leaf)];
  const auto first = static_cast<std::size_t>(node->first_weight), last = static_cast<std::size_t>(node->last_weight);
  if (first > last || last > op.leaf_weights.size())
    fail(ErrorCode::invalid_input, "a leaf's weights lie outside the tree ensemble");
  return std::span(op.leaf_weights).subspan(first, last - first);
}

bool sums(const Ensemble& op) {
  return op.aggregate == Ensemble::Aggregate::sum || op.aggregate == Ensemble::Aggregate::average;
}

std::span<double> scores_in(const Ensemble& op, std::span<double> room) {
  return room.first(static_cast<std::size_t>(op.target_count));
}

void complete(const Ensemble& op, std::span<double> scores) {
  for (std::size_t t = 0; t < scores.size(); ++t) {
    if (std::isnan(scores[t]) && !sums(op)) scores[t] = 0;
    if (op.aggregate == Ensemble::Aggregate::average) scores[t] /= static_cast<double>(op.roots.size());
    if (!op.base_values.empty()) scores[t] += op.base_values[op.base_values.size() == 1 ? 0 : t];
  }
}

double logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

/// ONNX's approximation of the inverse error function, and the probit that rests on it.
double inverse_erf(double x) {
  const double product = (1 - x) * (1 + x);
  if (product == 0) return 0;
  const double log = std::log(product);
  const double v = 2 / (std::numbers::pi * 0.147) + 0.5 * log;
  return std::copysign(std::sqrt(-v + std::sqrt(v * v - log / 0.147)), x);
}
double probit(double x) { return std::numbers::sqrt2 * inverse_erf(2 * x - 1); }

void softmax(std::span<double> scores, bool keep_zeros) {
  const double peak = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    const bool zero = keep_zeros && std::abs(score) <= 1e-7;
    score = zero ? score * std::exp(-peak) : std::exp(score - peak);
    sum += score;
  }
  for (double& score : scores) score = sum == 0 ? 0.5 : score / sum;
}

void transform(Ensemble::Post post, std::span<double> scores) {
  switch (post) {
    case Ensemble::Post::none: return;
    case Ensemble::Post::softmax: return softmax(scores, false);
    case Ensemble::Post::softmax_zero: return softmax(scores, true);
    case Ensemble::Post::logistic: std::transform(scores.begin(), scores.end(), scores.begin(), logistic); return;
    case Ensemble::Post::probit: std::transform(scores.begin(), scores.end(), scores.begin(), probit); return;
  }
}

/// The score of the first class stands for two when the second one has no weights. Weights that are never negative add
/// up to a chance, others to a decision whose sign tells. The softmax of many scores is not taken of one.
TreeAnswer binary_answer(const Ensemble& op, bool positive, std::span<double> scores) {
  const double score = scores[0];
  const std::size_t best = score > (positive ? 0.5 : 0.0) ? 1 : 0;
  const bool logistic = op.post == Ensemble::Post::logistic, probit = op.post == Ensemble::Post::probit;
  scores[0] = (positive && !logistic) || probit ? 1 - score : -score;
  scores[1] = score;
  if (logistic || probit) transform(op.post, scores);
  return {scores, best};
}

void store_label(const Ensemble& op, std::size_t best, Tensor& labels, std::int64_t row) {
  const std::int64_t label =
      best < op.labels.size() && op.labels.size() > 1 ? op.labels[best] : static_cast<std::int64_t>(best);
  store(&label, 1, labels, row);
}

/// Samples as ONNX compares them: real numbers as they are, integers as float32.
std::vector<double> samples_of(const Tensor& x) {
  std::vector<double> values = load_all<double>(x);
  if (!is_real(x.dtype())) {
    for (double& value : values) value = static_cast<double>(static_cast<float>(value));
  }
  return values;
}

}  // namespace

bool weighs_positively(const TreeEnsemble& op) {
  return std::all_of(op.leaf_weights.begin(), op.leaf_weights.end(),
                     [](const Ensemble::Weight& weight) { return weight.value >= 0; });
}

void begin_scores(const TreeEnsemble& op, std::span<double> room) {
  const std::span<double> scores = scores_in(op, room);
  std::fill(scores.begin(), scores.end(), sums(op) ? 0 : std::nan(""));  // nan: nothing seen
}

void add_leaf(const TreeEnsemble& op, std::int32_t leaf, std::span<double> room) {
  const std::span<double> scores = scores_in(op, room);
  for (const Ensemble::Weight& weight : weights_of(op, leaf)) {
    const auto target = static_cast<std::size_t>(weight.target);
    if (target >= scores.size()) fail(ErrorCode::invalid_input, "tree target {} of {}", weight.target, scores.size());
    const double value = weight.value;
    double& score = scores[target];
    switch (op.aggregate) {
      case Ensemble::Aggregate::sum:
      case Ensemble::Aggregate::average: score += value; break;
      case Ensemble::Aggregate::min: score = std::isnan(score) ? value : std::min(score, value); break;
      case Ensemble::Aggregate::max: score = std::isnan(score) ? value : std::max(score, value); break;
    }
  }
}

TreeAnswer tree_answer(const TreeEnsemble& op, bool positive, std::span<double> room) {
  const std::span<double> scores = scores_in(op, room);
  complete(op, scores);
  if (op.classifier && op.binary_case) return binary_answer(op, positive, room.first(2));
  const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  transform(op.post, scores);
  return {scores, best};
}

Tensors apply(const TreeEnsemble& op, const Call& call) {
  const Tensor& x = call.input(0);
  const std::size_t rank = x.shape().size();
  const std::int64_t samples = rank == 1 ? 1 : x.shape()[0], features = x.shape()[rank - 1];
  const std::vector<double> values = samples_of(x);
  Tensors outputs;
  if (op.classifier) outputs.emplace_back(call.dtype(0), Shape{samples});
  const bool binary = op.classifier && op.binary_case;
  outputs.emplace_back(call.dtype(op.classifier ? 1 : 0), Shape{samples, binary ? 2 : op.target_count});
  std::vector<double> room(static_cast<std::size_t>(tree_room(op)));
  const bool positive = weighs_positively(op);
  for (std::int64_t n = 0; n < samples; ++n) {
    const auto row =
        std::span(values).subspan(static_cast<std::size_t>(n * features), static_cast<std::size_t>(features));
    begin_scores(op, room);
    for (const std::int32_t root : op.roots) add_leaf(op, leaf_of(op, root, row, call), room);
    const auto [scores, best] = tree_answer(op, positive, room);
    if (op.classifier) store_label(op, best, outputs[0], n);
    store(scores.data(), static_cast<std::int64_t>(scores.size()), outputs.back(),
          n * static_cast<std::int64_t>(scores.size()));
  }
  return outputs;
}

}  // namespace colonnade::reference
