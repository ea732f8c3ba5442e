// SPDX-License-Identifier: Apache-2.0
#include "kernels/narrow_bytes/narrow_bytes.hpp"

#include "kernels/base/table.hpp"

namespace colonnade::kernels::narrow_bytes {

std::span<const Kernel> table() noexcept { return table_of<Kernel, tier::avxvnni, tier::vnni>(); }

const Kernel& select(Features features, Type type) noexcept {
  const Kernel* kernel = table().data();
  while (!features.contains(kernel->isa) || kernel->type != type) ++kernel;
  return *kernel;
}

}  // namespace colonnade::kernels::narrow_bytes
