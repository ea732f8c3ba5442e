// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// Throws Error with a formatted one-line message.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace colonnade
