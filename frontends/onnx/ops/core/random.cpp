// SPDX-License-Identifier: Apache-2.0
// Random numbers, and Dropout, which is random where it may train.
#include "frontends/onnx/lowering.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

bool may_train(const Lowering& low) {
  const ValueId mode = low.optional_input(2);
  if (mode == kAbsent) return false;
  const auto constant = low.constant_of(mode);
  return !constant || constant->dtype() != DType::boolean || constant->size() != 1 ||
         constant->tensor()->values<std::uint8_t>()[0] != 0;
}

Values lower_dropout(Lowering& low) {
  if (may_train(low)) return lower_opaque(low, reference::kDropout);
  const ValueId x = low.input(0);
  Values outputs = {unary(low, UnaryKind::identity, x)};
  if (low.wants_output(1)) {
    const ValueId one = scalar(low, low.opset() < 10 ? low.dtype(x) : DType::boolean, 1);
    outputs.push_back(low.emit(Fill{}, {shape_of(low, x), one}));
  }
  return outputs;
}

constexpr Row kRandomRows[] = {
    {kOnnxDomain, "RandomNormal", 1, kNoLimit, 0, 0, 1, opaque<reference::kRandomNormal>},
    {kOnnxDomain, "RandomNormalLike", 1, kNoLimit, 1, 1, 1, opaque<reference::kRandomNormalLike>},
    {kOnnxDomain, "RandomUniform", 1, kNoLimit, 0, 0, 1, opaque<reference::kRandomUniform>},
    {kOnnxDomain, "RandomUniformLike", 1, kNoLimit, 1, 1, 1, opaque<reference::kRandomUniformLike>},
    {kOnnxDomain, "Bernoulli", 15, kNoLimit, 1, 1, 1, opaque<reference::kBernoulli>},
    {kOnnxDomain, "Multinomial", 7, kNoLimit, 1, 1, 1, opaque<reference::kMultinomial>},
    {kOnnxDomain, "Dropout", 1, 11, 1, 1, 2, lower_dropout},
    {kOnnxDomain, "Dropout", 12, kNoLimit, 1, 3, 2, lower_dropout},
};

}  // namespace

std::span<const Row> random_rows() { return kRandomRows; }

}  // namespace colonnade::onnx_import
