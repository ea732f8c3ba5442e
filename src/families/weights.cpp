// SPDX-License-Identifier: Apache-2.0
#include "families/weights.hpp"

#include <algorithm>
#include <cstring>

#include "base/interruption.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kSlabBytes = std::size_t{2} << 20;  ///< a large page

PackedWeights weights_in(AlignedBuffer buffer) {
  const auto kept = std::make_shared<const AlignedBuffer>(std::move(buffer));
  return {std::shared_ptr<const float>(kept, kept->floats()), kept->bytes()};
}

}  // namespace

PackedWeights WeightStore::copied(const NumaNodes& nodes, const PackedWeights& weights) {
  const std::size_t bytes = weights.bytes;
  if (bytes >= AlignedBuffer::kMappedBytes) {
    PackedWeights copy = weights_in(placed_buffer(bytes, nodes));
    std::memcpy(const_cast<float*>(copy.floats.get()), weights.floats.get(), bytes);
    return copy;
  }
  if (!slab_ || slab_used_ + bytes > slab_->bytes()) {
    slab_ = std::make_shared<const AlignedBuffer>(placed_buffer(kSlabBytes, nodes));
    slab_used_ = 0;
  }
  const float* const place = slab_->floats() + slab_used_ / sizeof(float);
  std::memcpy(const_cast<float*>(place), weights.floats.get(), bytes);
  constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
  slab_used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return {std::shared_ptr<const float>(slab_, place), bytes};
}

PackedWeights WeightStore::placed(const NumaNodes& nodes, AlignedBuffer buffer) {
  if (nodes.empty() || buffer.bytes() == 0 || buffer.bytes() >= AlignedBuffer::kMappedBytes)
    return weights_in(colonnade::placed(std::move(buffer), nodes));
  return copied(nodes, weights_in(std::move(buffer)));
}

/// From the source, from another node's copy, else packed.
PackedWeights WeightStore::made(const std::shared_ptr<const Constant>& constant, const std::string& format,
                                const std::function<AlignedBuffer(const Constant&)>& pack) {
  if (auto found = source_ ? source_(*constant, format, node_) : std::nullopt) return *std::move(found);
  const NumaNodes nodes = place_ ? place_(node_) : NumaNodes();
  if (first_ != nullptr && !nodes.empty())
    if (const auto other = first_->find(constant, format)) return copied(nodes, *other);
  interruption_point();
  return placed(nodes, pack(*constant));
}

std::shared_ptr<const std::byte> WeightStore::plain(const std::shared_ptr<const Constant>& constant) {
  if (!place_ || constant->byte_size() == 0 || constant->dtype() == DType::string) return constant->bytes();
  const PackedWeights copy = get(constant, "plain", [](const Constant& elements) {
    AlignedBuffer buffer(elements.byte_size());
    std::memcpy(buffer.data(), elements.bytes().get(), buffer.bytes());
    return buffer;
  });
  return {copy.floats, reinterpret_cast<const std::byte*>(copy.floats.get())};
}

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
