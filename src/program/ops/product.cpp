// SPDX-License-Identifier: Apache-2.0
// Products of two computed matrices: the right one is packed when it is needed.
#include "base/checked.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/move/move.hpp"
#include "plan/kernel_choice.hpp"
#include "program/lower.hpp"
#include "program/ops/rows.hpp"
#include "reference/indexing.hpp"

namespace colonnade {
namespace {

/// Units are blocks of rows of a matrix of the batch.
class MatrixProductOp final : public RowOp {
 public:
  MatrixProductOp(const LowerContext& context, const MatMul& op)
      : kernel_(kernels::gemm::select(context.isa)),
        move_(kernels::move::select(context.isa)),
        transposed_(op.transpose_b),
        a_(context.node.inputs[0]),
        b_(context.node.inputs[1]),
        out_(context.node.outputs[0]) {
    const Shape& a = context.input_shape(0);
    const Shape& b = context.input_shape(1);
    const Shape& out = context.output_shape();
    rows_ = out[out.size() - 2];
    columns_ = out.back();
    depth_ = a.back();
    blocks_ = ceil_div(rows_, kProductRows);
    batch_.assign(out.begin(), out.end() - 2);
    a_strides_ = batch_strides(a);
    b_strides_ = batch_strides(b);
    bias_ = context.constant(2);
    const LoweredEpilogue lowered = lower_epilogue(context, op.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    std::int64_t packed = -1;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t matrix = unit / blocks_, first = unit % blocks_ * kProductRows;
      if (matrix != packed) pack(whole(step, b_) + offset(matrix, b_strides_), step.scratch);
      packed = matrix;
      run_block(step, matrix, first, std::min(kProductRows, rows_ - first));
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  static constexpr auto kPanel = static_cast<std::int64_t>(kernels::gemm::kPanel);

  Ints batch_strides(const Shape& shape) const {
    Ints strides = reference::broadcast_strides(std::span(shape).first(shape.size() - 2), batch_);
    for (std::int64_t& stride : strides) stride *= shape[shape.size() - 2] * shape.back();
    return strides;
  }
  std::int64_t offset(std::int64_t matrix, const Ints& strides) const {
    std::int64_t result = 0;
    for (std::size_t axis = batch_.size(); axis-- > 0; matrix /= batch_[axis])
      result += matrix % batch_[axis] * strides[axis];
    return result;
  }

  void pack(const float* b, float* panel) const {
    const auto depth = static_cast<std::size_t>(depth_);
    for (std::int64_t first = 0; first < columns_; first += kPanel, panel += depth_ * kPanel) {
      const std::int64_t count = std::min(kPanel, columns_ - first);
      if (count < kPanel) move_.fill({depth, static_cast<std::size_t>(kPanel), panel, kPanel, 0.0f});
      const auto channels = static_cast<std::size_t>(count);
      if (transposed_)
        move_.planes_to_pixels({depth, channels, b + first * depth_, depth_, panel, kPanel});
      else
        move_.copy({depth, channels, b + first, panel, columns_, kPanel});
    }
  }

  void run_block(const StepContext& step, std::int64_t matrix, std::int64_t first, std::int64_t rows) const {
    const float* a = whole(step, a_) + offset(matrix, a_strides_) + first * depth_;
    const std::int64_t at = (matrix * rows_ + first) * columns_;
    float* out = whole(step, out_) + at;
    const float* residual = residual_ == kAbsent ? nullptr : whole(step, residual_) + at;
    kernels::gemm::ConvArgs args;
    args.in_rows = &a;
    args.out_rows = &out;
    args.residual_rows = residual ? &residual : nullptr;
    args.width_in = args.width_out = static_cast<std::size_t>(rows);
    args.channels_in = static_cast<std::size_t>(depth_);
    args.channels_out = static_cast<std::size_t>(columns_);
    args.in_pixel_stride = depth_;
    args.out_pixel_stride = args.residual_pixel_stride = columns_;
    args.weights = step.scratch;
    args.panel_stride = args.channels_in * kernels::gemm::kPanel;
    args.bias = bias_;
    args.epilogue = epilogue_;
    kernel_.run(args);
  }

  const kernels::gemm::Kernel& kernel_;
  const kernels::move::Kernel& move_;
  bool transposed_;
  ValueId a_, b_, out_, residual_ = kAbsent;
  std::int64_t rows_ = 1, columns_ = 1, depth_ = 1, blocks_ = 1;
  Shape batch_;
  Ints a_strides_, b_strides_;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

}  // namespace

std::unique_ptr<RowOp> lower_product(const LowerContext& context) {
  return std::make_unique<MatrixProductOp>(context, std::get<MatMul>(context.node.op));
}

}  // namespace colonnade
