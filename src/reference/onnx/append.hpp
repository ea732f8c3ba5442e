// SPDX-License-Identifier: Apache-2.0
// Inputs of an Append beside its past and new rows, shared by its definition, its kernel and the passes.
#pragma once

#include <cstddef>

namespace colonnade::reference {

inline constexpr std::size_t kAppendStarts = 2, kAppendRows = 3, kAppendRoom = 4;

}  // namespace colonnade::reference
