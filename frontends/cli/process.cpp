// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

namespace colonnade::cli {
namespace {

std::size_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with(field)) return static_cast<std::size_t>(std::stoull(line.substr(field.size()))) * 1024;
  return 0;
}

}  // namespace

std::size_t resident_bytes() { return status_bytes("VmRSS:"); }

std::size_t peak_resident_bytes() { return status_bytes("VmHWM:"); }

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Progress::Progress(std::string label, bool wanted)
    : label_(std::move(label)),
      visible_(wanted && isatty(STDERR_FILENO) != 0),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(300)) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::update(double fraction) {
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now < next_) return;
  constexpr int kWidth = 30;
  const int filled = std::clamp(static_cast<int>(fraction * kWidth), 0, kWidth);
  const std::string bar =
      std::string(static_cast<std::size_t>(filled), '#') + std::string(static_cast<std::size_t>(kWidth - filled), '.');
  std::fputs(fmt::format("\r\033[K{} [{}] {:3.0f} %", label_, bar, std::clamp(fraction, 0.0, 1.0) * 100).c_str(),
             stderr);
  drawn_ = true;
  next_ = now + std::chrono::milliseconds(100);
}

}  // namespace colonnade::cli
