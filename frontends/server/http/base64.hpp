// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace colonnade::serve::http {

std::string to_base64(std::string_view bytes);
/// Nothing when the text is no base64 (with padding, without line breaks).
std::optional<std::string> from_base64(std::string_view text);

}  // namespace colonnade::serve::http
