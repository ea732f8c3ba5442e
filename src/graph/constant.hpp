// SPDX-License-Identifier: Apache-2.0
// Elements that a graph knows. Small ones lie in memory. Large ones are a recipe: they are read from a file, or
// computed from other constants, whenever someone asks, and stay in memory only while someone holds them. So a model's
// weights are in memory once, packed, however many passes rewrote them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "colonnade/colonnade.hpp"

namespace colonnade {

struct NarrowWeights;

/// Immutable and shared; safe to use from several threads.
class Constant {
 public:
  /// Writes the elements from `first` on, as many as `target` has room for; `target` is aligned for them. The same
  /// elements every time. Throws Error{io} when a file no longer answers.
  using Make = std::function<void(std::int64_t first, std::span<std::byte> target)>;
  /// Up to here elements are made at once and kept.
  static constexpr std::size_t kSmallBytes = 16384;

  explicit Constant(Tensor tensor);
  explicit Constant(std::shared_ptr<const Tensor> tensor);
  /// `is_normal`: known to hold no denormal float. `narrow`: of what numbers a matrix of floats is made.
  Constant(DType dtype, Shape shape, Make make, bool is_normal = false,
           std::shared_ptr<const NarrowWeights> narrow = nullptr);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return size_; }
  std::size_t byte_size() const { return static_cast<std::size_t>(size_) * size_of(dtype_); }
  bool is_kept() const { return kept_ != nullptr; }
  bool is_normal() const { return is_normal_.load(std::memory_order_relaxed); }
  /// Its elements were looked at, and none is denormal.
  void set_normal() const { is_normal_.store(true, std::memory_order_relaxed); }
  /// Known to repeat one element.
  bool is_uniform() const { return is_uniform_; }
  /// The numbers that the floats were made of (graph/narrow_weights.hpp), or null.
  const std::shared_ptr<const NarrowWeights>& narrow() const { return narrow_; }

  /// All elements. Made now unless kept or held by someone.
  std::shared_ptr<const Tensor> tensor() const;
  /// The memory of all elements, of numbers. A part lies in the memory of its whole.
  std::shared_ptr<const std::byte> bytes() const;
  /// Another one for each constant.
  std::uint64_t serial() const { return serial_; }
  /// Copies the elements from `first` on; `target` is aligned for them. Not for strings.
  void read(std::int64_t first, std::span<std::byte> target) const;
  /// Calls `visit` with all rows of the outermost axis, a block of them at a time that fits a cache: the elements and
  /// the first row's number. Blocks start at multiples of `multiple` rows. They come in any order, several at the same
  /// time where the thread has helpers (base/parts.hpp).
  void for_each_rows(std::int64_t multiple,
                     const std::function<void(std::span<const float> elements, std::int64_t first_row)>& visit) const;

 private:
  friend std::shared_ptr<const Constant> part_of(std::shared_ptr<const Constant> whole, std::int64_t first,
                                                 Shape shape);
  friend std::shared_ptr<const Constant> filled(const Tensor& element, Shape shape);
  friend std::shared_ptr<const Constant> derived(const std::shared_ptr<const Constant>& from, const std::string& how,
                                                 const std::function<std::shared_ptr<const Constant>()>& make);

  DType dtype_;
  Shape shape_;
  std::int64_t size_;
  mutable std::atomic<bool> is_normal_{false};
  bool is_uniform_ = false;
  std::shared_ptr<const Tensor> kept_;
  Make make_;
  std::shared_ptr<const NarrowWeights> narrow_;
  std::shared_ptr<const Constant> whole_;  ///< null: it is no part of another one
  std::int64_t first_of_whole_ = 0;
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const Tensor> held_;
  std::uint64_t serial_;
  /// What was made of this one: some tiny ones are kept, others held by those who use them.
  struct Derived {
    std::shared_ptr<const Constant> kept;
    std::weak_ptr<const Constant> held;
  };
  mutable std::map<std::string, Derived> derived_;
  mutable bool is_derived_ = false;
  mutable std::shared_ptr<const Constant> from_;  ///< what is derived as well, and of which this one was made
};

/// What `make` makes of a constant, which `how` names: the same one for as long as somebody holds it, so that what
/// passes make of weights for one shape serves others. Of a small constant it is made each time.
std::shared_ptr<const Constant> derived(const std::shared_ptr<const Constant>& from, const std::string& how,
                                        const std::function<std::shared_ptr<const Constant>()>& make);
/// The same elements under another shape of equal element count.
std::shared_ptr<const Constant> reshaped(std::shared_ptr<const Constant> constant, Shape shape);
/// The elements of `whole` (of numbers) from `first` on, as many as the shape has.
std::shared_ptr<const Constant> part_of(std::shared_ptr<const Constant> whole, std::int64_t first, Shape shape);
/// The one element (a number) of a tensor, again and again: a recipe where that is large.
std::shared_ptr<const Constant> filled(const Tensor& element, Shape shape);

}  // namespace colonnade
