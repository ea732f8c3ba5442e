// SPDX-License-Identifier: Apache-2.0
#include "program/weights.hpp"

namespace colonnade {

std::shared_ptr<const AlignedBuffer> WeightStore::get(const std::shared_ptr<const Constant>& constant,
                                                      const std::string& format,
                                                      const std::function<AlignedBuffer(const Constant&)>& pack) {
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[{constant.get(), format}];
  if (entry.constant.lock() == constant)
    if (auto packed = entry.packed.lock()) return packed;
  auto packed = std::make_shared<const AlignedBuffer>(pack(*constant));
  entry = {constant, packed};
  return packed;
}

}  // namespace colonnade
