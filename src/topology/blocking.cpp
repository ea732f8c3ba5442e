// SPDX-License-Identifier: Apache-2.0
#include "topology/blocking.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/numbers.hpp"

namespace colonnade {
namespace {

/// Between classes, about the geometric mean of what their machines have: bytes of L2, operations while a weight comes
/// from L3 (5 on a Zen 4, 10 on a Zen 5, 19 or 25 on Xeons).
constexpr std::int64_t kSmallL2 = 724 * kKiB, kLargeL2 = 1448 * kKiB;
constexpr double kFarL3Flop = 13.5;

/// An L3 far from the cores: as measured on a Xeon (bench/results/xeon-amx.md).
constexpr Blocking far(std::string_view name, std::int64_t l2_bytes) {
  return {
      .name = name,
      .near_weights_bytes = kMiB,
      .near_tile_weights_bytes = l2_bytes / 2,
      .near_sixes_bytes = 768 * kKiB,
      .near_planes_bytes = 32 * kKiB,
      .far_weight_flop = 32,
      .fetched_share = 1,
      .multiply_share = 0.85,
      .transform_share = 0.4,
      .integer_transform_share = 0.4,
      .planes_share = 0.65,
      .part_flop = 27,
      .winograd_gain = 1.05,
      .most_planes_beside_winograd = 4,
      .least_plane_taps = 3,
      .chunk_channels = 64,
      .pieces = {.speed = 1.83,
                 .tile_speed = 1.5,
                 .split_flop = 37,
                 .sum_flop = 69,
                 .gather_flop = 690,
                 .gain = 1.09,
                 .least_winograd_channels = 64,
                 .chunk_channels = 192},
      .pairs = {.speed = 1, .round_flop = 6, .sum_flop = 2, .gain = 1.05, .chunk_channels = 128},
      .pair_units = {.speed = 8, .round_flop = 6, .sum_flop = 24, .gain = 1.05, .chunk_channels = 128},
      .narrow_sixes_bytes = 768 * kKiB,
  };
}

/// An L3 beside the cores, and transforms about as fast as products: as measured on a Zen 4
/// (bench/results/epyc-zen4.md).
constexpr Blocking near(std::string_view name, std::int64_t l2_bytes) {
  Blocking blocking = far(name, l2_bytes);
  blocking.far_sixes_bytes = 32 * kMiB;
  if (l2_bytes >= kMiB) blocking.narrow_sixes_bytes = blocking.far_sixes_bytes;
  blocking.far_weight_flop = 20;
  blocking.fetched_share = 0.25;
  blocking.multiply_share = 0.95;
  blocking.transform_share = 0.8;
  blocking.integer_transform_share = 1;
  blocking.part_flop = 8;
  blocking.most_planes_beside_winograd = 3;
  blocking.pairs.speed = 2;
  return blocking;
}

constexpr Blocking kBlockings[] = {near("512k-near", kMiB / 2), far("512k-far", kMiB / 2), near("1m-near", kMiB),
                                   far("1m-far", kMiB),         near("2m-near", 2 * kMiB), far("2m-far", 2 * kMiB)};

std::size_t class_of(const Topology& topology) {
  const std::int64_t l2 = topology.cache_bytes(2);
  const std::size_t size = l2 < kSmallL2 ? 0 : l2 < kLargeL2 ? 1 : 2;
  const double weight_flop = sizeof(float) * topology.rates.fma_gflops / topology.rates.l3_gbs;
  return 2 * size + (weight_flop > kFarL3Flop ? 1 : 0);
}

}  // namespace

std::span<const Blocking> blockings() { return kBlockings; }

const Blocking& blocking_of(const Topology& topology) {
  if (topology.blocking.empty()) return kBlockings[class_of(topology)];
  const auto* found = std::ranges::find(kBlockings, topology.blocking, &Blocking::name);
  if (found != std::end(kBlockings)) return *found;
  std::vector<std::string_view> names;
  for (const Blocking& blocking : kBlockings) names.push_back(blocking.name);
  fail(ErrorCode::invalid_argument, "blocking: unknown class '{}', expected one of {} (this machine is of {})",
       topology.blocking, fmt::join(names, ", "), kBlockings[class_of(topology)].name);
}

}  // namespace colonnade
