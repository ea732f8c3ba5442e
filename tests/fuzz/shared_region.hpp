// SPDX-License-Identifier: Apache-2.0
// Shared memory with the region "r" of kSharedBytes bytes, all zero when a case begins.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "frontends/server/shared_memory.hpp"
#include "fuzz/fuzz.hpp"

namespace colonnade::fuzz {

inline constexpr std::uint64_t kSharedBytes = 96;

/// The object, which has a name while the process runs.
class SharedObject {
 public:
  SharedObject() : name_("/colonnade_fuzz_" + std::to_string(::getpid())) {
    ::shm_unlink(name_.c_str());
    file_ = ::shm_open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
    clear();
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;
  ~SharedObject() {
    ::shm_unlink(name_.c_str());
    ::close(file_);
  }

  const std::string& name() const { return name_; }
  void clear() const {
    if (::ftruncate(file_, 0) != 0 || ::ftruncate(file_, kSharedBytes) != 0) throw Failure("no shared memory");
  }

 private:
  std::string name_;
  int file_ = -1;
};

inline const SharedObject& shared_object() {
  static const SharedObject object;
  return object;
}

inline serve::SharedMemory& shared_memory() {
  static serve::SharedMemory memory("/colonnade_fuzz_");
  static const bool is_made = [] {
    memory.add("r", shared_object().name(), 0, kSharedBytes);
    return true;
  }();
  (void)is_made;
  return memory;
}

}  // namespace colonnade::fuzz
