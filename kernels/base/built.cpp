// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/built.hpp"

namespace colonnade::kernels {
namespace {

struct Tier {
  bool built;
  Features compiled;  ///< what the compiler was allowed, by its macros
};

template <class T>
Tier make() noexcept {
  if constexpr (kIsBuilt<T>)
    return {true, compiled_features<T>()};
  else
    return {false, {}};
}

const Tier& tier_of(Isa isa) noexcept {
  static const Tier tiers[] = {
#define TIER(name, ...) make<tier::name>(),
#define SPECIAL_TIER TIER
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
  };
  return tiers[static_cast<std::size_t>(isa)];
}

}  // namespace

bool is_built(Isa isa) noexcept { return tier_of(isa).built; }

Features compiled_features(Isa isa) noexcept { return tier_of(isa).compiled; }

Features usable_features() noexcept {
  const Features host = host_features();
  Features usable;
  for (const Isa isa : kAllIsas)
    if (is_built(isa) && host.contains(isa)) usable.add(Features(isa));
  return usable;
}

}  // namespace colonnade::kernels
