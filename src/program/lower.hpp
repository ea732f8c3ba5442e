// SPDX-License-Identifier: Apache-2.0
// Lowering of one node to a RowOp, one function a family.
#pragma once

#include <memory>

#include "kernels/base/isa.hpp"
#include "kernels/base/unary.hpp"
#include "plan/plan.hpp"
#include "program/program.hpp"
#include "program/weights.hpp"

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

struct LowerContext {
  const Graph& graph;
  const Node& node;
  Family family;
  std::int64_t row_granularity;
  kernels::Encoding encoding;
  ChunkInfo chunks;
  kernels::Isa isa;
  WeightStore& weights;
  std::vector<std::shared_ptr<const void>>& owned;  ///< keeps what the RowOp points into
  std::int64_t& weights_bytes;
  std::vector<Island>& islands;
  std::vector<bool>&
      taken;  ///< by input: a constant that the RowOp holds in its own form, so that its view is not read
  const std::string& reason;  ///< why the node is an island, if it is

  const Value& input(std::size_t index) const { return graph.value(node.inputs[index]); }
  const Shape& input_shape(std::size_t index) const { return input(index).type.static_shape(); }
  const Shape& output_shape() const { return graph.value(node.outputs[0]).type.static_shape(); }
  bool has_input(std::size_t index) const { return node.input(index) != kAbsent; }
  /// Floats of a constant input, kept alive; null when absent.
  const float* constant(std::size_t index) const;
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

std::unique_ptr<RowOp> lower_conv(const LowerContext& context);
std::unique_ptr<RowOp> lower_winograd(const LowerContext& context);
std::unique_ptr<RowOp> lower_planes(const LowerContext& context);
std::unique_ptr<RowOp> lower_depthwise(const LowerContext& context);
std::unique_ptr<RowOp> lower_conv_transpose(const LowerContext& context);
std::unique_ptr<RowOp> lower_matmul(const LowerContext& context);
std::unique_ptr<RowOp> lower_pool(const LowerContext& context);
std::unique_ptr<RowOp> lower_unary(const LowerContext& context);
std::unique_ptr<RowOp> lower_binary(const LowerContext& context);
std::unique_ptr<RowOp> lower_softmax(const LowerContext& context);
std::unique_ptr<RowOp> lower_layer_norm(const LowerContext& context);
std::unique_ptr<RowOp> lower_lrn(const LowerContext& context);
std::unique_ptr<RowOp> lower_reduce_width(const LowerContext& context);
std::unique_ptr<RowOp> lower_resize(const LowerContext& context);
std::unique_ptr<RowOp> lower_to_channels_last(const LowerContext& context);
std::unique_ptr<RowOp> lower_to_channels_first(const LowerContext& context);
std::unique_ptr<RowOp> lower_concat(const LowerContext& context);
std::unique_ptr<RowOp> lower_slice(const LowerContext& context);
std::unique_ptr<RowOp> lower_gather(const LowerContext& context);
std::unique_ptr<RowOp> lower_pad(const LowerContext& context);
std::unique_ptr<RowOp> lower_depth_to_space(const LowerContext& context);
std::unique_ptr<RowOp> lower_space_to_depth(const LowerContext& context);
std::unique_ptr<RowOp> lower_reduce(const LowerContext& context);
std::unique_ptr<RowOp> lower_instance_norm(const LowerContext& context);
std::unique_ptr<RowOp> lower_swap_axes(const LowerContext& context);
std::unique_ptr<RowOp> lower_concat_outer(const LowerContext& context);
std::unique_ptr<RowOp> lower_typed(const LowerContext& context);
std::unique_ptr<RowOp> lower_product(const LowerContext& context);
std::unique_ptr<RowOp> lower_recurrent(const LowerContext& context);
std::unique_ptr<RowOp> lower_trees(const LowerContext& context);
std::unique_ptr<RowOp> lower_grid_sample(const LowerContext& context);
/// By oneDNN where it has the primitive, else by the reference; recorded in context.islands.
std::unique_ptr<RowOp> lower_island(const LowerContext& context);

}  // namespace colonnade
