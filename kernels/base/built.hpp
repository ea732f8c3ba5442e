// SPDX-License-Identifier: Apache-2.0
// Which tiers this build has. CMake gives COLONNADE_TIERS to the files that are compiled once for all of them.
#pragma once

#include "kernels/base/tier.hpp"

#if !defined(COLONNADE_TIERS)
#define COLONNADE_TIERS "all"
#endif

namespace colonnade::kernels {

/// Whether `tiers`, words with a space between each two, has the word `name` or "all".
constexpr bool names_tier(const char* tiers, const char* name) {
  const auto is_first = [](const char* words, const char* word) {
    while (*word != '\0' && *words == *word) ++words, ++word;
    return *word == '\0' && (*words == '\0' || *words == ' ');
  };
  for (const char* rest = tiers; *rest != '\0';) {
    if (is_first(rest, name) || is_first(rest, "all")) return true;
    while (*rest != '\0' && *rest != ' ') ++rest;
    while (*rest == ' ') ++rest;
  }
  return false;
}

/// Whether kernels of the tier are in this build.
template <class Tier>
inline constexpr bool kIsBuilt = false;
#define TIER(name, on, ...) \
  template <>               \
  inline constexpr bool kIsBuilt<tier::name> = architecture::on&& names_tier(COLONNADE_TIERS, #name);
#define SPECIAL_TIER TIER
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER

}  // namespace colonnade::kernels
