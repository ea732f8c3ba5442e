// SPDX-License-Identifier: Apache-2.0
// Weights as integers, and what that moves.
#pragma once

#include <span>
#include <vector>

#include "choose.hpp"

namespace colonnade::quantize {

/// i8 of the weights' shape, from -127 to 127; element i stands for values[i] * scales[its output channel].
struct ByteWeights {
  Tensor values;
  std::vector<float> scales;  ///< one for each index of `axis`, or one in all where axis is -1
  int axis = 0;
};
/// Each output channel by its largest magnitude; no scale is less than `least` says for its channel (empty: 0).
/// Transposed convolutions of several groups have one scale, since their axis of outputs is shared by the groups.
ByteWeights bytes_of_weights(const Tensor& weights, const Product& product, std::span<const float> least);
/// What the bytes stand for.
Tensor floats_of(const ByteWeights& weights);

/// By output channel: what the mean output lacks when `after` are the weights instead of `before`, given the mean of
/// every input channel. Borders, where fewer taps count, are taken for the inside. Empty for transposed convolutions,
/// whose outputs get shares of the taps.
std::vector<double> missing_means(const Tensor& before, const Tensor& after, const Product& product,
                                  std::span<const double> input_means);

/// Weights [K, N] as com.microsoft's MatMulNBits takes them: blocks of 32 rows of a column, each of 16 bytes and a
/// scale; a nibble q stands for (q - 8) * scale.
struct NibbleWeights {
  static constexpr std::int64_t kBlock = 32;
  Tensor packed;  ///< u8 [N, blocks, 16], the first element in the low bits
  Tensor scales;  ///< f32 [N * blocks]
};
NibbleWeights nibbles_of(const Tensor& weights);
Tensor floats_of(const NibbleWeights& weights, std::int64_t rows);

/// dB of `exact` over its difference to `other`; infinity where there is none.
double sqnr(std::span<const float> exact, std::span<const float> other);
double sqnr(double signal, double noise);

}  // namespace colonnade::quantize
