// SPDX-License-Identifier: Apache-2.0
// The sources that detect_topology puts together. Each says what it knows and leaves the rest empty.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace colonnade {

/// Processors that the affinity mask of a thread allows, in rising order; empty when the mask cannot be read. 0 is the
/// calling thread.
std::vector<int> allowed_processors(int thread = 0);

struct HardwareProbe {
  std::string cpu_model;
  std::vector<Core> cores;         ///< physical ones with an allowed processor, falling speed; domains from 0
  std::vector<int> core_of;        ///< as in Topology
  std::vector<NumaNode> nodes;     ///< likewise; empty where hwloc knows none
  std::vector<CacheLevel> caches;  ///< the smallest data cache of each level over those cores
};

/// The machine as hwloc sees it, within `allowed` (empty: every processor). A non-null `described` is taken instead of
/// this machine: a synthetic description of hwloc's or its XML. Empty members where hwloc knows nothing.
HardwareProbe probe_hardware(std::span<const int> allowed, const char* described = nullptr);

/// Bytes of the data cache of a level by sysconf, else by cpuid; 0 when neither knows.
std::int64_t probe_cache_bytes(int level);

/// `known`, with levels 1 to 3 that are missing taken from `bytes_of`; where no level is known at all, common sizes.
/// Caches of level 1 and 2 belong to one core, level 3 to `core_count`.
std::vector<CacheLevel> complete_caches(std::vector<CacheLevel> known, std::int64_t (*bytes_of)(int level),
                                        int core_count);

/// Rates to expect of a core, from its tier, its caches and the number of cores beside it.
Rates default_rates(const Topology& topology);

/// Kernel speeds to expect of a core with this FMA peak and L2 bandwidth.
std::array<std::vector<WorkRate>, kWorkKinds> default_work(double fma_gflops, double l2_gbs);

/// The tier that `value` names; throws Error{invalid_argument} that names `source` and the host's tiers otherwise.
kernels::Isa parse_tier(const std::string& value, const char* source, kernels::Features host);

}  // namespace colonnade
