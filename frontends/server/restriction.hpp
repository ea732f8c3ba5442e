// SPDX-License-Identifier: Apache-2.0
// Calls that need a key.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace colonnade::serve {

/// What a request must bring along.
struct RestrictionKey {
  std::string header;  ///< in lower case
  std::string value;

  /// Takes the same time wherever the difference is.
  bool is(std::string_view given) const noexcept;
};

/// Reads "header=key" of each category. Throws Failure for categories that there are not and keys of another form.
std::map<std::string, RestrictionKey, std::less<>> parse_restrictions(const std::map<std::string, std::string>& options,
                                                                      std::span<const std::string_view> categories);

}  // namespace colonnade::serve
