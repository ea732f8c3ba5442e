// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colonnade::test {

/// The first thing that keeps a page from being well-formed (tags balanced and nested, attributes quoted, no stray '<'
/// or '&'); "" when there is none.
std::string markup_fault(const std::string& page);

}  // namespace colonnade::test
