// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace colonnade::test {

/// How often operator new was called so far, by any thread; allocations.cpp replaces it for the whole executable,
/// but not under the thread sanitizer: then 0.
std::int64_t allocations();

}  // namespace colonnade::test
