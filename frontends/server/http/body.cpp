// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/body.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace colonnade::serve::http {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallest = 4096;

}  // namespace

Body::Body(std::size_t aligned, std::size_t expected, Lease lease) : lease_(std::move(lease)), aligned_(aligned) {
  if (expected > 0) grow(expected);
}

void Body::grow(std::size_t capacity) {
  const std::size_t bytes = capacity + kAlignment + kPadding;
  auto block = std::make_shared<Block>(Block{another_lease(), nullptr});
  block->lease.need(bytes);
  block->bytes = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::byte* const begin = block->bytes.get();
  const auto address = reinterpret_cast<std::uintptr_t>(begin) + aligned_;
  const std::size_t offset = (kAlignment - address % kAlignment) % kAlignment;
  if (size_ > 0) std::memcpy(begin + offset, data(), size_);
  std::memset(begin + offset + capacity, 0, kPadding);
  block_ = std::move(block);
  offset_ = offset;
  capacity_ = capacity;
}

void Body::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (bytes.size() > capacity_ - size_) grow(std::max({size_ + bytes.size(), 2 * capacity_, kSmallest}));
  std::memcpy(data() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

std::span<std::byte> Body::room() {
  if (size_ == capacity_) grow(std::max(2 * capacity_, kSmallest));
  return {data() + size_, capacity_ - size_};
}

}  // namespace colonnade::serve::http
