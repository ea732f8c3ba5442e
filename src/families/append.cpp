// SPDX-License-Identifier: Apache-2.0
// A cache's rows with new ones behind them. Where past and result are one buffer only the new rows are written.
#include "reference/onnx/append.hpp"

#include <algorithm>
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "kernels/base/copy.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade {
namespace {

/// Rows of one head.
std::int64_t head_rows(const Shape& shape) { return shape[shape.size() - 2]; }

Shared appended_planes(const Subject& node) {
  const Shape& shape = node.output_shape();
  return {element_count(std::span(shape).first(shape.size() - 2))};
}

class AppendOp final : public RowOp {
 public:
  explicit AppendOp(const LowerContext& context)
      : past_(context.in<std::byte>(0)),
        new_(context.in<std::byte>(1)),
        starts_(context.in<std::int64_t>(reference::kAppendStarts)),
        out_(context.out<std::byte>()),
        planes_(appended_planes(context)),
        count_(head_rows(context.input_shape(1))),
        most_past_(head_rows(context.input_shape(0))),
        most_(head_rows(context.output_shape())),
        row_bytes_(context.output_shape().back() * element_bytes(context.input(0))),
        name_(context.node.name),
        origin_(context.node.origin) {
    if (context.has_input(reference::kAppendRoom)) room_ = context.in<std::int64_t>(reference::kAppendRoom);
    const std::int64_t starts = element_count(context.input_shape(reference::kAppendStarts));
    a_start_ = planes_.total / std::max<std::int64_t>(1, starts);
  }

  void run(const StepContext& step) const override {
    const std::int64_t past = room_ ? whole(step, room_)[0] : most_past_;
    const std::int64_t all = room_ ? whole(step, room_)[1] : most_;
    if (past < 0 || past > most_past_ || all < 0 || all > most_)
      fail(ErrorCode::invalid_input, "node '{}' ({}): a cache of {} and {} rows, expected at most {} and {}", name_,
           origin_, past, all, most_past_, most_);
    const Interval planes = planes_.of(step);
    for (std::int64_t plane = planes.begin; plane < planes.end; ++plane) {
      const std::int64_t start = whole(step, starts_)[plane / a_start_];
      if (start < 0 || start > past || start + count_ > all)
        fail(ErrorCode::invalid_input, "node '{}' ({}): {} new rows behind {} of {} do not fit a cache of {}", name_,
             origin_, count_, start, past, all);
      const std::byte* from = whole(step, past_) + plane * past * row_bytes_;
      std::byte* to = whole(step, out_) + plane * all * row_bytes_;
      const bool in_place = from == to;
      if (!in_place) std::memmove(to, from, bytes(start));
      kernels::copy_memory(to + start * row_bytes_, whole(step, new_) + plane * count_ * row_bytes_, bytes(count_));
      if (!in_place) std::memset(to + (start + count_) * row_bytes_, 0, bytes(all - start - count_));
    }
  }

  std::string_view kernel() const override { return "append"; }
  bool changes_in_place() const override { return true; }

 private:
  std::size_t bytes(std::int64_t rows) const { return static_cast<std::size_t>(rows * row_bytes_); }

  ValueOf<std::byte> past_, new_;
  ValueOf<std::int64_t> starts_, room_;
  ValueOf<std::byte> out_;
  Shared planes_;
  std::int64_t count_, most_past_, most_, row_bytes_;
  std::int64_t a_start_ = 1;  ///< planes that begin alike
  std::string name_, origin_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Opaque>(&node.node.op);
  if (op == nullptr || op->definition != &reference::kAppend) return refuse();
  const std::int64_t starts = element_count(node.input_shape(reference::kAppendStarts));
  const bool fits = starts == 1 || (starts > 0 && starts == node.output_shape().front());
  return fits ? take() : refuse("new rows of other texts");
}

std::int64_t units(const Chosen& node) { return appended_planes(node).units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<AppendOp>(context); }

}  // namespace

constinit const Family families::append = whole_family({.name = "append",
                                                        .types = kMovedTypes,
                                                        .match = match,
                                                        .units = units,
                                                        .effort = byte_effort<Work::copy>,
                                                        .weights_bytes = no_bytes,
                                                        .workspace_bytes = no_bytes,
                                                        .lower = lower});

}  // namespace colonnade
