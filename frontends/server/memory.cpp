// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace colonnade::serve {
namespace {

/// For code, protocols and what requests bring: so much of what there is, at least.
constexpr std::size_t kReservedPart = 10;
constexpr std::size_t kLeastReserve = std::size_t{128} << 20;

/// The number in a file; the largest there is where it says "max" or is not there.
std::size_t number_in_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::size_t bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<std::size_t>::max();
}

/// Of the process's group and those around it (control groups, version 2, then 1).
std::size_t container_limit() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::size_t limit =
      std::min(number_in_file(root / "memory.max"), number_in_file(root / "memory/memory.limit_in_bytes"));
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto at = line.rfind(':');
    if (at == std::string::npos) continue;
    const bool is_second = line.starts_with("0::");
    if (!is_second && line.find("memory") == std::string::npos) continue;
    const std::filesystem::path base = is_second ? root : root / "memory";
    const char* const name = is_second ? "memory.max" : "memory.limit_in_bytes";
    for (std::filesystem::path group = line.substr(at + 1); group.has_relative_path(); group = group.parent_path())
      limit = std::min(limit, number_in_file(base / group.relative_path() / name));
  }
  return limit;
}

}  // namespace

std::size_t usable_memory() {
  const auto machine =
      static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t all = std::min(machine, container_limit());
  return all - std::min(all / 2, std::max(all / kReservedPart, kLeastReserve));
}

void return_free_memory() { ::malloc_trim(0); }

std::size_t Memory::left() const {
  const std::size_t taken = taken_;
  if (limit_ == 0) return std::numeric_limits<std::size_t>::max();
  return taken < limit_ ? limit_ - taken : 0;
}

bool MemoryShare::set(std::size_t bytes) {
  if (bytes <= bytes_) {
    memory_->taken_ -= bytes_ - bytes;
    bytes_ = bytes;
    return true;
  }
  const std::size_t more = bytes - bytes_;
  std::size_t taken = memory_->taken_;
  do {
    if (memory_->limit_ > 0 && (more > memory_->limit_ || taken > memory_->limit_ - more)) return false;
  } while (!memory_->taken_.compare_exchange_weak(taken, taken + more));
  bytes_ = bytes;
  return true;
}

}  // namespace colonnade::serve
