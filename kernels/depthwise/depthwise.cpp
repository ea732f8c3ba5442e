// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise/depthwise.hpp"

#include "kernels/base/select.hpp"

namespace colonnade::kernels::depthwise {

extern const Kernel kBaseline;
#if defined(__x86_64__)
extern const Kernel kAvx2;
extern const Kernel kAvx512;
#endif

std::span<const Kernel> table() noexcept {
  static const Kernel rows[] = {
#if defined(__x86_64__)
    kAvx512,
    kAvx2,
#endif
    kBaseline,
  };
  return rows;
}

const Kernel& select(Isa isa) noexcept { return first_for(table(), isa); }

}  // namespace colonnade::kernels::depthwise
