// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>

#include "base/error.hpp"

namespace colonnade {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMappedBytes = AlignedBuffer::kMaxBytes;  // so that overruns are seen
#else
constexpr std::size_t kMappedBytes = std::size_t{1} << 20;  ///< from here on the system is asked
#endif

}  // namespace

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes >= kMappedBytes && bytes < kMaxBytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) memory_ = static_cast<std::byte*>(memory);
#if defined(MADV_HUGEPAGE)
    if (memory_ != nullptr) ::madvise(memory_, bytes, MADV_HUGEPAGE);  // fewer faults; a hint
#endif
  } else if (bytes < kMaxBytes) {
    memory_ =
        static_cast<std::byte*>(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
  }
  if (memory_ == nullptr) fail(ErrorCode::resource_limit, "cannot allocate {} bytes", bytes);
}

void AlignedBuffer::free_released(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return;
  if (bytes >= kMappedBytes) {
    ::munmap(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace colonnade
