// SPDX-License-Identifier: Apache-2.0
// Optimisers of ai.onnx.preview.training: inputs rate, update count, then the tensors, their gradients and their
// states, each as many as the others; outputs the new tensors, then the new states.
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";

ValueId add(Lowering& low, ValueId a, ValueId b) { return binary(low, BinaryKind::add, a, b); }
ValueId sub(Lowering& low, ValueId a, ValueId b) { return binary(low, BinaryKind::sub, a, b); }
ValueId mul(Lowering& low, ValueId a, ValueId b) { return binary(low, BinaryKind::mul, a, b); }
ValueId mul(Lowering& low, ValueId a, double b) { return binary_scalar(low, BinaryKind::mul, a, b); }
ValueId div(Lowering& low, ValueId a, ValueId b) { return binary(low, BinaryKind::div, a, b); }

/// One tensor that is trained, with what belongs to it.
struct Trained {
  ValueId x, gradient, state, second_state;
};

/// The tensors of the node; `lists` counts those of equal length that follow rate and count.
std::vector<Trained> trained(Lowering& low, std::size_t lists) {
  const std::size_t given = low.input_count() - 2;
  if (given == 0 || given % lists != 0) low.invalid("expected {} inputs a tensor, found {}", lists, given);
  const std::size_t count = given / lists;
  if (low.output_count() != count * (lists - 1)) {
    low.invalid("expected {} outputs, found {}", count * (lists - 1), low.output_count());
  }
  std::vector<Trained> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const auto of_list = [&](std::size_t list) { return low.input(2 + list * count + i); };
    tensors.push_back({of_list(0), of_list(1), of_list(2), lists > 3 ? of_list(3) : kAbsent});
  }
  return tensors;
}

/// The gradient of the loss and of a penalty on the tensor's size.
ValueId regularised(Lowering& low, const Trained& tensor) {
  const float norm = low.float_or("norm_coefficient", 0);
  return norm == 0 ? tensor.gradient : add(low, mul(low, tensor.x, static_cast<double>(norm)), tensor.gradient);
}

ValueId rate_as(Lowering& low, ValueId rate, const Trained& tensor) { return cast(low, rate, low.dtype(tensor.x)); }

/// step / (sqrt(square) + epsilon)
ValueId scaled_step(Lowering& low, ValueId step, ValueId square) {
  const double epsilon = static_cast<double>(low.float_or("epsilon", 1e-6f));
  return div(low, step, binary_scalar(low, BinaryKind::add, unary(low, UnaryKind::sqrt, square), epsilon));
}

Values in_lists(std::initializer_list<Values> lists) {
  Values outputs;
  for (const Values& list : lists) outputs.insert(outputs.end(), list.begin(), list.end());
  return outputs;
}

Values lower_adagrad(Lowering& low) {
  const ValueId rate = low.input(0);
  const ValueId decay =
      mul(low, cast(low, low.input(1), low.dtype(rate)), static_cast<double>(low.float_or("decay_factor", 0)));
  const ValueId decayed = div(low, rate, binary_scalar(low, BinaryKind::add, decay, 1.0));
  Values xs, squares;
  for (const Trained& tensor : trained(low, 3)) {
    const ValueId gradient = regularised(low, tensor);
    squares.push_back(add(low, tensor.state, unary(low, UnaryKind::square, gradient)));
    const ValueId step = mul(low, rate_as(low, decayed, tensor), gradient);
    xs.push_back(sub(low, tensor.x, scaled_step(low, step, squares.back())));
  }
  return in_lists({xs, squares});
}

/// 1 - base ^ count
ValueId remaining(Lowering& low, double base, ValueId count) {
  return binary(low, BinaryKind::sub, scalar(low, DType::f64, 1.0),
                binary(low, BinaryKind::pow, scalar(low, DType::f64, base), count));
}

/// factor * old + (1 - factor) * now
ValueId averaged(Lowering& low, double factor, ValueId old, ValueId now) {
  return add(low, mul(low, old, factor), mul(low, now, 1 - factor));
}

Values lower_adam(Lowering& low) {
  const double alpha = static_cast<double>(low.float_or("alpha", 0.9f));
  const double beta = static_cast<double>(low.float_or("beta", 0.999f));
  const float shrink = low.float_or("norm_coefficient_post", 0);
  const ValueId count = cast(low, low.input(1), DType::f64), rate = cast(low, low.input(0), DType::f64);
  const ValueId corrected =
      div(low, mul(low, rate, unary(low, UnaryKind::sqrt, remaining(low, beta, count))), remaining(low, alpha, count));
  const ValueId adjusted = select(low, binary_scalar(low, BinaryKind::greater, count, 0.0), corrected, rate);
  Values xs, means, squares;
  for (const Trained& tensor : trained(low, 4)) {
    const ValueId gradient = regularised(low, tensor);
    means.push_back(averaged(low, alpha, tensor.state, gradient));
    squares.push_back(averaged(low, beta, tensor.second_state, unary(low, UnaryKind::square, gradient)));
    const ValueId step = mul(low, rate_as(low, adjusted, tensor), means.back());
    const ValueId moved = sub(low, tensor.x, scaled_step(low, step, squares.back()));
    xs.push_back(shrink == 0 ? moved : mul(low, moved, 1 - static_cast<double>(shrink)));
  }
  return in_lists({xs, means, squares});
}

double required_float(const Lowering& low, std::string_view name) {
  if (!low.has_attribute(name)) low.invalid("attribute '{}' is required", name);
  return static_cast<double>(low.float_or(name, 0));
}

Values lower_momentum(Lowering& low) {
  const double alpha = required_float(low, "alpha"), beta = required_float(low, "beta");
  const std::string mode = low.required_string("mode");
  if (mode != "standard" && mode != "nesterov") low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
  const ValueId later = binary_scalar(low, BinaryKind::greater, low.input(1), 0.0);
  Values xs, states;
  for (const Trained& tensor : trained(low, 3)) {
    const ValueId gradient = regularised(low, tensor);
    const DType dtype = low.dtype(tensor.x);
    const ValueId weight = select(low, later, scalar(low, dtype, beta), scalar(low, dtype, 1));
    states.push_back(add(low, mul(low, tensor.state, alpha), mul(low, gradient, weight)));
    const ValueId step = mode == "standard" ? states.back() : add(low, gradient, mul(low, states.back(), alpha));
    xs.push_back(sub(low, tensor.x, mul(low, rate_as(low, low.input(0), tensor), step)));
  }
  return in_lists({xs, states});
}

constexpr Row kTrainingRows[] = {
    {kTrainingDomain, "Adagrad", 1, kNoLimit, 3, kNoLimit, kNoLimit, lower_adagrad},
    {kTrainingDomain, "Adam", 1, kNoLimit, 3, kNoLimit, kNoLimit, lower_adam},
    {kTrainingDomain, "Momentum", 1, kNoLimit, 3, kNoLimit, kNoLimit, lower_momentum},
};

}  // namespace

std::span<const Row> training_rows() { return kTrainingRows; }

}  // namespace colonnade::onnx_import
