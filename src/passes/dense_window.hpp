// SPDX-License-Identifier: Apache-2.0
// A transposed convolution as a dense one whose channels are the stride x stride outputs of a block, which
// DepthToSpace moves to their places (Shi et al., "Is the deconvolution layer the same as a convolutional layer?",
// 2016).
#pragma once

#include <optional>

#include "graph/graph.hpp"

namespace colonnade::rewrite {

/// One axis: a block of outputs reads inputs first ... first + taps - 1 from the block's own position on.
struct DenseAxis {
  std::int64_t kernel = 1, stride = 1, pad = 0, first = 0, taps = 1, pad_end = 0;

  /// The kernel element that output `phase` of a block multiplies input tap `tap` by; outside [0, kernel): none.
  std::int64_t element(std::int64_t phase, std::int64_t tap) const { return phase + pad - (first + tap) * stride; }
};

struct DenseWindow {
  DenseAxis y, x;
  std::int64_t block() const { return y.stride * x.stride; }  ///< outputs that become channels
};

/// Nothing where strides or groups differ, blocks do not cover the output evenly or would begin inside the input, or a
/// residual is added.
std::optional<DenseWindow> dense_window(const ConvTranspose& op);
/// The convolution, with the epilogue of `op`, and what moves its channels.
Conv dense_conv(const ConvTranspose& op, const DenseWindow& window);
DepthToSpace dense_shuffle(const DenseWindow& window);
/// Weights [channels, outputs, kernel...] of any type as [block * outputs, channels, taps...], zeros where a tap has no
/// weight.
Tensor dense_weight(const Tensor& weight, const DenseWindow& window);
/// The values of a vector `times` times, one after another.
Tensor repeated(const Tensor& values, std::int64_t times);

}  // namespace colonnade::rewrite
