// SPDX-License-Identifier: Apache-2.0
// The contractions of kernels/byte_product for weights that are split, so that products may be added in 16 bits first:
// for tiers that multiply bytes no faster and have eight lanes.
#define COLONNADE_SPLITS 1
#include "kernels/base/tier.hpp"

#if defined(__AVX2__) && !defined(__AVX512F__)
#include "kernels/byte_product/generic.hpp"
#else
#include "kernels/byte_product/byte_product.hpp"
#endif

namespace colonnade::kernels {

#if defined(__AVX2__) && !defined(__AVX512F__)
static constexpr byte_product::SplitKernel kKernel = {
    {"byte_product_split_" COLONNADE_BYTE_TILE "_" COLONNADE_TIER_NAME, kThisIsa, byte_product::kPacking,
     byte_product::run, byte_product::workspace_bytes}};

template <>
KernelList<byte_product::SplitKernel> kernels_of<byte_product::SplitKernel, ThisTier>() noexcept {
  return {&kKernel, 1};
}
#else
template <>
KernelList<byte_product::SplitKernel> kernels_of<byte_product::SplitKernel, ThisTier>() noexcept {
  return {};
}
#endif

}  // namespace colonnade::kernels
