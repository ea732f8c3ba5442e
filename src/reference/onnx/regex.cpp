// SPDX-License-Identifier: Apache-2.0
#include "reference/onnx/regex.hpp"

#include <re2/re2.h>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace colonnade::reference {

struct Regex::Automaton {
  RE2 pattern;
};

Regex::Regex(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  automaton_.reset(new Automaton{RE2(pattern, options)});
  if (const RE2& made = automaton_->pattern; !made.ok()) {
    fail(ErrorCode::invalid_model, "attribute 'pattern' is no regular expression: {}", printable(made.error()));
  }
}

Regex::~Regex() = default;

bool Regex::matches(const std::string& text) const { return RE2::FullMatch(text, automaton_->pattern); }

}  // namespace colonnade::reference
