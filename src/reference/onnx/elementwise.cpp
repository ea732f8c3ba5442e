// SPDX-License-Identifier: Apache-2.0
// Elements by themselves: bits under another type, quotients that are not widened.
#include <algorithm>

#include "base/narrow.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/attributes.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

DType reinterpreted(const Opaque& op, DType from) {
  const DType to = dtype_of(op, "to");
  if (from != DType::undefined && (bits_of(from) != bits_of(to) || bits_of(from) == 0)) {
    fail(ErrorCode::invalid_model, "expected a type of as many bits as {}, found {}", name_of(from), name_of(to));
  }
  return to;
}

Types infer_bit_cast(const Opaque& op, const RuleContext& context) {
  context.inputs(1, 1);
  return {{reinterpreted(op, context.dtype(0)), context.shape(0)}};
}

Data evaluate_bit_cast(const Opaque&, const Call& call) {
  const Tensor& x = call.input(0);
  Tensor y(call.dtype(), x.shape());
  const auto* from = static_cast<const std::uint8_t*>(x.data());
  auto* to = static_cast<std::uint8_t*>(y.data());
  const bool is_byte = size_of(y.dtype()) == 1;
  const auto element = [&](std::uint8_t bits) { return element_of_bits(y.dtype(), bits); };
  if (is_byte) {
    std::transform(from, from + x.byte_size(), to, element);
  } else {
    std::copy_n(from, x.byte_size(), to);
  }
  return {std::move(y)};
}

Types infer_quotient(const Opaque&, const RuleContext& context) {
  context.inputs(2, 2);
  return {{context.same_dtype(1, 0), broadcast(context, context.shape(0), context.shape(1))}};
}

Data evaluate_quotient(const Opaque&, const Call& call) {
  const Tensor &x = call.input(0), &scale = call.input(1);
  Tensor y(call.dtype(), call.shape());
  const auto row = [&](const auto& offsets, std::int64_t count, const auto& steps) {
    for (std::int64_t i = 0; i < count; ++i) {
      double numerator = 0, denominator = 0;
      load(x, offsets[0] + i * steps[0], 1, &numerator);
      load(scale, offsets[1] + i * steps[1], 1, &denominator);
      const double quotient = numerator / denominator;
      store(&quotient, 1, y, offsets[2] + i * steps[2]);
    }
  };
  const Shape& shape = y.shape();
  for_each_row<3>(
      shape, {broadcast_strides(x.shape(), shape), broadcast_strides(scale.shape(), shape), strides_of(shape)}, row);
  return {std::move(y)};
}

}  // namespace

constexpr Definition kBitCast{"BitCast", infer_bit_cast, evaluate_bit_cast};
constexpr Definition kNarrowQuotient{"NarrowQuotient", infer_quotient, evaluate_quotient};

}  // namespace colonnade::reference
