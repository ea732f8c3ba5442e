// SPDX-License-Identifier: Apache-2.0
// What stands for RE2 in a build without it (-DCOLONNADE_REGEX=OFF).
#include "base/error.hpp"
#include "reference/onnx/regex.hpp"

namespace colonnade::reference {

struct Regex::Automaton {};

Regex::Regex(const std::string&) {
  fail(ErrorCode::unsupported, "regular expressions: this build reads none (COLONNADE_REGEX)");
}

Regex::~Regex() = default;

bool Regex::matches(const std::string&) const { return false; }  // there is none

}  // namespace colonnade::reference
