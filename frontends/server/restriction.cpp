// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/restriction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>

#include "frontends/server/status.hpp"

namespace colonnade::serve {

bool RestrictionKey::is(std::string_view given) const noexcept {
  return given.size() == value.size() && CRYPTO_memcmp(given.data(), value.data(), value.size()) == 0;
}

std::map<std::string, RestrictionKey, std::less<>> parse_restrictions(const std::map<std::string, std::string>& options,
                                                                      std::span<const std::string_view> categories) {
  std::map<std::string, RestrictionKey, std::less<>> keys;
  for (const auto& [category, text] : options) {
    if (std::find(categories.begin(), categories.end(), category) == categories.end())
      throw Failure(Code::invalid_argument, fmt::format("no calls of category '{}': expected one of {}", category,
                                                        fmt::join(categories, ", ")));
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw Failure(Code::invalid_argument, fmt::format("restriction of '{}': expected HEADER=KEY", category));
    std::string header = text.substr(0, equals);
    std::transform(header.begin(), header.end(), header.begin(), [](unsigned char c) { return std::tolower(c); });
    keys[category] = {std::move(header), text.substr(equals + 1)};
  }
  return keys;
}

}  // namespace colonnade::serve
