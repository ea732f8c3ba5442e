// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colonnade {

/// The text as it is when it is a plain word, else in quotes with control characters, quotes and backslashes escaped:
/// names come from the model and must break neither the line nor the eye.
std::string quoted(const std::string& text);

}  // namespace colonnade
