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
/// How its operands may be encoded, beside floats.
struct Encodings {
  bool pieces = false;
  bool pairs = false;         ///< by units that multiply them
  bool pair_units = false;    ///< which are matrix units
  bool pair_weights = false;  ///< the weights alone, which are floats again when they are multiplied
};
/// `exact`: the operator asks for its sums one by one.
Encodings encodings_for(const Candidate& node, bool exact);

/// The filter as tiles take it, and its tile of so many outputs.
kernels::winograd::Filter winograd_filter(const Conv& conv);
kernels::winograd::Tile winograd_tile(const Conv& conv, std::int64_t outputs);
/// Products that such tiles take, as a share of those of the direct sum.
double winograd_products(const Conv& conv, std::int64_t outputs);
/// Channels that its tiles see of so many.
std::size_t winograd_channels(const Conv& conv, std::int64_t channels);

/// Sums of `inputs` channels of some taps, for `pixels` pixels and `outputs` channels of `groups` groups. Vector units
/// leave out the taps that are not inside the image.
struct LongSums {
  std::int64_t pixels = 0;
  std::int64_t taps = 1;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t groups = 1;
  double inside = 1;
  double inputs_read = 1;         ///< pixels that are read for an output pixel
  std::int64_t paired_terms = 0;  ///< of a sum in pairs, the zeros that fill pairs included
};
/// Direct sums by each encoding that may do them, without forms. Beside other families both count as what is sooner.
std::vector<Offer> direct_offers(const LongSums& sums, const Encodings& encodings, const Blocking& blocking);
/// The share of a convolution's taps that read pixels of the image, not its padding.
double taps_inside(const Conv& conv, const Shape& in, const Shape& out);
/// Pixels of a sample's output.
std::int64_t pixels_of_sample(const Candidate& node);
/// Whether a product is of samples of a single pixel with weights that a cache holds: its sums are taken in parts
/// (kernels::gemm), and not divided among chunks.
bool takes_partial_sums(const Candidate& node);
/// Pixels that could be done while a call starts.
double idle_pixels(kernels::Encoding encoding);
/// Times the arithmetic when threads divide the output channels: all cut all pixels into pieces.
double apart(kernels::Encoding encoding);
/// Channels of the chunks in which outputs may come.
std::int64_t chunk_channels(kernels::Encoding encoding, const Blocking& blocking);

/// Operations that pass while weights come from beyond the second-level cache: `packed` floats, of which so many are
/// read.
double far_weights_flop(double packed, double read, const Blocking& blocking);

}  // namespace colonnade
