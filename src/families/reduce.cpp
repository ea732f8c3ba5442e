// SPDX-License-Identifier: Apache-2.0
// Reductions along the width, row by row, and over adjacent axes of whole tensors.
#include "families/reduce.hpp"

#include <numeric>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/norm/norm.hpp"

namespace colonnade {
namespace {

using kernels::norm::Reduction;

struct ReduceForm {
  Reduction kind;
  ReducedAxes axes{};
};

constexpr std::int64_t kUnitChannels = ReducedAxes::kUnitChannels;

Reduction kernel_kind(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return Reduction::sum;
    case ReduceKind::mean: return Reduction::mean;
    case ReduceKind::max: return Reduction::max;
    case ReduceKind::min: return Reduction::min;
    case ReduceKind::prod: return Reduction::prod;
    case ReduceKind::l1: return Reduction::l1;
    case ReduceKind::l2: return Reduction::l2;
    case ReduceKind::log_sum: return Reduction::log_sum;
    case ReduceKind::log_sum_exp: return Reduction::log_sum_exp;
    case ReduceKind::sum_square: return Reduction::sum_square;
  }
  return Reduction::sum;
}

class ReduceWidthOp final : public RowOp {
 public:
  explicit ReduceWidthOp(const LowerContext& context)
      : kernel_(kernels::norm::select(context.features)),
        op_(context.form<ReduceForm>().kind),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        shape_(row_shape(context.input_shape(0))) {}

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    kernels::norm::ReduceArgs args;
    args.op = op_;
    args.pixels = static_cast<std::size_t>(shape_.width);
    args.channels = static_cast<std::size_t>(shape_.channels);
    args.in_pixel_stride = in.pixel_stride();
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      args.in = in(r);
      args.out = out(r);
      kernel_.reduce(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  Reduction op_;
  ValueOf<float> in_, out_;
  RowShape shape_;
};

/// Reduction over adjacent axes of a whole tensor; units are blocks of the inner indices of each outer one.
class ReduceOp final : public RowOp {
 public:
  explicit ReduceOp(const LowerContext& context)
      : kernel_(kernels::norm::select(context.features)),
        op_(context.form<ReduceForm>().kind),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        axes_(context.form<ReduceForm>().axes) {}

  void run(const StepContext& step) const override {
    kernels::norm::ReduceArgs args;
    args.op = op_;
    args.pixels = static_cast<std::size_t>(axes_.reduced);
    args.in_pixel_stride = axes_.inner;
    args.in_line_stride = axes_.reduced * axes_.inner;
    const std::int64_t blocks = axes_.blocks();
    for (std::int64_t unit = step.row_begin; unit < step.row_end; unit += static_cast<std::int64_t>(args.lines)) {
      const std::int64_t outer = unit / blocks, channel = unit % blocks * kUnitChannels;
      args.lines = static_cast<std::size_t>(blocks == 1 ? step.row_end - unit : 1);
      args.channels = static_cast<std::size_t>(std::min(kUnitChannels, axes_.inner - channel));
      args.in = whole(step, in_) + outer * args.in_line_stride + channel;
      args.out = whole(step, out_) + outer * axes_.inner + channel;
      kernel_.reduce(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  Reduction op_;
  ValueOf<float> in_, out_;
  ReducedAxes axes_;
};

/// Nothing when the axes are not adjacent; those of one element are whatever is around them.
std::optional<ReducedAxes> adjacent(const Shape& input, const Ints& axes, const Node& node) {
  const auto rank = static_cast<std::int64_t>(input.size());
  std::vector<bool> reduced(input.size(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(normalize_axis(axis, rank, node))] = true;
  ReducedAxes split;
  int phase = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (input[i] == 1) continue;
    if (reduced[i] && phase == 2) return std::nullopt;
    if (reduced[i]) phase = 1;
    if (!reduced[i] && phase == 1) phase = 2;
    (phase == 0 ? split.outer : phase == 1 ? split.reduced : split.inner) *= input[i];
  }
  return split;
}

Match match_width(const Candidate& node) {
  const auto* op = std::get_if<Reduce>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto axes = constant_ints(node.graph, node.node, 1);
  const bool one = axes && axes->size() == 1 && node.input_shape(0).size() == 4 && op->keepdims;
  const bool width = one && normalize_axis(axes->front(), 4, node.node) == 2;
  return width ? take(Form::of(ReduceForm{kernel_kind(op->kind)})) : refuse();
}

Match match(const Candidate& node) {
  const auto* op = std::get_if<Reduce>(&node.node.op);
  if (op == nullptr) return refuse();
  Match refused;
  const auto reduced = reduced_axes(node, *op, refused);
  return reduced ? take(Form::of(ReduceForm{kernel_kind(op->kind), *reduced})) : refused;
}

std::int64_t units(const Chosen& node) { return node.form<ReduceForm>().axes.units(); }

std::unique_ptr<RowOp> lower_width(const LowerContext& context) { return std::make_unique<ReduceWidthOp>(context); }
std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<ReduceOp>(context); }

}  // namespace

std::int64_t ReducedAxes::blocks() const { return ceil_div(inner, kUnitChannels); }

std::optional<ReducedAxes> reduced_axes(const Subject& node, const Reduce& op, Match& refused) {
  auto axes = node.has_input(1) ? constant_ints(node.graph, node.node, 1) : Ints{};
  if (!axes || (axes->empty() && op.noop_with_empty_axes)) refused = refuse("axes are not given as a constant");
  if (!refused.reason.empty()) return std::nullopt;
  const Shape& shape = node.input_shape(0);
  if (axes->empty()) {
    axes->resize(shape.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  const auto reduced = adjacent(shape, *axes, node.node);
  if (!reduced) refused = refuse("reduced axes are not adjacent");
  return reduced;
}

constinit const Family families::reduce_width = {.name = "reduce_width",
                                                 .scope = Scope::rows,
                                                 .border = Border::none,
                                                 .types = kFloats,
                                                 .match = match_width,
                                                 .units = one_unit,
                                                 .effort = element_effort<Work::reduce>,
                                                 .weights_bytes = no_bytes,
                                                 .workspace_bytes = no_bytes,
                                                 .window = no_window,
                                                 .chunks = no_chunks,
                                                 .placements = no_placements,
                                                 .tell = nothing_told,
                                                 .lower = lower_width};

constinit const Family families::reduce = whole_family({.name = "reduce",
                                                        .types = kFloats,
                                                        .match = match,
                                                        .units = units,
                                                        .effort = element_effort<Work::reduce>,
                                                        .weights_bytes = no_bytes,
                                                        .workspace_bytes = no_bytes,
                                                        .lower = lower});

}  // namespace colonnade
