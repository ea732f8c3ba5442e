// SPDX-License-Identifier: Apache-2.0
// The folder beside the checkout.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace colonnade::test {

/// The folder of models and test data beside the checkout, or where COLONNADE_SHARED says; it need not exist.
inline std::filesystem::path shared_folder() {
  const char* named = std::getenv("COLONNADE_SHARED");
  return named != nullptr ? std::filesystem::path(named)
                          : std::filesystem::path(COLONNADE_SOURCE_DIR) / ".." / "shared";
}

}  // namespace colonnade::test
