// SPDX-License-Identifier: Apache-2.0
#include "api/turn.hpp"

#include <pthread.h>

namespace colonnade {

std::uint32_t fork_generation() {
  static std::uint32_t generation = 0;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });
  static_cast<void>(registered);
  return generation;
}

}  // namespace colonnade
