// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/isa.hpp"

#include <cstring>

namespace colonnade::kernels {
namespace {

using enum Feature;

struct Tier {
  const char* name;
  Features needs;
};

constexpr Tier kTiers[] = {
#define TIER(name, on, ...) {#name, Features(__VA_ARGS__)},
#define SPECIAL_TIER TIER
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

Features::Features(Isa tier) noexcept : Features(tier_of(tier).needs) {}

const char* name_of(Features features) noexcept {
  Isa strongest = Isa::baseline;
  for (const Isa isa : kAllIsas)
    if (features.contains(isa)) strongest = isa;
  return name_of(strongest);
}

}  // namespace colonnade::kernels
