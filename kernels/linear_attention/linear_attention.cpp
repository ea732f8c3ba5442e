// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear_attention/linear_attention.hpp"

#include "kernels/base/table.hpp"

namespace colonnade::kernels::linear_attention {

std::span<const Kernel> table() noexcept { return table_of<Kernel>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

}  // namespace colonnade::kernels::linear_attention
