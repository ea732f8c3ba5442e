// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace colonnade {

/// The text with control characters replaced and cut to a readable length: fit for a one-line message.
std::string printable(std::string_view text);

}  // namespace colonnade
