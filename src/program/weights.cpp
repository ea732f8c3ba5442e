// SPDX-License-Identifier: Apache-2.0
#include "program/weights.hpp"

#include <algorithm>

namespace colonnade {

std::shared_ptr<const AlignedBuffer> WeightStore::get(const std::shared_ptr<const Constant>& constant,
                                                      const std::string& format,
                                                      const std::function<AlignedBuffer(const Constant&)>& pack) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[{constant.get(), format}];
  if (entry.constant.lock() == constant)
    if (auto packed = entry.packed.lock()) return packed;
  // Plans come and go with their shapes: what none of them holds is forgotten now and then.
  if (entries_.size() > 2 * kept_) {
    std::erase_if(entries_, [&](const auto& item) { return &item.second != &entry && item.second.packed.expired(); });
    kept_ = std::max<std::size_t>(64, entries_.size());
  }
  auto packed = std::make_shared<const AlignedBuffer>(pack(*constant));
  entry = {constant, packed};
  return packed;
}

WeightStore& WeightStore::of_node(int node) {
  if (node == 0) return *this;
  const std::scoped_lock lock(mutex_);
  auto& store = nodes_[node];
  if (!store) store = std::make_unique<WeightStore>();
  return *store;
}

std::size_t WeightStore::bytes() const {
  const std::scoped_lock lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& node : nodes_) bytes += node.second->bytes();
  for (const auto& item : entries_)
    if (const auto packed = item.second.packed.lock()) bytes += packed->bytes();
  return bytes;
}

}  // namespace colonnade
