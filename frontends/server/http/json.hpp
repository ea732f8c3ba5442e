// SPDX-License-Identifier: Apache-2.0
// Writing JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "colonnade/colonnade.hpp"

namespace colonnade::serve::http {

/// Appends a quoted and escaped string; bytes that are no UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text);
std::string json_text(std::string_view text);
bool is_utf8(std::string_view text);

/// Appends the elements as a flat array of numbers, booleans or strings: floats by the shortest digits that read back
/// as the same value. Throws Failure naming `name` for what JSON cannot carry: infinities, NaN, bytes that are no
/// UTF-8.
void append_json_elements(std::string& out, const TensorView& tensor, std::string_view name);

}  // namespace colonnade::serve::http
