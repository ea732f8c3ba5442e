// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fuzz/fuzz.hpp"

namespace colonnade::fuzz {

struct Campaign {
  std::uint64_t seed = 1;
  std::uint64_t from = 0;   ///< first index
  std::uint64_t count = 0;  ///< cases; 0: until the time is over
  double seconds = 0;       ///< 0: until the cases are done
  std::string failures;     ///< folder where the bytes of failing cases go
};

/// Checks the cases [from, from + count) in a child process, a new one after each that dies, and prints progress, the
/// seed and index of failures, and where to resume. Returns the number of failures.
std::uint64_t supervise(const Target& target, const Campaign& campaign);

}  // namespace colonnade::fuzz
