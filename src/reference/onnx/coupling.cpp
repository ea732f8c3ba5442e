// SPDX-License-Identifier: Apache-2.0
// Chances of classes from those of pairs, by the second method of Wu, Lin and Weng (2004).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

Types infer_coupling(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  const std::int64_t classes = op.int_of("classes");
  ctx.rank(0, 2);
  ctx.dim(0, 1, classes * (classes - 1) / 2, "the pairs");
  return {{ctx.dtype(0), Shape{ctx.shape(0) ? ctx.shape(0)->front() : kUnknownDim, classes}}};
}

class Coupling {
 public:
  explicit Coupling(std::size_t classes) : n_(classes), q_(classes * classes), qp_(classes) {}

  /// `pairs`: the chance of the first class of each pair given that it is one of the two.
  void run(const double* pairs, std::span<double> chances) {
    fill(pairs);
    std::fill(chances.begin(), chances.end(), 1 / static_cast<double>(n_));
    const double tolerance = 0.005 / static_cast<double>(n_);
    for (std::size_t round = 0; round < std::max<std::size_t>(100, n_); ++round) {
      const double mean = multiply(chances);
      const auto far = [&](double value) { return std::abs(value - mean) >= tolerance; };
      if (std::none_of(qp_.begin(), qp_.end(), far)) return;
      improve(chances, mean);
    }
  }

 private:
  void fill(const double* pairs) {
    std::fill(q_.begin(), q_.end(), 0);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = i + 1; j < n_; ++j) {
        const double first = *pairs++, second = 1 - first;
        q_[i * n_ + i] += second * second;
        q_[j * n_ + j] += first * first;
        q_[i * n_ + j] = q_[j * n_ + i] = -first * second;
      }
    }
  }
  /// qp = Q p; returns p' Q p.
  double multiply(std::span<const double> p) {
    double sum = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      qp_[i] = std::inner_product(p.begin(), p.end(), q_.begin() + static_cast<std::ptrdiff_t>(i * n_), 0.0);
      sum += p[i] * qp_[i];
    }
    return sum;
  }
  void improve(std::span<double> p, double mean) {
    for (std::size_t i = 0; i < n_; ++i) {
      const double own = q_[i * n_ + i], step = (mean - qp_[i]) / own, scale = 1 / (1 + step);
      p[i] += step;
      mean = (mean + step * (step * own + 2 * qp_[i])) * scale * scale;
      for (std::size_t j = 0; j < n_; ++j) {
        qp_[j] = (qp_[j] + step * q_[i * n_ + j]) * scale;
        p[j] *= scale;
      }
    }
  }

  std::size_t n_;
  std::vector<double> q_, qp_;
};

Data evaluate_coupling(const Opaque& op, const Call& call) {
  const auto classes = static_cast<std::size_t>(op.int_of("classes"));
  const std::vector<double> pairs = load_all<double>(call.input(0));
  std::vector<double> chances(static_cast<std::size_t>(element_count(call.shape())));
  Coupling coupling(classes);
  const std::size_t per_sample = classes * (classes - 1) / 2;
  for (std::size_t sample = 0; sample < chances.size() / classes; ++sample) {
    coupling.run(pairs.data() + sample * per_sample, std::span(chances).subspan(sample * classes, classes));
  }
  return {tensor_of(call.dtype(), call.shape(), chances)};
}

}  // namespace

constexpr Definition kPairwiseCoupling{"PairwiseCoupling", infer_coupling, evaluate_coupling};

}  // namespace colonnade::reference
