// SPDX-License-Identifier: Apache-2.0
#include "kernels/typed_product/typed_product.hpp"

#include "kernels/base/table.hpp"

namespace colonnade::kernels::typed_product {

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::vnni>(); }

const Kernel& select(Features features, Type a, Type b) noexcept {
  for (const Kernel& kernel : table())
    if (features.contains(kernel.isa) && kernel.terms(a, b) != 0) return kernel;
  return table().back();
}

}  // namespace colonnade::kernels::typed_product
