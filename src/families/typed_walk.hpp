// SPDX-License-Identifier: Apache-2.0
// Walks over boxes of elements, row by row, settled when lowered.
#pragma once

#include <array>

#include "families/lower.hpp"
#include "families/rows.hpp"
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

  Walk(const LowerContext& context, RowFn row, Shape shape, const std::vector<Operand>& inputs, const Operand& output)
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
    if (shape.back() > 1 && strides[inputs_].back() != 1) {  // rows are dense in the output
      shape.push_back(1);
      for (Ints& s : strides) s.push_back(0);
    }
    count_ = shape.back();
    for (std::size_t n = 0; n < inputs_; ++n) steps_[n] = strides[n].back();
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
      Axis entry{shape[axis], {}};
      for (std::size_t n = 0; n <= inputs_; ++n) entry.strides[n] = strides[n][axis] * bytes_[n];
      axes_.push_back(entry);
    }
  }

  void run(const StepContext& step) const {
    std::array<std::byte*, kOperands> at{};
    for (std::size_t n = 0; n <= inputs_; ++n) at[n] = whole(step, values_[n]) + offsets_[n];
    kernels::typed::RowArgs args;
    for (std::size_t n = 0; n < inputs_; ++n) args.step[n] = steps_[n];
    args.count = static_cast<std::size_t>(count_);
    run_axis(0, at, args);
  }

 private:
  struct Axis {
    std::int64_t size = 1;
    std::array<std::int64_t, kOperands> strides{};  ///< in bytes
  };

  void run_axis(std::size_t axis, std::array<std::byte*, kOperands> at, kernels::typed::RowArgs& args) const {
    if (axis == axes_.size()) {
      for (std::size_t n = 0; n < inputs_; ++n) args.in[n] = at[n];
      args.out = at[inputs_];
      return row_(args);
    }
    for (std::int64_t i = 0; i < axes_[axis].size; ++i) {
      run_axis(axis + 1, at, args);
      for (std::size_t n = 0; n <= inputs_; ++n) at[n] += axes_[axis].strides[n];
    }
  }

  RowFn row_;
  std::size_t inputs_;
  std::array<ValueId, kOperands> values_{};
  std::array<std::int64_t, kOperands> offsets_{}, bytes_{}, steps_{};
  std::int64_t count_ = 1;
  std::vector<Axis> axes_;
};

class WalkOp final : public RowOp {
 public:
  WalkOp(std::string_view kernel, std::vector<Walk> walks) : kernel_(kernel), walks_(std::move(walks)) {}
  void run(const StepContext& step) const override {
    for (const Walk& walk : walks_) walk.run(step);
  }
  std::string_view kernel() const override { return kernel_; }

 private:
  std::string_view kernel_;
  std::vector<Walk> walks_;
};

}  // namespace colonnade::typed_walk
