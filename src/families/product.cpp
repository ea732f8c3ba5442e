// SPDX-License-Identifier: Apache-2.0
// Products of two computed matrices: the right one is packed when it is needed.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/lower.hpp"
#include "families/matrices.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kProductRows = 128;  // one unit of work

/// Blocks of rows and, where these are too few for several threads, of columns.
struct Cuts {
  std::int64_t row_blocks = 1, column_blocks = 1, width = 1;
};

Cuts cuts_of(const Subject& node) {
  constexpr std::int64_t kUnits = 4, kGrain = kPanel;
  const Shape logical = logical_output(node);
  const std::int64_t columns = logical.back();
  Cuts cuts;
  cuts.row_blocks = ceil_div(logical[logical.size() - 2], kProductRows);
  const std::int64_t units = element_count(std::span(logical).first(logical.size() - 2)) * cuts.row_blocks;
  const std::int64_t wanted = std::min(ceil_div(kUnits, units), std::max<std::int64_t>(1, columns / kGrain));
  cuts.width = wanted == 1 ? columns : ceil_div(ceil_div(columns, wanted), kGrain) * kGrain;
  cuts.column_blocks = ceil_div(columns, cuts.width);
  return cuts;
}

/// Of a block of columns.
std::int64_t packed_right_floats(const Subject& node) {
  return static_cast<std::int64_t>(kernels::gemm::packed_floats(
      kernels::Encoding::f32, static_cast<std::size_t>(depth_of(node)), static_cast<std::size_t>(cuts_of(node).width)));
}

/// Units are blocks of a matrix of the batch.
class MatrixProductOp final : public RowOp {
 public:
  MatrixProductOp(const LowerContext& context, const MatMul& op)
      : kernel_(kernels::gemm::select(context.features, kernels::Encoding::f32)),
        move_(kernels::move::select(context.features)),
        a_transposed_(op.transpose_a),
        b_transposed_(op.transpose_b),
        a_(context.in<float>(0)),
        b_(context.in<float>(1)),
        out_(context.out<float>()) {
    const Shape logical = logical_output(context);
    rows_ = logical[logical.size() - 2];
    columns_ = logical.back();
    depth_ = depth_of(context);
    cuts_ = cuts_of(context);
    batch_.assign(logical.begin(), logical.end() - 2);
    a_at_ = matrices_of(context.input_shape(0), op.heads_inside_a, batch_);
    b_at_ = matrices_of(context.input_shape(1), op.heads_inside_b, batch_);
    out_at_ = matrices_of(context.output_shape(), op.heads_inside_out, batch_);
    right_floats_ = packed_right_floats(context);
    bias_ = context.floats(2);
    const LoweredEpilogue lowered = lower_epilogue(context, op.epilogue, 3);
    epilogue_ = lowered.epilogue;
    residual_ = lowered.residual;
  }

