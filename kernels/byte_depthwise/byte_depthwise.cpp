// SPDX-License-Identifier: Apache-2.0
#include "kernels/byte_depthwise/byte_depthwise.hpp"

#include "kernels/base/table.hpp"

namespace colonnade::kernels::byte_depthwise {

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::vnni, tier::avxvnni>(); }

const Kernel& select(Features features) noexcept { return first_for(table(), features); }

}  // namespace colonnade::kernels::byte_depthwise
