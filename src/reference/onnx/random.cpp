// SPDX-License-Identifier: Apache-2.0
// Random numbers: RandomNormal, RandomUniform, the ones like an input, Bernoulli, Multinomial, Dropout that trains. A
// seed makes each evaluation of a node give the same numbers: those of NumPy's RandomState, as ONNX's reference does.
#include <algorithm>
#include <cmath>
#include <random>

#include "base/checked.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/attributes.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

class Source {
 public:
  /// `seed` is an attribute: a float, or an integer for Dropout.
  explicit Source(const Opaque& op) : generator_(seed_of(op)) {}

  /// In [0, 1), 53 bits.
  double uniform() {
    const auto high = static_cast<double>(generator_() >> 5), low = static_cast<double>(generator_() >> 6);
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }

  /// By the polar method; what it makes in pairs is kept.
  double normal() {
    if (has_kept_) {
      has_kept_ = false;
      return kept_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    kept_ = factor * x;
    has_kept_ = true;
    return factor * y;
  }

 private:
  static std::mt19937::result_type seed_of(const Opaque& op) {
    if (!op.has("seed")) return std::random_device{}();
    const bool whole = std::holds_alternative<std::int64_t>(op.attributes.find("seed")->second);
    if (whole) return static_cast<std::mt19937::result_type>(op.int_of("seed"));
    const double seed = std::abs(static_cast<double>(op.float_or("seed", 0)));
    return seed < 4294967296.0 ? static_cast<std::mt19937::result_type>(seed) : 0;
  }

  std::mt19937 generator_;
  bool has_kept_ = false;
  double kept_ = 0;
};

/// The seed has a type that one may have.
void check_seed(const Opaque& op) {
  if (!op.has("seed")) return;
  const Attribute& seed = op.attributes.find("seed")->second;
  if (std::holds_alternative<std::int64_t>(seed)) return;
  op.float_or("seed", 0);
}

/// The type that `dtype` names, else the fallback.
DType real_dtype_or(const Opaque& op, DType fallback) {
  const DType dtype = dtype_or(op, "dtype", fallback);
  if (dtype == DType::undefined || is_float(dtype)) return dtype;
  fail(ErrorCode::invalid_model, "expected a float type, found {}", name_of(dtype));
}

template <class Draw>
Data drawn(const Opaque& op, const Call& call, Draw&& draw) {
  Source source(op);
  std::vector<double> values(static_cast<std::size_t>(element_count(call.shape())));
  for (double& value : values) value = draw(source);
  return {tensor_of(call.dtype(), call.shape(), values)};
}

// RandomNormal, RandomUniform: a shape, or an input whose shape they take.

void check_distribution(const Opaque& op) {
  for (const auto* name : {"mean", "scale", "low", "high"}) op.float_or(name, 0);
  check_seed(op);
}

Types infer_shaped(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(0, 0);
  check_distribution(op);
  if (!op.has("shape")) ctx.fail("attribute 'shape' is missing");
  const Ints shape = op.ints_or("shape");
  for (const std::int64_t dim : shape) {
    if (dim < 0 || dim > kMaxDim) ctx.fail("attribute 'shape' holds {}", dim);
  }
  return {{real_dtype_or(op, DType::f32), shape}};
}

Types infer_like(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  check_distribution(op);
  const bool known = op.has("dtype") || is_float(ctx.dtype(0));
  return {{known ? real_dtype_or(op, ctx.dtype(0)) : DType::f32, ctx.shape(0)}};
}

Data evaluate_normal(const Opaque& op, const Call& call) {
  const auto mean = static_cast<double>(op.float_or("mean", 0)), scale = static_cast<double>(op.float_or("scale", 1));
  return drawn(op, call, [&](Source& source) { return mean + scale * source.normal(); });
}

Data evaluate_uniform(const Opaque& op, const Call& call) {
  const auto low = static_cast<double>(op.float_or("low", 0)), high = static_cast<double>(op.float_or("high", 1));
  return drawn(op, call, [&](Source& source) { return low + (high - low) * source.uniform(); });
}

// Bernoulli

Types infer_bernoulli(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  check_seed(op);
  const DType dtype = dtype_or(op, "dtype", ctx.dtype(0));
  if (dtype == DType::string) ctx.fail("attribute 'dtype': a draw is no string");
  return {{dtype, ctx.shape(0)}};
}

Data evaluate_bernoulli(const Opaque& op, const Call& call) {
  const std::vector<double> chances = load_all<double>(call.input(0));
  for (const double chance : chances) {
    if (!(chance >= 0 && chance <= 1)) call.invalid("a chance is {}, expected 0 to 1", chance);
  }
  std::size_t next = 0;
  return drawn(op, call, [&](Source& source) { return source.uniform() < chances[next++] ? 1.0 : 0.0; });
}

// Multinomial: x [batch, classes], logarithms of what is proportional to the chances.

Types infer_multinomial(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank(0, 2);
  check_seed(op);
  const std::int64_t samples = op.int_or("sample_size", 1);
  if (samples < 1 || samples > kMaxDim) ctx.fail("attribute 'sample_size': {} is out of range", samples);
  const DType dtype = dtype_or(op, "dtype", DType::i32);
  if (dtype != DType::i32 && dtype != DType::i64) ctx.fail("expected int32 or int64 draws, found {}", name_of(dtype));
  return {{dtype, Shape{ctx.shape(0) ? ctx.shape(0)->front() : kUnknownDim, samples}}};
}

Data evaluate_multinomial(const Opaque& op, const Call& call) {
  const std::vector<double> logs = load_all<double>(call.input(0));
  const auto classes = static_cast<std::size_t>(call.input(0).shape()[1]);
  const Shape& shape = call.shape();
  if (classes == 0 && element_count(shape) > 0) call.invalid("there are no classes to draw from");
  Source source(op);
  std::vector<double> sums(classes);
  Ints draws;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const double* x = logs.data() + static_cast<std::size_t>(row) * classes;
    const double peak = *std::max_element(x, x + classes);
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sums[i] = sum += std::exp(x[i] - peak);
    if (!std::isfinite(sum)) call.invalid("the chances of row {} are not numbers", row);
    for (std::int64_t i = 0; i < shape[1]; ++i) {
      const auto found = std::upper_bound(sums.begin(), sums.end(), source.uniform() * sum);
      draws.push_back(std::min<std::int64_t>(found - sums.begin(), static_cast<std::int64_t>(classes) - 1));
    }
  }
  return {tensor_of(call.dtype(), shape, draws)};
}

