// SPDX-License-Identifier: Apache-2.0
// Numbers as outputs of arithmetic on bytes (graph/bytes.hpp).
#pragma once

#include <span>

#include "graph/bytes.hpp"

namespace colonnade::reference {

/// Stores the numbers from `offset` on.
void store_rescaled(const Rescale& out, std::span<const float> values, Tensor& y, std::int64_t offset);

}  // namespace colonnade::reference
