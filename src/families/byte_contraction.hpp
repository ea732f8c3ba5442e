// SPDX-License-Identifier: Apache-2.0
// Sums over channels and taps of bytes with constant weights: what convolutions and matrix products of bytes share.
#pragma once

#include "families/lower.hpp"
#include "families/window.hpp"
#include "kernels/byte_product/byte_product.hpp"

namespace colonnade {

/// Weights of two bytes span one, an output's: they are packed less its tilt.
/// A group here may be several of the operator's: as many as fill a panel of outputs, their weights on its diagonal.
struct ByteContraction {
  Window window{};
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   ///< channels of a group
  std::int64_t outputs = 0;  ///< channels of a group
  bool tilts = false;
  Rescale out{};
  const kernels::byte_product::Kernel* kernel = nullptr;
  const kernels::byte_product::Kernel* split = nullptr;  ///< takes weights that it can pack instead, or null

  std::int64_t terms() const { return window.kernel_h * window.kernel_w * inputs; }
};

/// Of `groups` groups of so many channels in and out.
Match byte_contraction(const Candidate& node, const Window& window, std::int64_t groups, std::int64_t inputs,
                       std::int64_t outputs, const Rescale& out);

Effort byte_contraction_effort(const Chosen& node, const Rates& rates);
std::int64_t byte_contraction_weights_bytes(const Chosen& node);
std::int64_t byte_contraction_workspace_bytes(const Chosen& node);
ChunkRule byte_contraction_chunks(const Chosen& node);

/// `weight(group, input, output, tap)` is the form's.
using ByteWeight = std::function<int(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>;
inline int byte_weight(const Tensor& weight, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return weight.dtype() == DType::i8 ? weight.values<std::int8_t>()[at] : weight.values<std::int16_t>()[at];
}
/// What packed weights depend on beside the weights.
std::string packing_name(const ByteContraction& form);
WeightMemory pack_bytes(const ByteContraction& form, const ByteWeight& weight, WeightRoom& room);

/// Of weights that pack_bytes made.
std::unique_ptr<RowOp> lower_byte_contraction(const LowerContext& context, const float* weights);

}  // namespace colonnade
