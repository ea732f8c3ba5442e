// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_pool/byte_pool.hpp"

#include "kernels/base/table.hpp"

namespace colonnade::kernels::byte_pool {

std::span<const Kernel> table() noexcept { return table_of<Kernel>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

}  // namespace colonnade::kernels::byte_pool
