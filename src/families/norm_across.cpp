// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisations along other axes than the channels of a row, on whole tensors.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/norm/norm.hpp"
#include "reference/indexing.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kUnitLines = 256;

reference::AxisView view_of(const Subject& node, std::int64_t axis) {
  const Shape& shape = node.input_shape(0);
  return reference::axis_view(shape, normalize_axis(axis, static_cast<std::int64_t>(shape.size()), node.node));
}

/// Units are blocks of lines that lie side by side.
class SoftmaxAcrossOp final : public RowOp {
 public:
  SoftmaxAcrossOp(const LowerContext& context, const Softmax& softmax)
      : kernel_(kernels::norm::select(context.features)),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        view_(view_of(context, softmax.axis)) {
    args_.size = static_cast<std::size_t>(view_.size);
    args_.stride = view_.inner;
    args_.log = softmax.log;
  }

  void run(const StepContext& step) const override {
    const std::int64_t blocks = ceil_div(view_.inner, kUnitLines);
    kernels::norm::SoftmaxAcrossArgs args = args_;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t line = unit % blocks * kUnitLines, offset = unit / blocks * view_.size * view_.inner + line;
      args.count = static_cast<std::size_t>(std::min(kUnitLines, view_.inner - line));
      args.in = whole(step, in_) + offset;
      args.out = whole(step, out_) + offset;
      kernel_.softmax_across(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  ValueOf<float> in_, out_;
  reference::AxisView view_;
  kernels::norm::SoftmaxAcrossArgs args_;
};

/// Instance norm of planes side by side: units are planes.
class PlaneNormOp final : public RowOp {
 public:
  PlaneNormOp(const LowerContext& context, const InstanceNorm& norm)
      : kernel_(kernels::norm::select(context.features)),
        epsilon_(norm.epsilon),
        scale_(context.floats(1)),
        bias_(context.floats(2)),
        in_(context.in<float>(0)),
        scales_(context.in<float>(1)),
        biases_(context.in<float>(2)),
        out_(context.out<float>()),
        channels_(context.input_shape(0)[1]),
        pixels_(view_of(context, 1).inner) {}

  void run(const StepContext& step) const override {
    const float* scale = scale_ ? scale_ : whole(step, scales_);
    const float* bias = bias_ ? bias_ : whole(step, biases_);
    kernels::norm::LineNormArgs args;
    args.count = static_cast<std::size_t>(pixels_);
    args.epsilon = epsilon_;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      args.in = whole(step, in_) + unit * pixels_;
      args.out = whole(step, out_) + unit * pixels_;
      args.scale = scale[unit % channels_];
      args.bias = bias[unit % channels_];
      kernel_.line_norm(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::norm::Kernel& kernel_;
  float epsilon_;
  const float* scale_;
  const float* bias_;
  ValueOf<float> in_, scales_, biases_, out_;
  std::int64_t channels_, pixels_;
};

Match match_softmax(const Candidate& node) {
  const auto* op = std::get_if<Softmax>(&node.node.op);
  if (op == nullptr || node.input_shape(0).empty()) return refuse();
  return view_of(node, op->axis).inner > 1 ? take() : refuse();
}

Match match_plane_norm(const Candidate& node) {
  const auto* op = std::get_if<InstanceNorm>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto rank = static_cast<std::int64_t>(node.input_shape(0).size());
  if (rank < 3 || normalize_axis(op->axis, rank, node.node) != 1) return refuse("channels are neither first nor last");
  for (const std::size_t input : {1, 2})
    if (node.input(input).type.dtype != DType::f32 || element_count(node.input_shape(input)) != node.input_shape(0)[1])
      return refuse("scale or bias are not one a channel");
  return take();
}

std::int64_t blocks_of_lines(const Chosen& node) {
  const reference::AxisView view = view_of(node, std::get<Softmax>(node.node.op).axis);
  return view.outer * ceil_div(view.inner, kUnitLines);
}

std::int64_t plane_count(const Chosen& node) { return node.input_shape(0)[0] * node.input_shape(0)[1]; }

std::unique_ptr<RowOp> lower_softmax(const LowerContext& context) {
  return std::make_unique<SoftmaxAcrossOp>(context, std::get<Softmax>(context.node.op));
}

std::unique_ptr<RowOp> lower_plane_norm(const LowerContext& context) {
  return std::make_unique<PlaneNormOp>(context, std::get<InstanceNorm>(context.node.op));
}

}  // namespace

constinit const Family families::softmax_across = whole_family({.name = "softmax_across",
                                                                .types = kFloats,
                                                                .match = match_softmax,
                                                                .units = blocks_of_lines,
                                                                .effort = element_effort<Work::normalise>,
                                                                .weights_bytes = no_bytes,
                                                                .workspace_bytes = no_bytes,
                                                                .lower = lower_softmax});

constinit const Family families::plane_norm = whole_family({.name = "plane_norm",
                                                            .types = kFloats,
                                                            .match = match_plane_norm,
                                                            .units = plane_count,
                                                            .effort = element_effort<Work::normalise>,
                                                            .weights_bytes = no_bytes,
                                                            .workspace_bytes = no_bytes,
                                                            .lower = lower_plane_norm});

}  // namespace colonnade
