// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/narrow/generic.hpp"
#include "kernels/narrow/vectors.hpp"

namespace colonnade::kernels {

template <class Numbers>
static constexpr narrow::Kernel kernel_of(const char* name) {
  return {name,
          kThisIsa,
          Numbers::kType,
          narrow::prepare<Numbers>,
          narrow::multiply_vectors<Numbers>,
          narrow::multiply_rows<Numbers>,
          narrow::widen<Numbers>};
}

static constexpr narrow::Kernel kKernels[] = {kernel_of<narrow::U4>("narrow_u4_" COLONNADE_TIER_NAME),
                                              kernel_of<narrow::I8>("narrow_i8_" COLONNADE_TIER_NAME),
                                              kernel_of<narrow::F16>("narrow_f16_" COLONNADE_TIER_NAME),
                                              kernel_of<narrow::Bf16>("narrow_bf16_" COLONNADE_TIER_NAME)};

template <>
KernelList<narrow::Kernel> kernels_of<narrow::Kernel, ThisTier>() noexcept {
  return {kKernels, 4};
}

}  // namespace colonnade::kernels
