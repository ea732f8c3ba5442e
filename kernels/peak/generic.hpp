// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/base/simd.hpp"
#include "kernels/peak/peak.hpp"

namespace colonnade::kernels::peak {
namespace {

/// Two pipes of latency 4 need 8 chains to be full; 12 leave slack and fit 16 registers with both factors.
inline constexpr std::size_t kChains = 12;
inline constexpr double kFlopPerRound = 2.0 * kChains * Vec::kLanes;

inline float multiply_add(std::size_t rounds, float seed) noexcept {
  const Vec factor = broadcast(0.5f);
  const Vec term = broadcast(seed);
  Vec chains[kChains];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < kChains; ++i) chains[i] = broadcast(seed + static_cast<float>(i));
  for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
    for (std::size_t i = 0; i < kChains; ++i) chains[i] = fma(chains[i], factor, term);
  }
  Vec total = zero();
#pragma GCC unroll 12
  for (std::size_t i = 0; i < kChains; ++i) total = total + chains[i];
  return sum_lanes(total);
}

inline float sum(const float* values, std::size_t count) noexcept {
  constexpr std::size_t kSums = 8;
  constexpr std::size_t kBlock = kSums * Vec::kLanes;
  Vec sums[kSums];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kSums; ++i) sums[i] = zero();
  std::size_t at = 0;
  for (; at + kBlock <= count; at += kBlock) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < kSums; ++i) sums[i] = sums[i] + load(values + at + i * Vec::kLanes);
  }
  Vec total = zero();
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kSums; ++i) total = total + sums[i];
  for (; at + Vec::kLanes <= count; at += Vec::kLanes) total = total + load(values + at);
  if (at < count) total = total + load_first(values + at, count - at);
  return sum_lanes(total);
}

}  // namespace
}  // namespace colonnade::kernels::peak
