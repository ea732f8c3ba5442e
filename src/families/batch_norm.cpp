// SPDX-License-Identifier: Apache-2.0
// Batch norm whose channels are rows: a factor and a shift a row. Those with channels last are folded by a pass.
#include <cmath>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/elementwise/elementwise.hpp"

namespace colonnade {
namespace {

class BatchNormOp final : public RowOp {
 public:
  explicit BatchNormOp(const LowerContext& context)
      : kernel_(kernels::elementwise::select(context.features)),
        epsilon_(std::get<BatchNorm>(context.node.op).epsilon),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        channels_(row_shape(context.output_shape()).channels) {
    for (std::size_t i = 0; i < kParameters; ++i) {
      constants_[i] = context.floats(i + 1);
      values_[i] = context.in<float>(i + 1);
    }
  }

  void run(const StepContext& step) const override {
    const Rows in(step, in_, 0), out(step, out_, 0);
    const float* parameters[kParameters];
    for (std::size_t i = 0; i < kParameters; ++i)
      parameters[i] = constants_[i] ? constants_[i] : whole(step, values_[i]);
    const auto& [scale, bias, mean, variance] = parameters;
    kernels::elementwise::UnaryArgs args;
    args.op.kind = kernels::Unary::affine;
    args.pixels = static_cast<std::size_t>(out.width());
    args.channels = static_cast<std::size_t>(channels_);
    args.in_pixel_stride = in.pixel_stride();
    args.out_pixel_stride = out.pixel_stride();
    for (std::int64_t r = step.row_begin; r < step.row_end; ++r) {
      args.op.a = scale[r] / std::sqrt(variance[r] + epsilon_);
      args.op.b = bias[r] - mean[r] * args.op.a;
      args.in = in.at(r, out.column_begin());
      args.out = out(r);
      kernel_.unary(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  static constexpr std::size_t kParameters = 4;

  const kernels::elementwise::Kernel& kernel_;
  float epsilon_;
  ValueOf<float> in_, out_, values_[kParameters];
  const float* constants_[kParameters] = {};
  std::int64_t channels_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<BatchNorm>(&node.node.op);
  if (op == nullptr) return refuse();
  const Shape& shape = node.input_shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (rank < 3 || normalize_axis(op->axis, rank, node.node) != 1) return refuse("channels are not rows");
  for (const std::size_t input : {1, 2, 3, 4})
    if (!node.has_input(input) || node.input(input).type.dtype != DType::f32 ||
        element_count(node.input_shape(input)) != shape[1])
      return refuse("parameters are not one a channel");
  return take();
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<BatchNormOp>(context); }

}  // namespace

constinit const Family families::batch_norm = {.name = "batch_norm",
                                               .scope = Scope::rows,
                                               .border = Border::none,
                                               .types = kFloats,
                                               .match = match,
                                               .units = one_unit,
                                               .effort = element_effort<Work::arithmetic>,
                                               .weights_bytes = no_bytes,
                                               .workspace_bytes = no_bytes,
                                               .window = same_columns,
                                               .chunks = no_chunks,
                                               .placements = no_placements,
                                               .tell = nothing_told,
                                               .lower = lower};

}  // namespace colonnade
