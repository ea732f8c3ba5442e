// SPDX-License-Identifier: Apache-2.0
// Few rows times a computed matrix, or a computed matrix times a vector: read where it lies, not packed.
#include "kernels/vector_product/vector_product.hpp"

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/matrices.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "graph/contraction.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kFewRows = 4, kOutputs = 256;  // one unit of work: so many elements of each vector's result

struct VectorProduct {
  bool matrix_is_left = false;  ///< times the one column of b
  bool by_rows = false;         ///< each element of the result reads one row of the matrix
  Shape batch;
  std::int64_t vectors = 1, depth = 1, outputs = 1;

  std::int64_t blocks() const { return ceil_div(outputs, kOutputs); }
};

VectorProduct form_of(const Subject& node, bool matrix_is_left) {
  const MatMul& op = std::get<MatMul>(node.node.op);
  const Shape logical = logical_output(node);
  VectorProduct form{matrix_is_left, matrix_is_left ? !op.transpose_a : op.transpose_b, {}};
  form.batch.assign(logical.begin(), logical.end() - 2);
  form.vectors = matrix_is_left ? 1 : logical[logical.size() - 2];
  form.outputs = matrix_is_left ? logical[logical.size() - 2] : logical.back();
  form.depth = depth_of(node);
  return form;
}

/// Units are blocks of a matrix of the batch.
class VectorProductOp final : public RowOp {
 public:
  explicit VectorProductOp(const LowerContext& context)
      : kernel_(kernels::vector_product::select(context.features)),
        form_(context.form<VectorProduct>()),
        bias_(context.floats(2)),
        a_(context.in<float>(0)),
        b_(context.in<float>(1)),
        out_(context.out<float>()) {
    const MatMul& op = std::get<MatMul>(context.node.op);
    a_at_ = matrices_of(context.input_shape(0), op.heads_inside_a, form_.batch);
    b_at_ = matrices_of(context.input_shape(1), op.heads_inside_b, form_.batch);
    out_at_ = matrices_of(context.output_shape(), op.heads_inside_out, form_.batch);
  }

  void run(const StepContext& step) const override {
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit)
      multiply(step, unit / form_.blocks(), unit % form_.blocks() * kOutputs);
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  void multiply(const StepContext& step, std::int64_t matrix, std::int64_t first) const {
    const bool left = form_.matrix_is_left;
    const float* a = whole(step, a_) + a_at_.offset(matrix, form_.batch);
    const float* b = whole(step, b_) + b_at_.offset(matrix, form_.batch);
    kernels::vector_product::Args args;
    args.vectors_count = static_cast<std::size_t>(form_.vectors);
    args.k = static_cast<std::size_t>(form_.depth);
    args.n = static_cast<std::size_t>(std::min(kOutputs, form_.outputs - first));
    args.vectors = left ? b : a;
    args.vector_stride = left ? 0 : a_at_.row;
    args.matrix_stride = left ? a_at_.row : b_at_.row;
    args.matrix = (left ? a : b) + first * (form_.by_rows ? args.matrix_stride : 1);
    args.bias = bias_ == nullptr ? nullptr : bias_ + first;
    args.out_vector_stride = left ? 0 : out_at_.row;
    args.out_stride = left ? out_at_.row : 1;
    args.out = whole(step, out_) + out_at_.offset(matrix, form_.batch) + first * args.out_stride;
    (form_.by_rows ? kernel_.by_rows : kernel_.by_columns)(args);
  }

  const kernels::vector_product::Kernel& kernel_;
  VectorProduct form_;
  const float* bias_;
  ValueOf<float> a_, b_, out_;
  Matrices a_at_, b_at_, out_at_;
};

Match match(const Candidate& node) {
  const MatMul* op = std::get_if<MatMul>(&node.node.op);
  if (op == nullptr || !node.constant_or_absent(2) || !(op->epilogue == FusedEpilogue{})) return refuse();
  if (is_by_rows(node)) return refuse();
  if (!no_product_reason(node.graph, node.node).empty()) return refuse();
  const Shape logical = logical_output(node);
  const bool b_is_dense = !op->heads_inside_b || op->transpose_b;
  if (logical.back() == 1 && b_is_dense && !node.has_input(2)) return take(Form::of(form_of(node, true)));
  if (logical[logical.size() - 2] <= kFewRows && !op->transpose_a) return take(Form::of(form_of(node, false)));
  return refuse();
}

std::int64_t units(const Chosen& node) {
  const auto& form = node.form<VectorProduct>();
  return element_count(form.batch) * form.blocks();
}

/// The matrix is read, and that is most of it.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<VectorProduct>();
  const auto elements = static_cast<double>(element_count(form.batch) * form.outputs * form.depth);
  return {rates.seconds(Work::copy, sizeof(float) * elements * static_cast<double>(form.vectors), 1)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<VectorProductOp>(context); }

}  // namespace

constinit const Family families::vector_product = whole_family({.name = "vector_product",
                                                                .types = kFloats,
                                                                .match = match,
                                                                .units = units,
                                                                .effort = effort,
                                                                .weights_bytes = no_bytes,
                                                                .workspace_bytes = no_bytes,
                                                                .lower = lower});

}  // namespace colonnade
