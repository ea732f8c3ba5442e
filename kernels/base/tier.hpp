// SPDX-License-Identifier: Apache-2.0
// What the files of a tier define: the kernels of COLONNADE_THIS_TIER, which CMake names.
#pragma once

#include "kernels/base/isa.hpp"

namespace colonnade::kernels {

/// The tiers as types, so that the symbols of one tier's kernels differ from another's.
namespace tier {
#define TIER(name, ...) struct name;
#define SPECIAL_TIER(name, ...) struct name;
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
}  // namespace tier

template <class Kernel>
struct KernelList {
  const Kernel* first = nullptr;
  std::size_t count = 0;
};

/// Every kernel that a family, told by its Kernel, has for a tier.
template <class Kernel, class Tier>
KernelList<Kernel> kernels_of() noexcept;

/// What the compiler was allowed in a tier's files, by its macros.
template <class Tier>
Features compiled_features() noexcept;

}  // namespace colonnade::kernels

#if defined(COLONNADE_THIS_TIER)
#define COLONNADE_TEXT_OF(name) #name
#define COLONNADE_TEXT(name) COLONNADE_TEXT_OF(name)
/// The tier's name as a literal: what the names of its kernels end with.
#define COLONNADE_TIER_NAME COLONNADE_TEXT(COLONNADE_THIS_TIER)

namespace colonnade::kernels {
using ThisTier = tier::COLONNADE_THIS_TIER;
inline constexpr Isa kThisIsa = Isa::COLONNADE_THIS_TIER;
}  // namespace colonnade::kernels
#endif
