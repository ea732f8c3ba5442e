// SPDX-License-Identifier: Apache-2.0
// Determinants and inverses, a matrix a unit, in doubles.
#include "kernels/elimination/elimination.hpp"

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade {
namespace {

/// Larger matrices are left to the reference: each thread has room for one.
constexpr std::int64_t kMostRows = 1024;

std::int64_t rows_of(const Subject& node) { return node.input_shape(0).back(); }
bool is_inverse(const Subject& node) { return std::get<Opaque>(node.node.op).definition == &reference::kInverse; }
/// Doubles of a row: an inverse has the identity beside its matrix.
std::int64_t width_of(const Subject& node) { return rows_of(node) * (is_inverse(node) ? 2 : 1); }

Shared matrices(const Subject& node) {
  const std::int64_t n = rows_of(node);
  return {element_count(node.input_shape(0)) / (n * n)};
}

class EliminationOp final : public RowOp {
 public:
  explicit EliminationOp(const LowerContext& context)
      : kernel_(kernels::elimination::select(context.features)),
        name_(context.node.name),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        matrices_(matrices(context)),
        n_(rows_of(context)),
        width_(width_of(context)),
        is_inverse_(is_inverse(context)),
        is_double_(context.input(0).type.dtype == DType::f64) {}

  void run(const StepContext& step) const override {
    const Interval mine = matrices_.of(step);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      if (is_double_)
        run_one(whole(step, in_.id), i, whole(step, out_.id), step.scratch, double{});
      else
        run_one(whole(step, in_.id), i, whole(step, out_.id), step.scratch, float{});
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  template <class T>
  void run_one(const std::byte* in, std::int64_t index, std::byte* out, float* scratch, T) const {
    const T* from = reinterpret_cast<const T*>(in) + index * n_ * n_;
    auto* rows = reinterpret_cast<double*>(scratch);
    for (std::int64_t row = 0; row < n_; ++row, from += n_) {
      double* const at = rows + row * width_;
      std::copy_n(from, n_, at);
      std::fill_n(at + n_, width_ - n_, 0.0);
      if (is_inverse_) at[n_ + row] = 1;
    }
    const kernels::elimination::Args args{rows, static_cast<std::size_t>(n_), static_cast<std::size_t>(width_)};
    T* to = reinterpret_cast<T*>(out);
    if (!is_inverse_) {
      to[index] = static_cast<T>(kernel_.determinant(args));
      return;
    }
    if (!kernel_.solve(args))
      fail(ErrorCode::invalid_input, "node '{}' (Inverse): the matrix at element {} has no inverse", name_,
           index * n_ * n_);
    to += index * n_ * n_;
    for (std::int64_t row = 0; row < n_; ++row)
      for (std::int64_t j = 0; j < n_; ++j) to[row * n_ + j] = static_cast<T>(rows[row * width_ + n_ + j]);
  }

  const kernels::elimination::Kernel& kernel_;
  std::string name_;
  ValueOf<std::byte> in_, out_;
  Shared matrices_;
  std::int64_t n_, width_;
  bool is_inverse_, is_double_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Opaque>(&node.node.op);
  if (op == nullptr || (op->definition != &reference::kDet && op->definition != &reference::kInverse)) return refuse();
  const std::int64_t n = rows_of(node);
  if (n < 1) return refuse("empty matrices have no kernel");
  return n <= kMostRows ? take() : refuse("large matrices have no kernel");
}

std::int64_t units(const Chosen& node) { return matrices(node).units(); }

Effort effort(const Chosen& node, const Rates& rates) {
  const auto n = static_cast<double>(rows_of(node));
  return {rates.seconds(Work::arithmetic, elements_of(node.graph, node.node.inputs[0]) * n, 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  return rows_of(node) * width_of(node) * static_cast<std::int64_t>(sizeof(double));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<EliminationOp>(context); }

}  // namespace

constinit const Family families::elimination = whole_family({.name = "elimination",
                                                             .types = {DType::f32, DType::f64},
                                                             .match = match,
                                                             .units = units,
                                                             .effort = effort,
                                                             .weights_bytes = no_bytes,
                                                             .workspace_bytes = workspace_bytes,
                                                             .lower = lower});

}  // namespace colonnade
