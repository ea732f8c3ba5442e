// SPDX-License-Identifier: Apache-2.0
// Which kernel takes a dense convolution, by shapes alone.
#pragma once

#include "graph/graph.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {

/// The tile, by its outputs, by which a convolution is done soonest, 0: the direct sum; and how it multiplies.
/// Shapes with channels last.
struct WinogradChoice {
  std::int64_t tile = 0;
  kernels::Encoding encoding = kernels::Encoding::f32;
};
WinogradChoice choose_winograd(const Conv& conv, const Shape& in, const Shape& out, bool matrix_units);
/// The filter as tiles take it, and its tile of so many outputs.
kernels::winograd::Filter winograd_filter(const Conv& conv);
kernels::winograd::Tile winograd_tile(const Conv& conv, std::int64_t outputs);
/// Products that such tiles take, as a share of those of the direct sum.
double winograd_products(const Conv& conv, std::int64_t outputs);
/// Channels that its tiles see of so many.
std::size_t winograd_channels(const Conv& conv, std::int64_t channels);

/// Sums of `inputs` channels of some taps, for `pixels` pixels and `outputs` channels. Vector units leave out the taps
/// that are not inside the image.
struct LongSums {
  std::int64_t pixels = 0;
  std::int64_t taps = 1;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  double inside = 1;
};
/// Whether matrix units do them sooner.
bool takes_pieces(const LongSums& sums);
/// The share of a convolution's taps that read pixels of the image, not its padding.
double taps_inside(const Conv& conv, const Shape& in, const Shape& out);
/// Whether the node is the product of a single pixel with weights that a cache holds, whose sums are taken in parts
/// (kernels::gemm): such a sum is not divided among chunks.
bool takes_partial_sums(const Graph& graph, const Node& node);
/// Pixels that matrix units could do while a call starts.
inline constexpr double kPiecesIdlePixels = 16;

/// Few output channels would leave most lanes of a panel idle: pixels fill them. Rows come so many at a time that few
/// are turned into planes twice.
bool takes_planes(const Conv& conv, const Shape& out, bool winograd);
inline constexpr std::int64_t kPlaneRows = 4;

/// How a convolution of the family `planes` walks along a row: blocks of output pixels, small enough that the planes of
/// the rows that a block reads stay near. Its scratch holds the output's planes, then a ring of kernel_h rows of
/// planes.
struct PlaneBlocks {
  std::int64_t pixels = 0;        ///< output pixels a block, and floats from one of its output planes to the next
  std::int64_t plane_stride = 0;  ///< floats from one input plane to the next: every pixel that a block reads
  std::int64_t row_floats = 0;    ///< all planes of an input row
  std::int64_t out_floats = 0;    ///< all planes of an output row
};
PlaneBlocks plane_blocks(const Graph& graph, const Node& node);

}  // namespace colonnade
