// SPDX-License-Identifier: Apache-2.0
// Memory of large tensors that a session's runs made and that were freed, for its next ones: each fresh page costs a
// fault and zeros.
#pragma once

#include <cstddef>
#include <memory>

namespace colonnade {

class RunPages;

/// Of one session. What it keeps and what tensors of it hold together is at most what they held at once, and what none
/// took for a second goes back when the next one is made. Any thread; tensors may outlive it.
class RunMemory {
 public:
  RunMemory();
  RunMemory(const RunMemory&) = delete;
  RunMemory& operator=(const RunMemory&) = delete;
  ~RunMemory();

  /// While it lives, large tensors that this thread makes have their memory from there.
  class Use {
   public:
    explicit Use(RunMemory& memory) noexcept;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();

   private:
    RunMemory* const before_;
  };

  /// Gives back to the system what no tensor holds.
  void shrink() noexcept;
  std::size_t kept_bytes() const;

  /// Memory of a tensor, or null where it is not large or this thread has no Use. Throws Error{resource_limit}.
  static std::byte* take(std::size_t bytes);
  /// Takes the memory of a tensor that is destroyed; false where it came from elsewhere.
  static bool give_back(void* memory, std::size_t bytes) noexcept;

 private:
  const std::shared_ptr<RunPages> pages_;
};

}  // namespace colonnade
