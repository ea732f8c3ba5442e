// SPDX-License-Identifier: Apache-2.0
#include "kernels/fourier/fourier.hpp"

#include "kernels/base/table.hpp"

namespace colonnade::kernels::fourier {

std::span<const Kernel> table() noexcept { return table_of<Kernel>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

bool plan_length(std::size_t length, Plan& plan) noexcept {
  if (length == 0) return false;
  plan.length = length;
  plan.passes = 0;
  for (const unsigned radix : {4U, 2U, 3U, 5U, 7U, 11U, kMostRadix})
    for (; length % radix == 0 && plan.passes < kMostPasses; length /= radix) plan.radices[plan.passes++] = radix;
  return length == 1;
}

}  // namespace colonnade::kernels::fourier
