// SPDX-License-Identifier: Apache-2.0
// The column picture of a plan: tensors as bars, segment by segment.
#pragma once

#include <string>
#include <string_view>

#include "frontends/picture/text.hpp"

namespace colonnade::picture {

/// For what Model::describe returned, an <svg> element to be put into a page that has `rules` and `colours` in its
/// style. Members that are absent are drawn as unknown; all text is escaped.
std::string columns_picture(const Json& plan);
/// The same as a document of its own, style inside; light or dark as its surroundings prefer.
std::string columns_document(const Json& plan);

/// Style sheet rules for the parts of a picture.
std::string_view rules();
/// Declarations of the custom properties that the rules use, for light or dark surroundings.
std::string_view colours(bool dark);

}  // namespace colonnade::picture
