// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernels/base/isa.hpp"

namespace colonnade::kernels {

/// The first kernel of a table, best first, that a tier can run; the last one runs everywhere.
template <class Kernel>
const Kernel& first_for(std::span<const Kernel> table, Isa isa) noexcept {
  for (const Kernel& kernel : table)
    if (kernel.isa <= isa) return kernel;
  return table.back();
}

}  // namespace colonnade::kernels
