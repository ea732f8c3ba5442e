// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace colonnade::kernels {
namespace {

#if defined(__x86_64__)

enum Register : unsigned char { eax, ebx, ecx, edx };

/// Where CPUID tells of a feature, and which registers the system must keep for it: bits of XCR0.
struct Place {
  Feature feature;
  unsigned leaf;
  unsigned subleaf;
  Register where;
  unsigned bit;
  unsigned long long state;
};

constexpr unsigned long long kVectors = 0x6, kWideVectors = 0xe6, kTiles = 0x60000;
constexpr Place kPlaces[] = {
    {Feature::fma, 1, 0, ecx, 12, kVectors},
    {Feature::f16c, 1, 0, ecx, 29, kVectors},
    {Feature::avx2, 7, 0, ebx, 5, kVectors},
    {Feature::bmi2, 7, 0, ebx, 8, kVectors},
    {Feature::avxvnni, 7, 1, eax, 4, kVectors},
    {Feature::avx512f, 7, 0, ebx, 16, kWideVectors},
    {Feature::avx512dq, 7, 0, ebx, 17, kWideVectors},
    {Feature::avx512cd, 7, 0, ebx, 28, kWideVectors},
    {Feature::avx512bw, 7, 0, ebx, 30, kWideVectors},
    {Feature::avx512vl, 7, 0, ebx, 31, kWideVectors},
    {Feature::avx512vnni, 7, 0, ecx, 11, kWideVectors},
    {Feature::avx512bf16, 7, 1, eax, 5, kWideVectors},
    {Feature::amx_bf16, 7, 0, edx, 22, kTiles},
    {Feature::amx_tile, 7, 0, edx, 24, kTiles},
};

/// What the system saves when it switches threads; nothing where it does not say.
unsigned long long saved_state() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kSaysSo = 1u << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSaysSo) == 0) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<unsigned long long>(high) << 32 | low;
}

bool has(const Place& place, unsigned long long state) {
  unsigned registers[4] = {};
  if ((state & place.state) != place.state) return false;
  const bool found = __get_cpuid_count(place.leaf, place.subleaf, &registers[eax], &registers[ebx], &registers[ecx],
                                       &registers[edx]) != 0;
  if (!found) return false;
  return (registers[place.where] >> place.bit & 1) != 0;
}

/// Linux gives the state of tiles to processes that ask for it.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Features find_features() {
  Features found;
  const unsigned long long state = saved_state();
  for (const Place& place : kPlaces)
    if (has(place, state) && (place.state != kTiles || may_use_tiles())) found.add(place.feature);
  return found;
}

#else
Features find_features() { return {}; }
#endif

}  // namespace

Features host_features() noexcept {
  static const Features features = find_features();
  return features;
}

}  // namespace colonnade::kernels
