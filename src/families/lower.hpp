// SPDX-License-Identifier: Apache-2.0
// What a family has at hand when it lowers a node to a RowOp.
#pragma once

#include <functional>
#include <memory>

#include "families/family.hpp"
#include "families/row_op.hpp"
#include "families/weights.hpp"
#include "kernels/base/unary.hpp"

namespace colonnade {

/// What a node does with a chunk of channels: cuts its output, works channel by channel, or accumulates over its input.
enum class ChunkRole : std::uint8_t { none, output, both, input };

/// How a node is cut into chunks.
struct ChunkInfo {
  ChunkRole role = ChunkRole::none;
  std::int64_t channels = 0;
  std::int64_t chunk_channels = 0;

  std::int64_t begin(std::int64_t chunk) const { return chunk * chunk_channels; }
  std::int64_t size(std::int64_t chunk) const { return std::min(chunk_channels, channels - begin(chunk)); }
  bool is_last(std::int64_t chunk) const { return begin(chunk) + chunk_channels >= channels; }
};

/// A node to be lowered to a RowOp.
struct LowerContext : Chosen {
  ChunkInfo chunks;
  kernels::Features features;
  WeightStore& weights;
  std::vector<std::shared_ptr<const void>>& owned;  ///< keeps what the RowOp points into
  std::int64_t& weights_bytes;
  std::vector<Island>& islands;
  std::vector<bool>&
      taken;  ///< by input: a constant that the RowOp holds in its own form, so that its view is not read

  /// Floats of a constant input, kept alive; null when absent.
  const float* floats(std::size_t index) const;
  /// Packed weights of a constant input, shared between plans.
  const float* packed(std::size_t index, const std::string& format,
                      const std::function<AlignedBuffer(const Constant&)>& pack) const;
  /// For formats that need all elements at once.
  const float* packed(std::size_t index, const std::string& format,
                      const std::function<AlignedBuffer(const Tensor&)>& pack) const;
};

kernels::UnaryOp unary_op(const Unary& unary, const float* slope = nullptr);

/// The epilogue's kernel form and the input that holds the residual (kAbsent: none).
struct LoweredEpilogue {
  kernels::Epilogue epilogue;
  ValueId residual = kAbsent;
};
LoweredEpilogue lower_epilogue(const LowerContext& context, const FusedEpilogue& epilogue, std::size_t first_input);

}  // namespace colonnade
