// SPDX-License-Identifier: Apache-2.0
// com.microsoft: attention by a state that tokens change, and the gates in front of it.
#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_linear_attention(Lowering& low) {
  if (low.int_or("state_window", 0) != 0) low.unsupported("state_window is not supported");
  return linear_attention(low, true);
}

/// decay_scale * softplus(a + dt_bias), and sigmoid(b), in float32.
Values lower_linear_attention_gate(Lowering& low) {
  const auto wide = [&](std::size_t input) { return cast(low, low.input(input), DType::f32); };
  const DType dtype = low.dtype(low.input(0));
  const ValueId soft = unary(low, UnaryKind::softplus, add(low, wide(0), wide(1)));
  Values outputs = {cast(low, binary(low, BinaryKind::mul, soft, wide(2)), dtype)};
  if (low.wants_output(1)) {
    if (low.optional_input(3) == kAbsent) low.invalid("output 1 is of input 3, which is absent");
    outputs.push_back(cast(low, unary(low, UnaryKind::sigmoid, wide(3)), dtype));
  }
  return outputs;
}

constexpr Row kRecurrenceRows[] = {
    microsoft_row("LinearAttention", 3, 6, 2, lower_linear_attention),
    microsoft_row("LinearAttentionGate", 3, 4, 2, lower_linear_attention_gate),
};

}  // namespace

std::span<const Row> microsoft_recurrence_rows() { return kRecurrenceRows; }

}  // namespace colonnade::onnx_import
