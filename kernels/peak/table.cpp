// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/select.hpp"
#include "kernels/peak/peak.hpp"

namespace colonnade::kernels::peak {

extern const Kernel kAvx512;
extern const Kernel kAvx2;
extern const Kernel kBaseline;

std::span<const Kernel> table() noexcept {
#if defined(__x86_64__)
  static const Kernel rows[] = {kAvx512, kAvx2, kBaseline};
#else
  static const Kernel rows[] = {kBaseline};
#endif
  return rows;
}

const Kernel& select(Isa isa) noexcept { return first_for(table(), isa); }

}  // namespace colonnade::kernels::peak
