// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace colonnade::test {

struct ProcessResult {
  int status = -1;     ///< exit status; 128 + signal when killed; -1 when it did not start
  std::string output;  ///< standard output and error
};

/// Runs a shell command with nothing on standard input.
inline ProcessResult run_process(const std::string& command) {
  ProcessResult result;
  FILE* const pipe = popen(("{ " + command + "; } 2>&1 < /dev/null").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    result.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

/// `text` as one word of a shell command.
inline std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace colonnade::test
