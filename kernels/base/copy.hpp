// SPDX-License-Identifier: Apache-2.0
// Copies of memory that are as fast from any address to any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace colonnade::kernels {
namespace {  // compiled by every tier for itself

/// memcpy. The C library moves some kilobytes and more by one instruction (rep movsb), which a Zen 3 does sixteen times
/// slower where the target lies less than 32 bytes behind the source within their pages: as an array that begins 16
/// bytes after a page does, beside one that begins with it. Blocks are moved one by one there.
inline void copy_memory(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t kSlow = 32, kBlock = 64, kPage = 4096;
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  const std::size_t behind = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  if (behind > 0 && behind < kSlow)
    for (; bytes >= kBlock; bytes -= kBlock, target += kBlock, source += kBlock) std::memcpy(target, source, kBlock);
  if (bytes > 0) std::memcpy(target, source, bytes);
}

}  // namespace
}  // namespace colonnade::kernels
