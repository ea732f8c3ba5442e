// SPDX-License-Identifier: Apache-2.0
// The upper or lower part of matrices, zeros elsewhere; elements of any type.
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

/// The rows of all matrices.
Shared rows_of(const Subject& node) { return {element_count(node.input_shape(0)) / node.input_shape(0).back()}; }

class TriluOp final : public RowOp {
 public:
  TriluOp(const LowerContext& context, const Trilu& op)
      : in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        upper_(op.upper),
        rows_(rows_of(context)),
        height_(context.input_shape(0)[context.input_shape(0).size() - 2]),
        width_(context.input_shape(0).back()),
        element_(element_bytes(context.input(0))) {
    if (context.has_input(1) && element_count(context.input_shape(1)) > 0) shift_ = context.in<std::int64_t>(1);
  }

  void run(const StepContext& step) const override {
    const std::int64_t shift = shift_ ? std::clamp(*whole(step, shift_), -height_, width_) : 0;
    const Interval rows = rows_.of(step);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t diagonal = row % height_ + shift;
      const std::int64_t border = std::clamp<std::int64_t>(upper_ ? diagonal : diagonal + 1, 0, width_);
      const std::byte* from = whole(step, in_) + row * width_ * element_;
      std::byte* to = whole(step, out_) + row * width_ * element_;
      const auto left = static_cast<std::size_t>(border * element_);
      const auto right = static_cast<std::size_t>((width_ - border) * element_);
      if (upper_) {
        std::memset(to, 0, left);
        std::memcpy(to + left, from + left, right);
      } else {
        std::memcpy(to, from, left);
        std::memset(to + left, 0, right);
      }
    }
  }

  std::string_view kernel() const override { return "trilu"; }

 private:
  ValueOf<std::byte> in_, out_;
  ValueOf<std::int64_t> shift_;
  bool upper_;
  Shared rows_;
  std::int64_t height_, width_, element_;  ///< of a matrix; bytes
};

Match match(const Candidate& node) {
  if (!std::holds_alternative<Trilu>(node.node.op)) return refuse();
  if (node.input(0).type.dtype == DType::string) return refuse("type has no kernel");
  return !node.has_input(1) || node.input(1).type.dtype == DType::i64 ? take() : refuse("type has no kernel");
}

std::int64_t units(const Chosen& node) { return rows_of(node).units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<TriluOp>(context, std::get<Trilu>(context.node.op));
}

}  // namespace

constinit const Family families::trilu = whole_family({.name = "trilu",
                                                       .types = kAllTypes,
                                                       .match = match,
                                                       .units = units,
                                                       .effort = byte_effort<Work::copy>,
                                                       .weights_bytes = no_bytes,
                                                       .workspace_bytes = no_bytes,
                                                       .lower = lower});

}  // namespace colonnade