// Dropout: inputs x, ratio or absent, training mode or absent; outputs y and what was kept.

Types infer_dropout(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 3);
  ctx.dtype_is(2, DType::boolean);
  check_seed(op);
  const auto ratio = ctx.floats(1);
  if (ratio && ratio->size() == 1 && !(ratio->front() >= 0 && ratio->front() < 1)) {
    ctx.fail("the ratio is {}, expected 0 to less than 1", ratio->front());
  }
  return {ctx.type(0), {DType::boolean, ctx.shape(0)}};
}

/// The one element of an input, or the fallback where it is not given.
Data evaluate_dropout(const Opaque& op, const Call& call) {
  std::vector<double> x = load_all<double>(call.input(0)), kept(x.size(), 1);
  const double ratio = call.number_or(1, 0.5);
  if (!(ratio >= 0 && ratio < 1)) call.invalid("the ratio is {}, expected 0 to less than 1", ratio);
  if (call.number_or(2, 0) != 0 && ratio > 0) {
    Source source(op);
    for (std::size_t i = 0; i < x.size(); ++i) {
      kept[i] = source.uniform() >= ratio ? 1 : 0;
      x[i] *= kept[i] / (1 - ratio);
    }
  }
  const Shape& shape = call.input(0).shape();
  return {tensor_of(call.dtype(), shape, x), tensor_of(DType::boolean, shape, kept)};
}

}  // namespace

constexpr Definition kDropout{"Dropout", infer_dropout, evaluate_dropout, true};
constexpr Definition kRandomNormal{"RandomNormal", infer_shaped, evaluate_normal, true};
constexpr Definition kRandomNormalLike{"RandomNormalLike", infer_like, evaluate_normal, true};
constexpr Definition kRandomUniform{"RandomUniform", infer_shaped, evaluate_uniform, true};
constexpr Definition kRandomUniformLike{"RandomUniformLike", infer_like, evaluate_uniform, true};
constexpr Definition kBernoulli{"Bernoulli", infer_bernoulli, evaluate_bernoulli, true};
constexpr Definition kMultinomial{"Multinomial", infer_multinomial, evaluate_multinomial, true};

}  // namespace colonnade::reference
