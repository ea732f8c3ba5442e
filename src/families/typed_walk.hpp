// SPDX-License-Identifier: Apache-2.0
// Walks over boxes of elements, row by row, settled when lowered; in parts, for threads to share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/error.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "kernels/move/move.hpp"
#include "kernels/typed/typed.hpp"
#include "reference/indexing.hpp"

namespace colonnade::typed_walk {

using kernels::typed::RowFn;

inline std::int64_t element_bytes(const LowerContext& context, ValueId value) {
  return static_cast<std::int64_t>(size_of(context.graph.value(value).type.dtype));
}

/// One operand of a walk: a value, the element it begins with, and the elements to step along each axis of the box.
struct Operand {
  ValueId value = kAbsent;
  std::int64_t offset = 0;
  Ints strides;
};

/// A box of output elements and where its operands lie; a row kernel for its rows.
class Walk {
 public:
  static constexpr std::size_t kOperands = 4;  ///< the output and up to three inputs

  /// `copies`: the row kernel only copies, so that rows may be any axis.
  Walk(const LowerContext& context, RowFn row, Shape shape, const std::vector<Operand>& inputs, const Operand& output,
       bool copies = false)
      : row_(row), inputs_(inputs.size()) {
    std::array<Ints, kOperands> strides;
    strides.fill(Ints(shape.size(), 0));
    for (std::size_t n = 0; n <= inputs_; ++n) {
      const Operand& operand = n == inputs_ ? output : inputs[n];
      bytes_[n] = element_bytes(context, operand.value);
      values_[n] = operand.value;
      offsets_[n] = operand.offset * bytes_[n];
      strides[n] = operand.strides;
    }
    reference::coalesce(shape, strides);
    if (copies) {
      const auto both = std::span(strides).first(inputs_ + 1);
      lengthen_rows(shape, both);
      if (has_short_rows(shape, both)) {
        copy_ = kernels::move::select(context.features).copy;
        add_rows(shape, both);
      }
    } else if (shape.back() > 1 && strides[inputs_].back() != 1) {  // rows are dense in the output
      shape.push_back(1);
      for (Ints& s : strides) s.push_back(0);
    }
    count_ = shape.back();
    out_step_ = count_ > 1 ? strides[inputs_].back() : 1;
    for (std::size_t n = 0; n < inputs_; ++n) steps_[n] = strides[n].back();
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
      Axis entry{reference::product(shape, axis + 1, shape.size()), {}};
      for (std::size_t n = 0; n <= inputs_; ++n) entry.strides[n] = strides[n][axis] * bytes_[n];
      axes_.push_back(entry);
    }
    size_ = element_count(shape);
  }

  /// Output elements, in the order of the box.
  std::int64_t size() const { return size_; }

  /// Runs the output elements [begin, end); `undefined` as RowArgs has it.
  void run(const StepContext& step, std::int64_t begin, std::int64_t end, bool& undefined) const {
    std::array<std::byte*, kOperands> at{};
    for (std::size_t n = 0; n <= inputs_; ++n) at[n] = whole(step, values_[n]) + offsets_[n];
    kernels::typed::RowArgs args;
    for (std::size_t n = 0; n < inputs_; ++n) args.step[n] = steps_[n];
    args.out_step = out_step_;
    args.undefined = &undefined;
    if (begin < end) run_axis(0, at, begin, end, args);
  }

 private:
  /// Rows of a few elements cost calls: a longer axis becomes the row, at best one of many elements near the last. Few
  /// that lie side by side in both operands stay a row, as many such rows are copied at once.
  static void lengthen_rows(Shape& shape, std::span<Ints> strides) {
    constexpr std::int64_t kShort = 8;
    if (shape.back() > kShort) return;
    const auto is_long = [](std::int64_t size) { return size > 2 * kShort; };
    auto found = std::find_if(shape.rbegin(), shape.rend(), is_long);
    if (found == shape.rend()) {
      if (std::ranges::all_of(strides, [](const Ints& s) { return s.back() == 1; })) return;
      found = std::max_element(shape.rbegin(), shape.rend());
      if (*found < 2 * shape.back()) return;
    }
    const std::ptrdiff_t axis = shape.rend() - found - 1;
    std::rotate(shape.begin() + axis, shape.begin() + axis + 1, shape.end());
    for (Ints& s : strides) std::rotate(s.begin() + axis, s.begin() + axis + 1, s.end());
  }

