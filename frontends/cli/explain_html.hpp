// SPDX-License-Identifier: Apache-2.0
// The column picture of a plan as a web page.
#pragma once

#include <string>

#include "text.hpp"

namespace colonnade::cli {

/// A self-contained page for what Model::describe returned: style inside, no script, nothing fetched. Members that are
/// absent are drawn as unknown; all text is escaped.
std::string columns_page(const Json& plan, const std::string& model);

}  // namespace colonnade::cli
