// SPDX-License-Identifier: Apache-2.0
// Shared memory with the region "r" of kSharedBytes bytes, all zero when a case begins.
#pragma once

#include <cstdint>

#include "frontends/server/shared_memory.hpp"
#include "support/shared_object.hpp"

namespace colonnade::fuzz {

inline constexpr std::uint64_t kSharedBytes = 96;

/// The object, which has a name while the process runs.
inline const test::SharedObject& shared_object() {
  static const test::SharedObject object(kSharedBytes, "/colonnade_fuzz_");
  return object;
}
inline void clear_shared() {
  shared_object().resize(0);
  shared_object().resize(kSharedBytes);
}

inline serve::SharedMemory& shared_memory() {
  static serve::SharedMemory memory("/colonnade_fuzz_");
  static const bool is_made = [] {
    memory.add("r", shared_object().name(), 0, kSharedBytes);
    return true;
  }();
  (void)is_made;
  return memory;
}

}  // namespace colonnade::fuzz
