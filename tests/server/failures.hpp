// SPDX-License-Identifier: Apache-2.0
// What calls fail with.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "frontends/server/status.hpp"

namespace colonnade::serve {

/// One line, "" when nothing is thrown.
template <class Call>
std::string failure_of(Call call) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(std::string(failure.what()).find('\n'), std::string::npos) << failure.what();
    return failure.what();
  }
  return {};
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
}

}  // namespace colonnade::serve
