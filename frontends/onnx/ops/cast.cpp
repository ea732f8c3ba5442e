// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "frontends/onnx/lowering.hpp"
#include "frontends/onnx/opaque/definitions.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"

namespace colonnade::onnx_import {
namespace {

PowerRounding power_rounding(const Lowering& low) {
  const std::string mode = low.string_or("round_mode", "up");
  if (mode == "up") return PowerRounding::up;
  if (mode == "down") return PowerRounding::down;
  if (mode == "nearest") return PowerRounding::nearest;
  low.invalid("attribute 'round_mode': '{}' does not exist", printable(mode));
}

Values cast_to(Lowering& low, DType to) {
  return {low.emit(Cast{to, low.flag("saturate", true), power_rounding(low)}, {low.input(0)})};
}

DType target_of(const Lowering& low) {
  return dtype_of(low.required_int("to"), low.node().label() + ": attribute 'to'");
}

Values lower_cast(Lowering& low) { return cast_to(low, target_of(low)); }

Values lower_cast_like(Lowering& low) { return cast_to(low, low.dtype(low.input(1))); }

DType reinterpreted(const Opaque& op, DType from) {
  const DType to = dtype_of(op.int_of("to"), "attribute 'to'");
  if (from != DType::undefined && (bits_of(from) != bits_of(to) || bits_of(from) == 0)) {
    fail(ErrorCode::invalid_model, "expected a type of as many bits as {}, found {}", name_of(from), name_of(to));
  }
  return to;
}

Types infer_bit_cast(const Opaque& op, const RuleContext& context) {
  context.inputs(1, 1);
  return {{reinterpreted(op, context.dtype(0)), context.shape(0)}};
}

reference::Data evaluate_bit_cast(const Opaque&, const reference::Call& call) {
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

constexpr Definition kBitCast{"BitCast", infer_bit_cast, evaluate_bit_cast};

constexpr Row kRows[] = {
    {kOnnxDomain, "Cast", 6, kNoLimit, 1, 1, 1, lower_cast},
    {kOnnxDomain, "CastLike", 15, kNoLimit, 2, 2, 1, lower_cast_like},
    {kOnnxDomain, "BitCast", 26, kNoLimit, 1, 1, 1, opaque<kBitCast>},
};

}  // namespace

std::span<const Row> cast_rows() { return kRows; }
std::span<const Definition* const> cast_definitions() {
  static constexpr const Definition* kAll[] = {&kBitCast};
  return kAll;
}

}  // namespace colonnade::onnx_import
