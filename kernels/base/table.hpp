// SPDX-License-Identifier: Apache-2.0
// The kernels of a family over all tiers.
#pragma once

#include <span>

#include "kernels/base/built.hpp"

namespace colonnade::kernels {

template <class Kernel>
struct Table {
  static constexpr std::size_t kMost = 64;
  Kernel rows[kMost] = {};
  std::size_t count = 0;

  void add(KernelList<Kernel> list) {
    for (std::size_t i = 0; i < list.count; ++i) rows[count++] = list.first[i];
  }
};

template <class Kernel, class Tier>
KernelList<Kernel> kernels_if_built() noexcept {
  if constexpr (kIsBuilt<Tier>)
    return kernels_of<Kernel, Tier>();
  else
    return {};
}

/// Every kernel of a family in this build, best first: those of the special tiers named, then those of the others.
template <class Kernel, class... Special>
std::span<const Kernel> table_of() noexcept {
  static const Table<Kernel> table = [] {
    Table<Kernel> made;
    const KernelList<Kernel> tiers[] = {
#define TIER(name, ...) kernels_if_built<Kernel, tier::name>(),
#define SPECIAL_TIER(name, ...)
#include "kernels/base/tiers.def"
#undef TIER
#undef SPECIAL_TIER
    };
    (made.add(kernels_if_built<Kernel, Special>()), ...);
    for (std::size_t i = sizeof tiers / sizeof *tiers; i > 0; --i) made.add(tiers[i - 1]);
    return made;
  }();
  return {table.rows, table.count};
}

/// The first kernel of a table, best first, that a processor with these features runs; the last one runs everywhere.
template <class Kernel>
const Kernel& first_for(std::span<const Kernel> table, Features features) noexcept {
  for (const Kernel& kernel : table)
    if (features.contains(kernel.isa)) return kernel;
  return table.back();
}

}  // namespace colonnade::kernels
