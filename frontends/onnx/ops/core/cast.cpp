// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"
#include "reference/onnx/definitions.hpp"

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

constexpr Row kCastRows[] = {
    {kOnnxDomain, "Cast", 6, kNoLimit, 1, 1, 1, lower_cast},
    {kOnnxDomain, "CastLike", 15, kNoLimit, 2, 2, 1, lower_cast_like},
    {kOnnxDomain, "BitCast", 26, kNoLimit, 1, 1, 1, opaque<reference::kBitCast>},
};

}  // namespace

std::span<const Row> cast_rows() { return kCastRows; }

}  // namespace colonnade::onnx_import
