// SPDX-License-Identifier: Apache-2.0
// Lowerings of ONNX operators that other operators begin with. They read the node's attributes as the ONNX operator
// of that name has them.
#pragma once

#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {

/// MaxPool, AveragePool or LpPool of x [N, C, spatial...]; a second output where the node wants one.
Values pool(Lowering& low, PoolKind kind, ValueId x);
/// Gemm of inputs 0, 1 and 2.
ValueId gemm(Lowering& low);
/// GridSample of inputs 0 and 1.
ValueId sample_grid(Lowering& low);
/// LSTM, GRU or RNN of inputs x, w, r and those behind them, absent ones included.
Values recur(Lowering& low, RecurrentKind kind, Values inputs);
/// Pad's attribute 'mode'.
PadMode pad_mode(const Lowering& low);
/// The attribute: how many heads. Throws Error{invalid_model} for none and for absurdly many.
std::int64_t read_heads(const Lowering& low, std::string_view name);

/// x [N, sequence, heads * size] as [N, sequence, heads, size].
ValueId with_heads(Lowering& low, ValueId x, std::int64_t heads);
/// A dimension as a vector of one element, and as a scalar.
ValueId dim_of(Lowering& low, ValueId x, std::int64_t axis);
ValueId length_of(Lowering& low, ValueId x, std::int64_t axis);
/// 0, 1, ... along an axis.
ValueId positions(Lowering& low, ValueId x, std::int64_t axis);

/// LinearAttention of all inputs. Where there are more heads of keys than of queries, each query meets several of them
/// if `repeats_queries`, and is refused otherwise.
Values linear_attention(Lowering& low, bool repeats_queries);

/// Rotary embeddings of x [B, N, S, H], or [B, S, N, H] with heads in axis 2: its first 2 `pairs` elements turn, pairs
/// of neighbours where interleaved, else of two halves. Angles as definition kRotate has them.
struct Turn {
  std::int64_t pairs, heads_axis;
  bool interleaved;
};
ValueId turn_heads(Lowering& low, const Values& x_and_angles, const Turn& turn);

}  // namespace colonnade::onnx_import
