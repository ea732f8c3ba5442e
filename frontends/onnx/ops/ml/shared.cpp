// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/ops/ml/shared.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace colonnade::onnx_import {

std::vector<float> required_floats(const Lowering& low, std::string_view name) {
  auto values = floats_or_none(low, name);
  if (values.empty()) low.invalid("attribute '{}' is required", name);
  return values;
}

std::vector<float> floats_or_none(const Lowering& low, std::string_view name) {
  return find_floats(low.node(), name).value_or(std::vector<float>());
}

ValueId numbers(Lowering& low, std::size_t index) {
  const ValueId x = low.input(index);
  if (low.dtype(x) == DType::string) low.invalid("input {}: expected numbers, found text", index);
  return x;
}

ValueId float_samples(Lowering& low) {
  const ValueId x = cast(low, numbers(low, 0), DType::f32);
  const std::int64_t rank = low.rank(x);
  if (rank != 1 && rank != 2) low.invalid("expected samples of rank 1 or 2, found rank {}", rank);
  return rank == 1 ? unsqueeze(low, x, {0}) : x;
}

namespace {

/// Softmax over what is not zero; zeros stay.
ValueId softmax_of_nonzero(Lowering& low, ValueId scores) {
  const ValueId counts = binary_scalar(low, BinaryKind::greater, unary(low, UnaryKind::abs, scores), 1e-7);
  const ValueId peak = reduce(low, ReduceKind::max, scores, {-1});
  const ValueId raised = unary(low, UnaryKind::exp, binary(low, BinaryKind::sub, scores, peak));
  const ValueId kept = select(low, counts, raised, scalar(low, DType::f32, 0));
  const ValueId sum = reduce(low, ReduceKind::sum, kept, {-1});
  return binary(low, BinaryKind::div, kept, binary_scalar(low, BinaryKind::max, sum, 1e-30));
}

/// The probit by ONNX's approximation of the inverse error function.
ValueId probit(Lowering& low, ValueId scores) {
  constexpr double kFactor = 0.147;
  const ValueId x = binary_scalar(low, BinaryKind::sub, binary_scalar(low, BinaryKind::mul, scores, 2.0), 1.0);
  const ValueId square = unary(low, UnaryKind::square, x);
  const ValueId log = unary(low, UnaryKind::log, binary(low, BinaryKind::sub, scalar(low, DType::f32, 1.0), square));
  const ValueId v = binary_scalar(low, BinaryKind::add, binary_scalar(low, BinaryKind::mul, log, 0.5),
                                  2 / (std::numbers::pi * kFactor));
  const ValueId inner =
      binary(low, BinaryKind::sub, unary(low, UnaryKind::square, v), binary_scalar(low, BinaryKind::div, log, kFactor));
  const ValueId size = unary(low, UnaryKind::sqrt, binary(low, BinaryKind::sub, unary(low, UnaryKind::sqrt, inner), v));
  return binary_scalar(low, BinaryKind::mul, binary(low, BinaryKind::mul, unary(low, UnaryKind::sign, x), size),
                       std::numbers::sqrt2);
}

}  // namespace

ValueId post_transformed(Lowering& low, ValueId scores) {
  const std::string post = low.string_or("post_transform", "NONE");
  if (post == "NONE") return scores;
  if (post == "LOGISTIC") return unary(low, UnaryKind::sigmoid, scores);
  if (post == "SOFTMAX") return low.emit(Softmax{.axis = -1}, {scores});
  if (post == "SOFTMAX_ZERO") return softmax_of_nonzero(low, scores);
  if (post == "PROBIT") return probit(low, scores);
  low.invalid("attribute 'post_transform': '{}' does not exist", printable(post));
}

Tensor class_labels(const Lowering& low, std::string_view integers, std::string_view strings) {
  const Ints given = find_ints(low.node(), integers).value_or(Ints());
  const auto names = find_strings(low.node(), strings).value_or(std::vector<std::string>());
  if (given.empty() == names.empty()) low.invalid("expected either integer or string class labels");
  if (names.empty()) return ints_tensor(given);
  Tensor tensor(DType::string, {static_cast<std::int64_t>(names.size())});
  tensor.strings() = names;
  return tensor;
}

ValueId label_of(Lowering& low, Tensor labels, ValueId indices) {
  return low.emit(Gather{0}, {low.constant(std::move(labels)), indices});
}

ValueId best_of(Lowering& low, ValueId scores) {
  return low.emit(ArgReduce{.max = true, .axis = 1, .keepdims = false}, {scores});
}

}  // namespace colonnade::onnx_import
