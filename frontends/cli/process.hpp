// SPDX-License-Identifier: Apache-2.0
// This process and its terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace colonnade::cli {

/// Resident bytes now and at their highest, from /proc/self/status; 0 where that is absent.
std::size_t resident_bytes();
std::size_t peak_resident_bytes();

double milliseconds_since(std::chrono::steady_clock::time_point start);

/// A bar on stderr while it lives; silent when stderr is no terminal or when not wanted.
class Progress {
 public:
  Progress(std::string label, bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// `fraction` in 0..1. Draws at most ten times a second.
  void update(double fraction);

 private:
  std::string label_;
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace colonnade::cli
