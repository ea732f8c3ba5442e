// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tier.hpp"
#include "kernels/byte_product/generic.hpp"

namespace colonnade::kernels {

template <>
KernelList<byte_product::Kernel> kernels_of<byte_product::Kernel, ThisTier>() noexcept {
  return {&byte_product::kThisKernel, 1};
}

}  // namespace colonnade::kernels
