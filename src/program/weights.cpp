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
  auto packed = source_ ? source_(*constant, format) : nullptr;
  if (!packed) packed = std::make_shared<const AlignedBuffer>(pack(*constant));
  entry = {constant, packed};
  return packed;
}

std::shared_ptr<const AlignedBuffer> WeightStore::find(const std::shared_ptr<const Constant>& constant,
                                                       const std::string& format) {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find({constant.get(), format});
  return found != entries_.end() && found->second.constant.lock() == constant ? found->second.packed.lock() : nullptr;
}

}  // namespace colonnade
