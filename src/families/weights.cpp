// SPDX-License-Identifier: Apache-2.0
#include "families/weights.hpp"

#include <algorithm>
#include <cstring>

#include "base/interruption.hpp"

namespace colonnade {

/// From the source, from another node's copy, else packed.
PackedWeights WeightStore::made(const std::shared_ptr<const Constant>& constant, const std::string& format,
                                const Pack& pack) {
  if (auto found = source_ ? source_(*constant, format, node_) : std::nullopt) return *std::move(found);
  NumaNodes nodes = place_ ? place_(node_) : NumaNodes();
  const auto other = first_ != nullptr && !nodes.empty() ? first_->find(constant, format) : std::nullopt;
  room_.place_on(std::move(nodes));
  if (!other) {
    interruption_point();
    const WeightMemory packed = pack(*constant, room_);
    return {packed.memory, packed.size};
  }
  const WeightMemory copy = room_.take(other->bytes);
  if (other->bytes > 0) std::memcpy(copy.data(), other->floats.get(), other->bytes);
  return {copy.memory, copy.size};
}

std::shared_ptr<const std::byte> WeightStore::plain(const std::shared_ptr<const Constant>& constant) {
  if (!place_ || constant->byte_size() == 0 || constant->dtype() == DType::string) return constant->bytes();
  const PackedWeights copy = get(constant, "plain", [](const Constant& elements, WeightRoom& room) {
    const WeightMemory buffer = room.take(elements.byte_size());
    std::memcpy(buffer.data(), elements.bytes().get(), buffer.bytes());
    return buffer;
  });
  return {copy.floats, reinterpret_cast<const std::byte*>(copy.floats.get())};
}

PackedWeights WeightStore::get(const std::shared_ptr<const Constant>& constant, const std::string& format,
                               const Pack& pack) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[{constant.get(), format}];
  if (entry.constant.lock() == constant)
    if (auto packed = entry.packed.lock()) return {std::move(packed), entry.bytes};
  // Plans come and go with their shapes: what none of them holds is forgotten now and then.
  if (entries_.size() > 2 * kept_) {
    std::erase_if(entries_, [&](const auto& item) { return &item.second != &entry && item.second.packed.expired(); });
    kept_ = std::max<std::size_t>(64, entries_.size());
  }
  PackedWeights found = made(constant, format, pack);
  entry = {constant, found.floats, found.bytes};
  return found;
}

std::optional<PackedWeights> WeightStore::find(const std::shared_ptr<const Constant>& constant,
                                               const std::string& format) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find({constant.get(), format});
  if (found == entries_.end() || found->second.constant.lock() != constant) return std::nullopt;
  auto packed = found->second.packed.lock();
  return packed ? std::optional(PackedWeights{std::move(packed), found->second.bytes}) : std::nullopt;
}

WeightStore& WeightStore::of_node(int node) {
  if (node == 0) return *this;
  const std::scoped_lock lock(mutex_);
  auto& store = nodes_[node];
  if (!store) {
    store = std::make_unique<WeightStore>();
    store->node_ = node;
    store->first_ = this;
    store->source_ = source_;
    store->place_ = place_;
  }
  return *store;
}

void WeightStore::trim() {
  const std::scoped_lock lock(mutex_);
  room_.trim();
}

std::vector<PackedWeights> WeightStore::held() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PackedWeights> held;
  for (const auto& item : entries_)
    if (auto packed = item.second.packed.lock()) held.push_back({std::move(packed), item.second.bytes});
  return held;
}

std::size_t WeightStore::bytes() const {
  std::vector<const WeightStore*> others;  // which look into this one while they are locked
  std::size_t bytes = 0;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& node : nodes_) others.push_back(node.second.get());
    for (const auto& item : entries_)
      if (!item.second.packed.expired()) bytes += item.second.bytes;
  }
  for (const WeightStore* other : others) bytes += other->bytes();
  return bytes;
}

}  // namespace colonnade
