// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "topology/probe.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace colonnade {
namespace {

constexpr std::int64_t kCommonBytes[] = {32 << 10, 1 << 20, 16 << 20};

std::int64_t sysconf_cache_bytes([[maybe_unused]] int level) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  return std::max(0L, sysconf(kNames[level - 1]));
#else
  return 0;
#endif
}

#if defined(__x86_64__) || defined(__i386__)
/// Intel's leaf 4 and AMD's leaf 0x8000001D have one layout: a subleaf a cache, type 0 after the last.
std::int64_t cpuid_cache_bytes(unsigned leaf, int level) {
  constexpr unsigned kInstructions = 2;
  constexpr unsigned kMaxSubleaves = 16;
  for (unsigned subleaf = 0; subleaf < kMaxSubleaves; ++subleaf) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf, subleaf, &a, &b, &c, &d) == 0 || (a & 31) == 0) return 0;
    if ((a & 31) == kInstructions || static_cast<int>((a >> 5) & 7) != level) continue;
    const std::int64_t ways = (b >> 22) + 1;
    const std::int64_t partitions = ((b >> 12) & 1023) + 1;
    const std::int64_t line_bytes = (b & 4095) + 1;
    return ways * partitions * line_bytes * (std::int64_t{c} + 1);
  }
  return 0;
}
#endif

bool has_level(const std::vector<CacheLevel>& caches, int level) {
  return std::any_of(caches.begin(), caches.end(), [&](const CacheLevel& c) { return c.level == level; });
}

}  // namespace

std::int64_t probe_cache_bytes(int level) {
  std::int64_t bytes = sysconf_cache_bytes(level);
#if defined(__x86_64__) || defined(__i386__)
  for (const unsigned leaf : {4u, 0x8000001Du}) {
    if (bytes == 0) bytes = cpuid_cache_bytes(leaf, level);
  }
#endif
  return bytes;
}

std::vector<CacheLevel> complete_caches(std::vector<CacheLevel> known, std::int64_t (*bytes_of)(int level),
                                        int core_count) {
  for (int level = 1; level <= 3; ++level) {
    if (has_level(known, level)) continue;
    const std::int64_t bytes = bytes_of(level);
    if (bytes > 0) known.push_back({level, bytes, level < 3 ? 1 : core_count});
  }
  const bool nothing_known = known.empty();
  for (int level = 1; level <= (nothing_known ? 3 : 2); ++level) {
    if (!has_level(known, level)) known.push_back({level, kCommonBytes[level - 1], level < 3 ? 1 : core_count});
  }
  std::sort(known.begin(), known.end(), [](auto& a, auto& b) { return a.level < b.level; });
  return known;
}

}  // namespace colonnade
