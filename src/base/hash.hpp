// SPDX-License-Identifier: Apache-2.0
// A fast hash of bytes, for telling contents apart: it finds accidents, not forgers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace colonnade {

std::uint64_t hash_of(std::span<const std::byte> bytes);

/// A hash of `size` bytes that `read` brings block by block: it fills `into` from `offset` on. Another one than theirs
/// in one block.
std::uint64_t hash_of(std::uint64_t size,
                      const std::function<void(std::uint64_t offset, std::span<std::byte> into)>& read);

}  // namespace colonnade