  /// Elements side by side, so few that a call a row costs more than its copy.
  bool has_short_rows(const Shape& shape, std::span<const Ints> strides) const {
    constexpr std::int64_t kShortBytes = 512;
    const bool dense = strides[0].back() == 1 && (shape.back() == 1 || strides[1].back() == 1);
    return dense && shape.back() * bytes_[0] <= kShortBytes;
  }

  /// Short rows are copied an axis of them at a time: not by one of a few rows where a longer one is near.
  static void add_rows(Shape& shape, std::span<Ints> strides) {
    constexpr std::int64_t kFew = 8;
    if (shape.size() < 3 || shape[shape.size() - 2] >= kFew) return;
    const auto found = std::find_if(shape.rbegin() + 2, shape.rend(), [](std::int64_t size) { return size >= kFew; });
    if (found == shape.rend()) return;
    const std::ptrdiff_t axis = shape.rend() - found - 1;
    std::rotate(shape.begin() + axis, shape.begin() + axis + 1, shape.end() - 1);
    for (Ints& s : strides) std::rotate(s.begin() + axis, s.begin() + axis + 1, s.end() - 1);
  }

  struct Axis {
    std::int64_t elements = 1;                      ///< of one step along the axis
    std::array<std::int64_t, kOperands> strides{};  ///< in bytes
  };

  void run_axis(std::size_t axis, std::array<std::byte*, kOperands> at, std::int64_t begin, std::int64_t end,
                kernels::typed::RowArgs& args) const {
    if (axis == axes_.size()) return run_row(at, begin, end, args);
    const Axis& entry = axes_[axis];
    const std::int64_t first = begin / entry.elements;
    for (std::size_t n = 0; n <= inputs_; ++n) at[n] += first * entry.strides[n];
    const bool innermost = axis + 1 == axes_.size();
    if (innermost && copy_ != nullptr && begin == first * entry.elements && end % entry.elements == 0) {
      const auto rows = static_cast<std::size_t>(end / entry.elements - first);
      return copy_(
          {rows, static_cast<std::size_t>(count_ * bytes_[0]), at[0], at[1], entry.strides[0], entry.strides[1]});
    }
    for (std::int64_t base = first * entry.elements; base < end; base += entry.elements) {
      const std::int64_t from = std::max<std::int64_t>(0, begin - base), to = std::min(entry.elements, end - base);
      if (innermost)
        run_row(at, from, to, args);
      else
        run_axis(axis + 1, at, from, to, args);
      for (std::size_t n = 0; n <= inputs_; ++n) at[n] += entry.strides[n];
    }
  }

  void run_row(const std::array<std::byte*, kOperands>& at, std::int64_t begin, std::int64_t end,
               kernels::typed::RowArgs& args) const {
    for (std::size_t n = 0; n < inputs_; ++n) args.in[n] = at[n] + begin * steps_[n] * bytes_[n];
    args.out = at[inputs_] + begin * out_step_ * bytes_[inputs_];
    args.count = static_cast<std::size_t>(end - begin);
    row_(args);
  }

  RowFn row_;
  void (*copy_)(const kernels::move::CopyArgs&) noexcept = nullptr;  ///< of many short rows
  std::size_t inputs_;
  std::array<ValueId, kOperands> values_{};
  std::array<std::int64_t, kOperands> offsets_{}, bytes_{}, steps_{};
  std::int64_t count_ = 1, size_ = 1, out_step_ = 1;
  std::vector<Axis> axes_;
};

/// Walks, each in as many parts as the operator has units.
class WalkOp final : public RowOp {
 public:
  WalkOp(const LowerContext& context, std::string_view kernel, std::vector<Walk> walks, std::int64_t units)
      : label_(fmt::format("node '{}' ({})", context.node.name, name_of(context.node.op))),
        kernel_(kernel),
        walks_(std::move(walks)),
        units_(units) {}

  void run(const StepContext& step) const override {
    bool undefined = false;
    for (const Walk& walk : walks_)
      walk.run(step, part_begin(walk, step.row_begin), part_begin(walk, step.row_end), undefined);
    if (undefined) fail(ErrorCode::invalid_input, "{}: division by zero", label_);
  }
  std::string_view kernel() const override { return kernel_; }

 private:
  /// The first element of a unit: at the start of a cache line, so that no two threads write one.
  std::int64_t part_begin(const Walk& walk, std::int64_t unit) const {
    constexpr std::int64_t kLine = 64;
    if (unit >= units_) return walk.size();
    return walk.size() / units_ * unit / kLine * kLine;
  }

  std::string label_;
  std::string_view kernel_;
  std::vector<Walk> walks_;
  std::int64_t units_;
};

}  // namespace colonnade::typed_walk
