// SPDX-License-Identifier: Apache-2.0
#include "base/hash.hpp"

#include <xxhash.h>
#if defined(COLONNADE_XXHASH_DISPATCH)
#include <xxh_x86dispatch.h>  // the same functions, by the widest vectors that the processor has
#endif

#include <algorithm>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace colonnade {
namespace {

constexpr std::uint64_t kBlockBytes = 256 * 1024;  ///< hashed while it is in a cache

}  // namespace

std::uint64_t hash_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t hash_of(std::uint64_t size,
                      const std::function<void(std::uint64_t offset, std::span<std::byte> into)>& read) {
  const AlignedBuffer buffer(static_cast<std::size_t>(std::min(size, kBlockBytes)));
  std::vector<std::uint64_t> hashes;
  for (std::uint64_t offset = 0; offset < size; offset += kBlockBytes) {
    const std::span<std::byte> block(buffer.data(), static_cast<std::size_t>(std::min(kBlockBytes, size - offset)));
    read(offset, block);
    hashes.push_back(hash_of(block));
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

}  // namespace colonnade
