// SPDX-License-Identifier: Apache-2.0
#include "base/placement.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace colonnade {

bool place_pages(void* memory, std::size_t bytes, const NumaNodes& nodes) noexcept {
  if (nodes.empty() || AlignedBuffer::has_hooks()) return true;
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  constexpr unsigned kMostNodes = 1024;  // that Linux can be built for
  unsigned long mask[kMostNodes / kBits] = {};
  for (const int node : nodes) {
    const auto bit = static_cast<unsigned>(node);
    if (bit >= kMostNodes) return false;
    mask[bit / kBits] |= 1UL << bit % kBits;
  }
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGE_SIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  if (begin >= end) return true;
  return syscall(SYS_mbind, begin, end - begin, nodes.size() == 1 ? MPOL_PREFERRED : MPOL_INTERLEAVE, mask,
                 static_cast<unsigned long>(kMostNodes) + 1, static_cast<unsigned>(MPOL_MF_MOVE)) == 0;
}

AlignedBuffer placed_buffer(std::size_t bytes, const NumaNodes& nodes) {
  if (nodes.empty() || bytes == 0) return AlignedBuffer(bytes);
  AlignedBuffer buffer(std::max(bytes, AlignedBuffer::kMappedBytes));
  place_pages(buffer.data(), buffer.bytes(), nodes);
  return buffer;
}

}  // namespace colonnade
