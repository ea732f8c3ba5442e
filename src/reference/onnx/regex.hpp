// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace colonnade::reference {

/// A regular expression in RE2's syntax. Any thread.
class Regex {
 public:
  /// Throws Error: `invalid_model` where the pattern is none, `unsupported` in a build without RE2.
  explicit Regex(const std::string& pattern);
  ~Regex();
  /// Whether it stands for the whole text. In time linear in the text, whatever the pattern.
  bool matches(const std::string& text) const;

 private:
  struct Automaton;
  std::unique_ptr<const Automaton> automaton_;
};

}  // namespace colonnade::reference
