// SPDX-License-Identifier: Apache-2.0
// Regions of shared memory as JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "frontends/server/shared_memory.hpp"

namespace colonnade::serve::http {

/// An array of the region, or of all when `name` is empty. Throws Failure.
std::string shared_regions_json(const SharedMemory& memory, const std::string& name);
/// Registers what {"key": ..., "offset": ..., "byte_size": ...} says; the text as for `with_json`. Throws Failure and
/// Problem.
void register_shared_region(SharedMemory& memory, const std::string& name, std::span<const std::byte> text,
                            int deepest_json);

}  // namespace colonnade::serve::http
