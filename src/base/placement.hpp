// SPDX-License-Identifier: Apache-2.0
// On which NUMA nodes memory lies.
#pragma once

#include <cstddef>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace colonnade {

/// NUMA nodes by the system's numbers: none, and pages lie with whoever touches them first; one, and they lie there
/// while it has memory; several, and they lie on these in turns.
using NumaNodes = std::vector<int>;

/// Places the pages that lie whole in the range, those that were touched already too. False where the system does not
/// allow it (some containers): pages then lie where they are, and fresh ones with whoever touches them first.
bool place_pages(void* memory, std::size_t bytes, const NumaNodes& nodes) noexcept;

/// Memory that lies on `nodes`, of whole pages that nothing else shares.
AlignedBuffer placed_buffer(std::size_t bytes, const NumaNodes& nodes);

}  // namespace colonnade
