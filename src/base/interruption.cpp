// SPDX-License-Identifier: Apache-2.0
#include "base/interruption.hpp"

#include <utility>

namespace colonnade {
namespace {

constexpr std::int64_t kElementsBetween = 1 << 15;

thread_local const std::function<void()>* current = nullptr;
thread_local std::int64_t elements_left = kElementsBetween;

}  // namespace

Interruptible::Interruptible(const std::function<void()>& ask) noexcept : before_(std::exchange(current, &ask)) {}
Interruptible::~Interruptible() { current = before_; }

void interruption_point() {
  if (current != nullptr) (*current)();
}

void count_work(std::int64_t elements) {
  elements_left -= elements;
  if (elements_left > 0) return;
  elements_left = kElementsBetween;
  interruption_point();
}

}  // namespace colonnade