  void run(const StepContext& step) const override {
    std::int64_t packed_at = -1, packed_block = -1;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t block = unit / cuts_.row_blocks % cuts_.column_blocks;
      const std::int64_t matrix = unit / cuts_.row_blocks / cuts_.column_blocks;
      const std::int64_t right = b_at_.offset(matrix, batch_);
      if (right != packed_at || block != packed_block) pack(whole(step, b_) + right, columns_of(block), step.scratch);
      packed_at = right, packed_block = block;
      run_block(step, matrix, unit % cuts_.row_blocks * kProductRows, columns_of(block));
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  struct Columns {
    std::int64_t first, count;
  };
  Columns columns_of(std::int64_t block) const {
    const std::int64_t first = block * cuts_.width;
    return {first, std::min(cuts_.width, columns_ - first)};
  }

  void pack(const float* b, const Columns& columns, float* panel) const {
    constexpr std::size_t kPanelBytes = kPanel * sizeof(float);
    const auto depth = static_cast<std::size_t>(depth_);
    const std::int64_t end = columns.first + columns.count;
    for (std::int64_t first = columns.first; first < end; first += kPanel, panel += depth_ * kPanel) {
      const std::int64_t count = std::min(kPanel, end - first);
      if (count < kPanel) move_.fill({depth, kPanelBytes, panel, kPanelBytes, 0});
      const auto channels = static_cast<std::size_t>(count);
      if (b_transposed_)
        move_.planes_to_pixels({depth, channels, b + first * b_at_.row, b_at_.row, panel, kPanel});
      else
        move_.copy({depth, channels * sizeof(float), b + first, panel,
                    b_at_.row * static_cast<std::ptrdiff_t>(sizeof(float)), kPanelBytes});
    }
  }

  /// Columns of the transposed left matrix as rows.
  const float* left_rows(const float* a, std::int64_t rows, float* to) const {
    move_.planes_to_pixels(
        {static_cast<std::size_t>(rows), static_cast<std::size_t>(depth_), a, a_at_.row, to, depth_});
    return to;
  }

  void run_block(const StepContext& step, std::int64_t matrix, std::int64_t first, const Columns& columns) const {
    const std::int64_t rows = std::min(kProductRows, rows_ - first);
    const float* a = whole(step, a_) + a_at_.offset(matrix, batch_) + first * (a_transposed_ ? 1 : a_at_.row);
    if (a_transposed_) a = left_rows(a, rows, step.scratch + right_floats_);
    const std::int64_t at = out_at_.offset(matrix, batch_) + first * out_at_.row + columns.first;
    float* out = whole(step, out_) + at;
    const float* residual = residual_ ? whole(step, residual_) + at : nullptr;
    kernels::gemm::ConvArgs args;
    args.in_rows = &a;
    args.out_rows = &out;
    args.residual_rows = residual ? &residual : nullptr;
    args.width_in = args.width_out = static_cast<std::size_t>(rows);
    args.channels_in = static_cast<std::size_t>(depth_);
    args.channels_out = static_cast<std::size_t>(columns.count);
    args.in_pixel_stride = a_transposed_ ? depth_ : a_at_.row;
    args.out_pixel_stride = args.residual_pixel_stride = out_at_.row;
    args.weights = step.scratch;
    args.panel_stride = args.channels_in * kernels::gemm::kPanel;
    args.bias = bias_ == nullptr ? nullptr : bias_ + columns.first;
    args.epilogue = epilogue_;
    if (epilogue_.activation.slope != nullptr) args.epilogue.activation.slope += columns.first;
    kernel_.run(args);
  }

  const kernels::gemm::Kernel& kernel_;
  const kernels::move::Kernel& move_;
  bool a_transposed_, b_transposed_;
  ValueOf<float> a_, b_, out_, residual_;
  std::int64_t rows_ = 1, columns_ = 1, depth_ = 1, right_floats_ = 0;
  Cuts cuts_;
  Shape batch_;
  Matrices a_at_, b_at_, out_at_;
  const float* bias_ = nullptr;
  kernels::Epilogue epilogue_;
};

Match match(const Candidate& node) {
  const MatMul* op = std::get_if<MatMul>(&node.node.op);
  if (op == nullptr || !node.constant_or_absent(2)) return refuse();
  if (is_by_rows(node)) return refuse();
  const std::string_view reason = no_product_reason(node.graph, node.node);
  return reason.empty() ? take() : refuse(std::string(reason));
}

std::int64_t units(const Chosen& node) {
  const Shape out = logical_output(node);
  const Cuts cuts = cuts_of(node);
  return element_count(std::span(out).first(out.size() - 2)) * cuts.row_blocks * cuts.column_blocks;
}

Effort effort(const Chosen& node, const Rates& rates) { return {contraction_seconds(node, 1, rates)}; }

/// The right matrix, packed, and rows of a transposed left one.
std::int64_t workspace_bytes(const Chosen& node) {
  const bool turns = std::get<MatMul>(node.node.op).transpose_a;
  const std::int64_t left_floats = turns ? kProductRows * depth_of(node) : 0;
  return static_cast<std::int64_t>(sizeof(float)) * (packed_right_floats(node) + left_floats);
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<MatrixProductOp>(context, std::get<MatMul>(context.node.op));
}

}  // namespace

constinit const Family families::product = whole_family({.name = "product",
                                                         .types = kFloats,
                                                         .match = match,
                                                         .units = units,
                                                         .effort = effort,
                                                         .weights_bytes = no_bytes,
                                                         .workspace_bytes = workspace_bytes,
                                                         .lower = lower});

}  // namespace colonnade
