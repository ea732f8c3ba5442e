// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// What fail() does once its arguments have lost their types: compiled once, not wherever something may fail.
[[noreturn]] void fail_with(ErrorCode code, fmt::string_view format, fmt::format_args args);

/// Throws Error with a formatted one-line message.
template <class... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  fail_with(code, format, fmt::make_format_args(args...));
}

}  // namespace colonnade
