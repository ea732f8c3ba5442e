// SPDX-License-Identifier: Apache-2.0
// How a thread counts numbers below the least normal one.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace colonnade {

/// How subnormal numbers count while this lives, in kernels of all tiers and threads, whatever the caller's mode is: as
/// zero, since they cost a hundred times a number's time and are none of the answer, or exactly.
class SubnormalMode {
 public:
#if defined(__x86_64__)
  explicit SubnormalMode(bool keep) : saved_(_mm_getcsr()) {
    _mm_setcsr(keep ? saved_ & ~(kFlushToZero | kSubnormalsAreZero) : saved_ | kFlushToZero | kSubnormalsAreZero);
  }
  SubnormalMode(const SubnormalMode&) = delete;
  SubnormalMode& operator=(const SubnormalMode&) = delete;
  ~SubnormalMode() { _mm_setcsr(saved_); }

 private:
  static constexpr unsigned kFlushToZero = 0x8000, kSubnormalsAreZero = 0x0040;
  unsigned saved_;
#else
  explicit SubnormalMode(bool) {}
#endif
};

}  // namespace colonnade
