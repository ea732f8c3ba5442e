// SPDX-License-Identifier: Apache-2.0
// What a class of machine wants: the sizes and shares by which kernels are weighed against each other. They decide
// which kernel runs a node, and so the order of its sums: machines of one class and tier give the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "topology/topology.hpp"

namespace colonnade {

/// Operations are those that vector units do in registers, two for each multiply-add and lane. Shares are those of
/// their peak.
struct Blocking {
  std::string_view name;  ///< of the class: its second-level cache, and whether the third is near, as "1m-near"

  std::int64_t near_weights_bytes = 0;       ///< most packed weights that the second-level cache gives again and again
  std::int64_t near_tile_weights_bytes = 0;  ///< likewise of Winograd's tiles, beside what they are multiplied with
  std::int64_t near_sixes_bytes = 0;         ///< most weights and tiles of a block for which tiles of 6x6 outputs pay
  std::int64_t near_planes_bytes = 0;        ///< planes of the rows that a block of pixels reads
  double far_weight_flop = 0;  ///< operations that take as long as a weight from beyond the second-level cache

  double fetched_share = 0;    ///< of that what is left where products fetch weights while they multiply tiles of a row
  double multiply_share = 0;   ///< of matrix products
  double transform_share = 0;  ///< of Winograd's transforms
  double integer_transform_share = 0;  ///< likewise of integers, in lanes of 32 bits
  double planes_share = 0;             ///< of products whose lanes are pixels
  double part_flop = 0;      ///< operations that take as long as an input that is put together with others of a pixel
  double winograd_gain = 0;  ///< what it must be sooner by
  std::int64_t most_planes_beside_winograd = 0;  ///< output channels that planes have in any case
  std::int64_t least_plane_taps = 0;             ///< that pay for turning the input into planes
  std::int64_t chunk_channels = 0;               ///< of a chunk between two pointwise contractions

  /// Matrix units, which multiply floats in pieces.
  struct Pieces {
    double speed = 0;        ///< times the products of the vector units that they do, of long sums
    double tile_speed = 0;   ///< likewise of Winograd's tiles
    double split_flop = 0;   ///< operations that pass while a float is cut into pieces
    double sum_flop = 0;     ///< while a sum is stored
    double gather_flop = 0;  ///< while a tap's channels are gathered
    double gain = 0;         ///< what they must be sooner by
    std::int64_t least_winograd_channels = 0;
    std::int64_t chunk_channels = 0;  ///< as above: all pixels are cut into pieces for each chunk that they expand
    bool operator==(const Pieces&) const = default;
  };
  Pieces pieces;

  /// Vector units that multiply pairs of bf16.
  struct Pairs {
    double speed = 0;       ///< times the products of floats
    double round_flop = 0;  ///< operations that pass while a float is rounded
    double sum_flop = 0;    ///< while a sum is stored, which floats hide
    double gain = 0;        ///< what they must be sooner by
    std::int64_t chunk_channels = 0;
    bool operator==(const Pairs&) const = default;
  };
  Pairs pairs;
  Pairs pair_units;  ///< likewise matrix units

  std::int64_t far_sixes_bytes = 0;     ///< as near_sixes_bytes, where the weights come from beyond that cache anyway
  std::int64_t narrow_sixes_bytes = 0;  ///< as near_sixes_bytes, for tiers of fewer lanes than AVX-512 has
  bool operator==(const Blocking&) const = default;
};

/// Every class.
std::span<const Blocking> blockings();
/// The class that topology.blocking names, else the one that caches and rates put the machine into. Throws
/// Error{invalid_argument} that lists the classes for a name that is none.
const Blocking& blocking_of(const Topology& topology);

}  // namespace colonnade
