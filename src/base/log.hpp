// SPDX-License-Identifier: Apache-2.0
// Lines for whoever runs the process: see set_log_handler.
#pragma once

#include <fmt/core.h>

#include <string>

#include "colonnade/colonnade.hpp"

namespace colonnade {

/// Whether a line of this level goes anywhere.
bool is_logged(LogLevel level) noexcept;
/// Control characters of the line become '?'. Never throws.
void write_log(LogLevel level, std::string line) noexcept;

template <class... Args>
void log_line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!is_logged(level)) return;
  try {
    write_log(level, fmt::format(format, std::forward<Args>(args)...));
  } catch (const std::exception&) {  // no memory for a line: nothing is lost but the line
  }
}

}  // namespace colonnade
