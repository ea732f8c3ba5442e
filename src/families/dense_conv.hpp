// SPDX-License-Identifier: Apache-2.0
// Which kernel takes a dense convolution, by shapes alone.
#pragma once

#include "families/family.hpp"
#include "kernels/winograd/winograd.hpp"

namespace colonnade {

/// Why no kernel takes a dense convolution; empty when one does.
std::string dense_refusal(const Candidate& node);
/// Whether a convolution's sums may be taken in another order than one by one, and whether on matrix units.
bool may_reorder(const Candidate& node, const Conv& conv);
bool may_use_matrix_units(const Candidate& node, const Conv& conv);

/// The tile, by its outputs, by which a convolution is done soonest, 0: the direct sum; and how it multiplies.
/// Shapes with channels last.
struct WinogradChoice {
  std::int64_t tile = 0;
  kernels::Encoding encoding = kernels::Encoding::f32;
};
WinogradChoice choose_winograd(const Conv& conv, const Shape& in, const Shape& out, bool matrix_units,
                               const Blocking& blocking);
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
bool takes_pieces(const LongSums& sums, const Blocking& blocking);
/// The share of a convolution's taps that read pixels of the image, not its padding.
double taps_inside(const Conv& conv, const Shape& in, const Shape& out);
/// Whether a product is of a single pixel with weights that a cache holds: its sums are taken in parts (kernels::gemm),
/// and not divided among chunks.
bool takes_partial_sums(const Shape& in, const Shape& out, const Blocking& blocking);
/// Pixels that could be done while a call starts.
double idle_pixels(kernels::Encoding encoding);
/// Times the arithmetic when threads divide the output channels: all cut all pixels into pieces.
double apart(kernels::Encoding encoding);

/// Few output channels would leave most lanes of a panel idle: pixels fill them.
bool takes_planes(const Conv& conv, const Shape& out, bool winograd, const Blocking& blocking);

}  // namespace colonnade
