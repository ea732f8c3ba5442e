// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"

#include "kernels/bytes/binary.hpp"
#include "kernels/bytes/generic.hpp"
#include "kernels/bytes/lookup.hpp"

namespace colonnade::kernels {

static constexpr bytes::Kernel kKernel = {COLONNADE_TIER_NAME,
                                          kThisIsa,
                                          bytes::quantize_to,
                                          bytes::dequantize_from,
                                          bytes::lookup_by<std::uint8_t, bytes::ByteLines>,
                                          bytes::lookup_by<float, bytes::Lines<float>>,
                                          bytes::binary_to};

template <>
KernelList<bytes::Kernel> kernels_of<bytes::Kernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}

}  // namespace colonnade::kernels
