// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "base/error.hpp"

namespace colonnade {

inline constexpr std::int64_t kKiB = 1024, kMiB = kKiB * 1024, kGiB = kMiB * 1024;
/// Microseconds of a second.
inline constexpr double kMicro = 1e6;

/// A count or a size as a double; exact up to 2^53.
constexpr double real(std::int64_t count) { return static_cast<double>(count); }

/// In the 32 bits that steps and views keep. Throws Error{resource_limit} where it takes more.
inline std::int32_t to_int32(std::int64_t count) {
  using Limits = std::numeric_limits<std::int32_t>;
  if (count < Limits::min() || count > Limits::max()) fail(ErrorCode::resource_limit, "size overflow: {}", count);
  return static_cast<std::int32_t>(count);
}

}  // namespace colonnade
