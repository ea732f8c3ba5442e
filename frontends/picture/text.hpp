// SPDX-License-Identifier: Apache-2.0
// What Model::describe returned, member by member, as numbers and text for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "colonnade/colonnade.hpp"

namespace colonnade::picture {

using Json = nlohmann::ordered_json;

/// "1.50 MiB"; exact below one KiB.
std::string human_bytes(double bytes);
/// "3.47 G", "12.0 M"; plain below one thousand.
std::string human_count(double count);
/// "1x3x224x224", "?" for open dimensions, "scalar" for rank 0.
std::string shape_text(const Shape& shape);
/// Cut to `width` characters, the middle replaced by "..".
std::string shortened(std::string_view text, std::size_t width);
/// Text as content or attribute value of HTML and SVG.
std::string escaped(std::string_view text);

/// Members of an object as finite numbers or text, with a fallback for whatever is absent or of another type.
double number_in(const Json& object, const char* key, double otherwise = 0);
std::string text_in(const Json& object, const char* key, const std::string& otherwise = "");
/// The array under `key`; empty when absent.
const Json& array_in(const Json& object, const char* key);
/// "1x3x224x224" of the "shape" that an object of Model::describe holds, and its "columns" as a phrase.
std::string shape_in(const Json& object);
std::string columns_in(const Json& segment);

}  // namespace colonnade::picture
