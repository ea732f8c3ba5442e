// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/isa.hpp"

#include <cstring>

namespace colonnade::kernels {
namespace {

using enum Feature;

struct Tier {
  const char* name;
  bool here;  ///< compiled for this architecture
  Features needs;
};

constexpr Tier kTiers[] = {
#define TIER(name, on, ...) {#name, architecture::on, Features(__VA_ARGS__)},
#define SPECIAL_TIER(name, on, ...) {#name, architecture::on, Features(__VA_ARGS__)},
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
};

const Tier& tier_of(Isa isa) { return kTiers[static_cast<std::size_t>(isa)]; }

}  // namespace

const char* name_of(Isa isa) noexcept { return tier_of(isa).name; }

bool parse_isa(const char* name, Isa& isa) noexcept {
  for (const Isa candidate : kAllIsas) {
    if (std::strcmp(name, name_of(candidate)) != 0) continue;
    isa = candidate;
    return true;
  }
  return false;
}

Features features_of(Isa isa) noexcept { return tier_of(isa).needs; }

Isa host_isa() noexcept {
  const Features features = host_features();
  Isa strongest = Isa::baseline;
  for (const Isa isa : kAllIsas)
    if (tier_of(isa).here && features.contains(features_of(isa))) strongest = isa;
  return strongest;
}

}  // namespace colonnade::kernels
