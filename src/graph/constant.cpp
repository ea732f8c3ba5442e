// SPDX-License-Identifier: Apache-2.0
#include "graph/constant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/parts.hpp"

namespace colonnade {
namespace {

/// So many of so few bytes that were derived of a constant stay with it.
constexpr std::size_t kTinyBytes = 64, kMostKept = 64;
/// What `for_each_rows` makes at a time, when rows are small enough.
constexpr std::int64_t kBlockBytes = 256 * 1024;

/// Buffers of one size, one a thread that asks: memory that was written before has no pages to fault in.
class SpareBuffers {
 public:
  explicit SpareBuffers(std::size_t bytes) : bytes_(bytes) {}

  AlignedBuffer take() {
    const std::scoped_lock lock(mutex_);
    if (spare_.empty()) return AlignedBuffer(bytes_);
    AlignedBuffer buffer = std::move(spare_.back());
    spare_.pop_back();
    return buffer;
  }
  void give(AlignedBuffer buffer) {
    const std::scoped_lock lock(mutex_);
    spare_.push_back(std::move(buffer));
  }

 private:
  std::size_t bytes_;
  std::mutex mutex_;
  std::vector<AlignedBuffer> spare_;
};

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::span<std::byte> bytes_of(Tensor& tensor) { return {static_cast<std::byte*>(tensor.data()), tensor.byte_size()}; }

}  // namespace

Constant::Constant(Tensor tensor) : Constant(std::make_shared<const Tensor>(std::move(tensor))) {}

Constant::Constant(std::shared_ptr<const Tensor> tensor)
    : dtype_(tensor->dtype()),
      shape_(tensor->shape()),
      size_(tensor->size()),
      kept_(std::move(tensor)),
      serial_(next_serial()) {}

Constant::Constant(DType dtype, Shape shape, Make make, bool is_normal, std::shared_ptr<const NarrowWeights> narrow)
    : dtype_(dtype),
      shape_(std::move(shape)),
      size_(element_count(shape_)),
      is_normal_(is_normal),
      make_(std::move(make)),
      narrow_(std::move(narrow)),
      serial_(next_serial()) {
  if (byte_size() <= kSmallBytes) kept_ = tensor();
}

std::shared_ptr<const Tensor> Constant::tensor() const {
  if (kept_) return kept_;
  const std::scoped_lock lock(mutex_);
  if (auto held = held_.lock()) return held;
  auto made = std::make_shared<Tensor>(dtype_, shape_);
  if (size_ > 0) make_(0, bytes_of(*made));
  held_ = made;
  return made;
}

std::shared_ptr<const std::byte> Constant::bytes() const {
  if (whole_ && !kept_) {
    auto bytes = whole_->bytes();
    const std::byte* first = bytes.get() + static_cast<std::size_t>(first_of_whole_) * size_of(dtype_);
    return {std::move(bytes), first};
  }
  auto elements = tensor();
  const auto* first = static_cast<const std::byte*>(elements->data());
  return {std::move(elements), first};
}

void Constant::read(std::int64_t first, std::span<std::byte> target) const {
  if (target.empty()) return;
  if (!kept_) return make_(first, target);
  std::memcpy(target.data(),
              static_cast<const std::byte*>(kept_->data()) + static_cast<std::size_t>(first) * size_of(dtype_),
              target.size());
}

void Constant::for_each_rows(
    std::int64_t multiple,
    const std::function<void(std::span<const float> elements, std::int64_t first_row)>& visit) const {
  if (dtype_ != DType::f32 || shape_.empty()) fail(ErrorCode::internal, "rows of a constant that has none");
  if (size_ == 0) return;
  if (kept_) return visit(kept_->values<float>(), 0);
  const std::int64_t rows = shape_[0], row = size_ / rows;
  const std::int64_t blocks = std::max<std::int64_t>(1, kBlockBytes / (row * multiple * 4));
  const std::int64_t step = std::min(rows, blocks * multiple);
  SpareBuffers buffers(static_cast<std::size_t>(step * row) * sizeof(float));
  for_each_part(ceil_div(rows, step), [&](std::int64_t block) {
    const std::int64_t first = block * step;
    const auto count = static_cast<std::size_t>(std::min(step, rows - first) * row);
    AlignedBuffer buffer = buffers.take();
    make_(first * row, {buffer.data(), count * sizeof(float)});
    visit({buffer.floats(), count}, first);
    buffers.give(std::move(buffer));
  });
}

std::shared_ptr<const Constant> derived(const std::shared_ptr<const Constant>& from, const std::string& how,
                                        const std::function<std::shared_ptr<const Constant>()>& make) {
  if (from->byte_size() <= Constant::kSmallBytes) return make();
  const auto find = [&]() -> std::shared_ptr<const Constant> {
    const auto found = from->derived_.find(how);
    if (found == from->derived_.end()) return nullptr;
    return found->second.kept ? found->second.kept : found->second.held.lock();
  };
  {
    const std::scoped_lock lock(from->mutex_);
    if (auto found = find()) return found;
  }
  auto made = make();
  const bool is_tiny = made->byte_size() <= kTinyBytes;
  const std::scoped_lock lock(from->mutex_);
  if (auto found = find()) return found;
  std::erase_if(from->derived_, [](const auto& item) { return !item.second.kept && item.second.held.expired(); });
  from->derived_[how] = {is_tiny && from->derived_.size() < kMostKept ? made : nullptr, made};
  made->is_derived_ = true;
  if (!is_tiny && from->is_derived_) made->from_ = from;
  return made;
}

std::shared_ptr<const Constant> reshaped(std::shared_ptr<const Constant> constant, Shape shape) {
  if (element_count(shape) != constant->size()) {
    fail(ErrorCode::invalid_argument, "cannot reshape a constant of {} elements to {} elements", constant->size(),
         element_count(shape));
  }
  if (constant->dtype() == DType::string)
    return std::make_shared<const Constant>(Tensor(*constant->tensor()).reshaped(std::move(shape)));
  return derived(constant, fmt::format("reshaped {}", fmt::join(shape, " ")),
                 [&] { return part_of(constant, 0, shape); });
}

std::shared_ptr<const Constant> part_of(std::shared_ptr<const Constant> whole, std::int64_t first, Shape shape) {
  const std::int64_t count = element_count(shape);
  if (first < 0 || first > whole->size() || count > whole->size() - first) {
    fail(ErrorCode::internal, "elements {} to {} of a constant that has {}", first, first + count, whole->size());
  }
  const DType dtype = whole->dtype();
  const auto make = [whole, first](std::int64_t at, std::span<std::byte> target) { whole->read(first + at, target); };
  auto part = std::make_shared<Constant>(dtype, std::move(shape), make, whole->is_normal());
  part->whole_ = std::move(whole);
  part->first_of_whole_ = first;
  return part;
}

std::shared_ptr<const Constant> filled(const Tensor& element, Shape shape) {
  std::vector<std::byte> bytes(element.byte_size());
  std::memcpy(bytes.data(), element.data(), bytes.size());
  const auto make = [bytes](std::int64_t, std::span<std::byte> target) {
    for (std::size_t done = 0; done < target.size(); done += bytes.size())
      std::memcpy(target.data() + done, bytes.data(), bytes.size());
  };
  auto constant = std::make_shared<Constant>(element.dtype(), std::move(shape), make);
  constant->is_uniform_ = true;
  return constant;
}

}  // namespace colonnade
