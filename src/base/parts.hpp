// SPDX-License-Identifier: Apache-2.0
// Work that falls into parts: whoever starts it says who helps, whoever does it asks for help, and those between need
// not know.
#pragma once

#include <cstdint>
#include <functional>

namespace colonnade {

/// Calls `work` in the calling thread and, at the same time, in others that have nothing to do; returns when all calls
/// have. `work` does not throw.
using Helpers = std::function<void(const std::function<void()>& work)>;

/// While it lives, for_each_part() of this thread shares its parts by `helpers`, which must outlive this.
class Helped {
 public:
  explicit Helped(const Helpers* helpers) noexcept;
  Helped(const Helped&) = delete;
  Helped& operator=(const Helped&) = delete;
  ~Helped();

 private:
  const Helpers* before_;
};

/// Whether others help the calling thread.
bool is_helped() noexcept;

/// Calls `part` with each number below `count`, one after another, or several at the same time where someone helps.
/// The calling thread comes to an interruption point between its parts. Throws what a part threw, when no other runs.
void for_each_part(std::int64_t count, const std::function<void(std::int64_t index)>& part);

}  // namespace colonnade
