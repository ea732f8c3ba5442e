// SPDX-License-Identifier: Apache-2.0
#include "families/weights.hpp"

#include <algorithm>

#include "base/interruption.hpp"

namespace colonnade {

PackedWeights WeightStore::get(const std::shared_ptr<const Constant>& constant, const std::string& format,
                               const std::function<AlignedBuffer(const Constant&)>& pack) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[{constant.get(), format}];
  if (entry.constant.lock() == constant)
    if (auto packed = entry.packed.lock()) return {std::move(packed), entry.bytes};
  // Plans come and go with their shapes: what none of them holds is forgotten now and then.
  if (entries_.size() > 2 * kept_) {
    std::erase_if(entries_, [&](const auto& item) { return &item.second != &entry && item.second.packed.expired(); });
    kept_ = std::max<std::size_t>(64, entries_.size());
  }
  auto found = source_ ? source_(*constant, format, node_) : std::nullopt;
  if (!found) {
    interruption_point();
    const auto made = std::make_shared<const AlignedBuffer>(pack(*constant));
    found = PackedWeights{std::shared_ptr<const float>(made, made->floats()), made->bytes()};
  }
  entry = {constant, found->floats, found->bytes};
  return *std::move(found);
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
    store->source_ = source_;
  }
  return *store;
}

std::vector<PackedWeights> WeightStore::held() const {
  const std::scoped_lock lock(mutex_);
  std::vector<PackedWeights> held;
  for (const auto& item : entries_)
    if (auto packed = item.second.packed.lock()) held.push_back({std::move(packed), item.second.bytes});
  return held;
}

std::size_t WeightStore::bytes() const {
  const std::scoped_lock lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& node : nodes_) bytes += node.second->bytes();
  for (const auto& item : entries_)
    if (!item.second.packed.expired()) bytes += item.second.bytes;
  return bytes;
}

}  // namespace colonnade
