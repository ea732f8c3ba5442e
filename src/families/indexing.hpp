// SPDX-License-Identifier: Apache-2.0
// What indices name in a tensor, as loops that a run walks; sizes and strides count bytes where they say so.
#pragma once

#include <array>
#include <string>

#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "kernels/indexing/indexing.hpp"

namespace colonnade::indexing {

/// Indices whose offsets are known at a time.
inline constexpr std::int64_t kChunk = 512;
using Offsets = std::array<std::int64_t, kChunk>;

/// Tuples of indices and the blocks of data that they name.
struct TupleForm {
  std::int64_t tuples = 0, per_batch = 0, depth = 0, first_axis = 0, blocks = 0;
  std::int64_t block_bytes = 0, batch_bytes = 0;
  Ints sizes, strides;  ///< of the axes that a tuple names, strides in bytes
  Shared shared;
};

/// Blocks along one axis, the same ones for each index of the axes before it.
struct BlockForm {
  std::int64_t axis = 0, size = 1, count = 0, outer = 1;  ///< count: of indices
  std::int64_t block_bytes = 0;
  Shared shared;  ///< blocks of the output
};

/// One axis of an index tensor, or several that both tensors walk evenly.
struct AxisLoop {
  std::int64_t count = 1;   ///< of indices
  std::int64_t extent = 1;  ///< of data
  std::int64_t stride = 0;  ///< of data in bytes, 0 of the axis that indices count
  bool is_axis = false;
  std::int64_t apart = 1;  ///< indices from one step of the loop to the next
};

/// Indices that name single elements along an axis.
struct ElementForm {
  std::vector<AxisLoop> loops;  ///< the last two are the rows and columns of a block; the last one is never the axis
  std::int64_t axis = 0, size = 1, stride = 1;  ///< of the axis, the stride in bytes
  std::size_t shared_loop = 0;
  Shared shared;
};

/// Gather: `batch_dims` axes are shared by data and indices; scatter: none.
TupleForm tuple_form(const Subject& node, std::int64_t batch_dims, bool scatters);
BlockForm block_form(const Subject& node, std::int64_t axis);
ElementForm element_form(const Subject& node, std::int64_t axis, bool scatters);

/// The index tensor of a node, its second input.
class Indices {
 public:
  explicit Indices(const LowerContext& context)
      : value_(context.in<std::byte>(1)),
        wide_(context.input(1).type.dtype == DType::i64),
        node_(context.node.name),
        origin_(context.node.origin),
        tensor_(context.input(1).name) {}

  bool wide() const { return wide_; }
  const std::byte* at(const StepContext& step, std::int64_t position) const {
    return whole(step, value_) + position * (wide_ ? 8 : 4);
  }
  /// Throws Error{invalid_input} that names the first of `count` indices from `position` on that lies outside: index i
  /// counts axis first_axis + i % sizes.size().
  [[noreturn]] void refuse(const StepContext& step, std::int64_t position, std::int64_t count, const Ints& sizes,
                           std::int64_t first_axis) const;

 private:
  ValueOf<std::byte> value_;
  bool wide_;
  std::string node_, origin_, tensor_;
};

/// Calls f(position, base, rows, columns) for blocks of indices side by side: `position` of the first one, byte offset
/// `base` of what index 0 names for it. Of the shared loop only the part of `part`.
template <class F>
class ElementWalk {
 public:
  ElementWalk(const ElementForm& form, Interval part, F f) : form_(form), part_(part), f_(std::move(f)) {}

  void run() const { walk(0, 0, 0); }

 private:
  Interval bounds(std::size_t level) const {
    const std::int64_t count = form_.loops[level].count;
    if (level != form_.shared_loop) return {0, count};
    return {std::min(part_.begin, count), std::min(part_.end, count)};
  }

  void walk(std::size_t level, std::int64_t position, std::int64_t base) const {
    const AxisLoop& loop = form_.loops[level];
    const Interval steps = bounds(level);
    if (level + 2 == form_.loops.size() && loop.is_axis) return blocks(position, base, steps);
    if (level + 1 == form_.loops.size()) return row(position, base);
    for (std::int64_t i = steps.begin; i < steps.end; ++i)
      walk(level + 1, position + i * loop.apart, base + i * loop.stride);
  }

  void blocks(std::int64_t position, std::int64_t base, Interval rows) const {
    const std::int64_t columns = form_.loops.back().count;
    const Interval taken = bounds(form_.loops.size() - 1);
    if (taken != Interval{0, columns} || columns >= kChunk) {
      for (std::int64_t r = rows.begin; r < rows.end; ++r) row(position + r * columns, base);
      return;
    }
    const std::int64_t group = columns == 0 ? 1 : kChunk / columns;
    for (std::int64_t r = rows.begin; r < rows.end; r += group)
      f_(position + r * columns, base, std::min(group, rows.end - r), columns);
  }

  void row(std::int64_t position, std::int64_t base) const {
    const Interval columns = bounds(form_.loops.size() - 1);
    for (std::int64_t c = columns.begin; c < columns.end; c += kChunk)
      f_(position + c, base + c * form_.loops.back().stride, 1, std::min(kChunk, columns.end - c));
  }

  const ElementForm& form_;
  Interval part_;
  F f_;
};

}  // namespace colonnade::indexing
