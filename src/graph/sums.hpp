// SPDX-License-Identifier: Apache-2.0
// The core operators that sum over channels, or over windows that slide along spatial axes; operators.hpp lists all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque.hpp"

namespace colonnade {

/// Channels-last convolution over any number of spatial axes. inputs x [N, spatial..., C], weight [O, C / groups,
/// kernel...], bias [O] or absent, then the epilogue's. pads: begins, then ends. Explicit pads only (auto_pad is
/// resolved by `auto_pad` when the shape is known). exact: sums of products and no transforms, so that
/// sums of integers are integers.
enum class AutoPad : std::uint8_t { explicit_pads, same_upper, same_lower, valid };
struct Conv {
  Ints kernel, strides, dilations, pads;
  std::int64_t groups = 1;
  AutoPad auto_pad = AutoPad::explicit_pads;
  bool exact = false;
  FusedEpilogue epilogue;
  bool operator==(const Conv&) const = default;
};

/// Channels-last transposed convolution; weight [C, O / groups, kernel...]. output_shape (spatial) may be empty.
struct ConvTranspose {
  Ints kernel, strides, dilations, pads, output_padding, output_shape;
  std::int64_t groups = 1;
  AutoPad auto_pad = AutoPad::explicit_pads;
  FusedEpilogue epilogue;
  bool operator==(const ConvTranspose&) const = default;
};

/// inputs a, b (batched, ONNX MatMul broadcasting), bias [columns] or absent, then the epilogue's. The last two axes of
/// a or b are swapped first where asked. `heads_inside_*`: rows lie around the last axis of the batch, as those of
/// attention do: a and b are [.., rows, heads, columns] before all that, the result is made so.
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;
  FusedEpilogue epilogue;
  bool heads_inside_a = false;
  bool heads_inside_b = false;
  bool heads_inside_out = false;
  bool operator==(const MatMul&) const = default;
};

/// What a row of attention gives whose shares are no numbers: that, zeros, or zeros where its keys are all barred
/// (-inf).
enum class WithoutShares : std::uint8_t { nan, zero, zero_where_barred };

/// softmax(scale * q k' + addends) v, or with a cap softmax(cap * tanh(scale * q k' / cap) + addends) v, in ONNX
/// MatMul's broadcasting. inputs q [.., rows, size], k [.., keys, size], v [.., keys, columns], then up to two addends
/// that broadcast to the scores [.., rows, keys]: masks and biases. `heads_inside_*` as MatMul's.
struct Attention {
  float scale = 1;
  bool heads_inside_q = false;
  bool heads_inside_k = false;
  bool heads_inside_v = false;
  bool heads_inside_out = false;
  WithoutShares without_shares = WithoutShares::nan;
  float cap = 0;  ///< 0: none
  bool operator==(const Attention&) const = default;
};
inline constexpr std::size_t kAddendInput = 3, kMostAddends = 2;

/// Channels-last pooling: x [N, spatial..., C]. lp uses `p`. A second output, where asked for, holds max's indices in
/// ONNX's (channels-first) numbering; it is evaluated by the reference.
enum class PoolKind : std::uint8_t { max, average, lp };
struct Pool {
  PoolKind kind = PoolKind::max;
  Ints kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::explicit_pads;
  bool ceil_mode = false;
  bool count_include_pad = false;
  std::int64_t p = 2;
  bool operator==(const Pool&) const = default;
};

}  // namespace colonnade
