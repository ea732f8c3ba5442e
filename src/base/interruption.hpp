// SPDX-License-Identifier: Apache-2.0
// Long work that may be broken off: whoever starts it says how to ask, whoever does it asks, and those between need not
// know.
#pragma once

#include <cstdint>
#include <functional>

namespace colonnade {

/// While it lives, interruption_point() of this thread calls `ask`, which throws when the work is to end and must
/// outlive this.
class Interruptible {
 public:
  explicit Interruptible(const std::function<void()>& ask) noexcept;
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

 private:
  const std::function<void()>* before_;
};

/// Between parts of work that takes long; what was made so far must be thrown away whole. Throws what `ask` throws.
void interruption_point();
/// The same, where so many more elements have been worked on, every some ten thousand of them.
void count_work(std::int64_t elements);

}  // namespace colonnade
