// SPDX-License-Identifier: Apache-2.0
#include "base/interruption.hpp"

#include <utility>

namespace colonnade {
namespace {

thread_local const std::function<void()>* current = nullptr;

}  // namespace

Interruptible::Interruptible(const std::function<void()>& ask) noexcept : before_(std::exchange(current, &ask)) {}
Interruptible::~Interruptible() { current = before_; }

void interruption_point() {
  if (current != nullptr) (*current)();
}

}  // namespace colonnade
