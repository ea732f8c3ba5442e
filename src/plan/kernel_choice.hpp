// SPDX-License-Identifier: Apache-2.0
// Which kernel family runs a node: a pure function of the node, its shapes, the numeric policy and the tier, never of
// schedule or threads, so that every schedule gives the same bits.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.hpp"
#include "graph/parameters.hpp"
#include "kernels/base/encoding.hpp"
#include "kernels/base/isa.hpp"

namespace colonnade {

enum class Family : std::uint8_t {
  island,  ///< whole tensors, by oneDNN or the reference
  view,    ///< the same bytes under another shape: no work
  conv,
  winograd,
  planes,  ///< convolution with few output channels
  depthwise,
  conv_transpose,
  matmul,
  pool,
  unary,
  binary,
  softmax,
  layer_norm,
  lrn,
  reduce_width,
  resize,
  to_channels_last,
  to_channels_first,
  concat,
  slice,
  gather,
  pad,
  depth_to_space,
  space_to_depth,
  reduce,
  instance_norm,
  swap_axes,
  concat_outer,  ///< whole tensors, by kernels of ours
  typed,         ///< whole tensors of any type, by loops over strides
  product,       ///< both matrices are computed
  recurrent,
  trees,
  grid_sample,
};
std::string_view name_of(Family family);

struct KernelChoice {
  Family family = Family::island;
  std::string reason;                ///< why it is an island
  std::int64_t row_granularity = 1;  ///< rows start at multiples of this; the tile of Winograd
  kernels::Encoding encoding = kernels::Encoding::f32;

  /// Works row by row: may share a segment with other nodes.
  bool by_rows() const { return family > Family::view && family < Family::reduce; }
};

KernelChoice choose_kernel(const Graph& graph, const Node& node, Math math, kernels::Isa isa);

/// One operand of a binary operator against the output's rows: which of its axes are broadcast.
struct Operand {
  bool images = false, rows = false, width = false, channels = false;  ///< true: one value for all
  bool broadcasts() const { return images || rows || width || channels; }
};
/// How `shape` broadcasts against `output`; nothing when it cannot be told by images, rows, width and channels.
std::optional<Operand> operand_of(const Shape& shape, const Shape& output);

/// [outer, first, second, inner] such that a Transpose swaps `first` and `second`; nothing when it does more.
struct AxisSwap {
  std::int64_t outer = 1, first = 1, second = 1, inner = 1;
};
std::optional<AxisSwap> axis_swap_of(const Shape& input, const Ints& perm);

/// [outer, reduced, inner] of a reduction over adjacent axes; nothing when they are not adjacent.
struct ReducedAxes {
  std::int64_t outer = 1, reduced = 1, inner = 1;
};
std::optional<ReducedAxes> reduced_axes_of(const Shape& input, const Ints& axes, const Node& node);

/// What a Slice with constant bounds takes of each axis.
std::optional<std::vector<SliceRange>> slice_axes_of(const Graph& graph, const Node& node);

/// Rows of a computed product that are one unit of work, and positions that GridSample takes at a time.
inline constexpr std::int64_t kProductRows = 128;
inline constexpr std::int64_t kSampleBlock = 64;

/// Sizes of a Recurrent that has a kernel: the default activations, constant weights, full sequences.
struct RecurrentForm {
  std::int64_t directions = 1, gates = 1, steps = 1, batch = 1, depth = 1, hidden = 1;
  /// Workspace of a direction: sums of all steps, recurrent sums, state and cell.
  std::int64_t scratch_floats() const { return batch * ((steps + 1) * gates * hidden + 2 * hidden); }
};
std::optional<RecurrentForm> recurrent_form_of(const Graph& graph, const Node& node);

/// Depth of each tree; nothing when an ensemble has nodes that are no thresholds, or is malformed.
std::optional<std::vector<std::int32_t>> tree_depths(const TreeEnsemble& trees);

/// Begin and end padding of each axis of a Pad with constant pads.
std::optional<std::vector<Interval>> pad_axes_of(const Graph& graph, const Node& node);

}  // namespace colonnade
