// SPDX-License-Identifier: Apache-2.0
// Products with a constant matrix of narrow weights, which stay packed. Samples of one row meet the numbers
// themselves, few rows weights that are made of them in registers; for many a panel is widened, a range of its depth at
// a time that the nearest caches hold. Whatever the number of rows, from two a sample on the bits are those of float
// weights.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/narrow_sums.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
constexpr auto kMostRows = static_cast<std::int64_t>(kernels::narrow::kMostRows);
constexpr std::int64_t kRows = 256;  // one unit of work, and a panel

/// Units are blocks of rows of a panel.
class NarrowProductOp final : public RowOp {
 public:
  explicit NarrowProductOp(const LowerContext& context)
      : form_(context.form<NarrowForm>()),
        kernel_(kernels::narrow::select(context.features, form_.format.type)),
        panels_(reinterpret_cast<const std::byte*>(context.packed(
            1, format_of(form_),
            [&](const Constant& weights, WeightRoom& room) { return pack_narrow(weights, form_, room); }))),
        a_(context.in<float>(0)),
        sums_(context, form_) {}

  void run(const StepContext& step) const override {
    if (form_.as_vectors()) {
      for (std::int64_t row = 0; row < form_.rows; row += NarrowForm::kMostVectors) multiply_vectors(step, row);
      return;
    }
    for (std::int64_t unit = step.row_begin; form_.is_few() && unit < step.row_end; ++unit)
      for (std::int64_t row = 0; row < form_.rows; row += kMostRows) multiply_few(step, unit * kOutputs, row);
    for (std::int64_t unit = step.row_begin; !form_.is_few() && unit < step.row_end; ++unit)
      multiply_rows(step, unit / form_.row_blocks() * kOutputs, unit % form_.row_blocks() * kRows);
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const std::byte* panel(std::int64_t output) const {
    return panels_ + static_cast<std::size_t>(output / kOutputs) * form_.format.panel_bytes();
  }

  /// Rows from `row` on, as many as are prepared at once.
  void multiply_vectors(const StepContext& step, std::int64_t row) const {
    const std::int64_t rows = std::min(NarrowForm::kMostVectors, form_.rows - row);
    const auto prepared_floats = static_cast<std::int64_t>(form_.format.prepared_floats());
    for (std::int64_t r = 0; r < rows; ++r)
      kernel_.prepare({form_.format, whole(step, a_) + (row + r) * form_.depth(), step.scratch + r * prepared_floats});
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit)
      for (std::int64_t first = 0; first < rows; first += kMostRows) {
        alignas(64) float sums[kMostRows * kOutputs] = {};
        const std::int64_t some = std::min(kMostRows, rows - first);
        sums_.start(unit * kOutputs, some, sums);
        kernel_.multiply({form_.format, panel(unit * kOutputs), static_cast<std::size_t>(some),
                          step.scratch + first * prepared_floats, sums});
        sums_.finish(step, unit * kOutputs, row + first, some, sums);
      }
  }

  void multiply_few(const StepContext& step, std::int64_t output, std::int64_t row) const {
    alignas(64) float sums[kMostRows * kOutputs] = {};
    const std::int64_t rows = std::min(kMostRows, form_.rows - row);
    sums_.start(output, rows, sums);
    kernel_.multiply_rows({form_.format, panel(output), static_cast<std::size_t>(rows),
                           whole(step, a_) + row * form_.depth(), form_.depth(), sums});
    sums_.finish(step, output, row, rows, sums);
  }

  void multiply_rows(const StepContext& step, std::int64_t output, std::int64_t row) const {
    const std::int64_t rows = std::min(kRows, form_.rows - row);
    const kernels::gemm::ConvArgs whole_sum = sums_.args_of(output, rows);
    float* out = sums_.out(step, output, row);
    const float* residual = sums_.residual(step, output, row);
    for (std::int64_t first = 0; first < form_.depth(); first += form_.depth_step) {
      const std::int64_t count = std::min(form_.depth_step, form_.depth() - first);
      const bool is_last = first + count == form_.depth();
      kernel_.widen({form_.format, panel(output), static_cast<std::size_t>(first), static_cast<std::size_t>(count),
                     step.scratch});
      kernels::gemm::ConvArgs args = whole_sum;
      const float* a = whole(step, a_) + row * form_.depth() + first;
      args.in_rows = &a;
      args.out_rows = &out;
      args.residual_rows = residual && is_last ? &residual : nullptr;
      args.channels_in = static_cast<std::size_t>(count);
      args.weights = step.scratch;
      args.panel_stride = args.channels_in * kernels::gemm::kPanel;
      args.accumulate = first > 0;
      if (!is_last) args.epilogue = {};
      sums_.gemm().run(args);
    }
  }

  NarrowForm form_;
  const kernels::narrow::Kernel& kernel_;
  const std::byte* panels_;
  ValueOf<float> a_;
  NarrowSums sums_;
};

/// Other arithmetic is asked for, or faster: units that multiply pairs or pieces take weights of their own.
bool is_multiplied_otherwise(const Candidate& node, std::int64_t rows) {
  constexpr std::int64_t kLeastPiecesRows = 16;
  if (node.math == Math::exact) return false;
  if (node.math == Math::bf16 && node.features.contains(kernels::Isa::bf16) && rows > 1) return true;
  return node.features.contains(kernels::Isa::amx) && rows >= kLeastPiecesRows;
}

Match match(const Candidate& node) {
  const auto form = narrow_product_form(node);
  if (!form) return refuse();
  NarrowForm sized = *form;
  sized.single = of_sample(node.graph, sized.rows) == 1;
  sized.exact = node.math == Math::exact;
  if (is_multiplied_otherwise(node, of_sample(node.graph, sized.rows))) return refuse();
  return take(Form::of(sized));
}

std::int64_t units(const Chosen& node) {
  const auto& form = node.form<NarrowForm>();
  return ceil_div(form.outputs, kOutputs) * form.row_blocks();
}

/// One row reads the weights, and that is most of it; several are multiplied as floats are, once panels are widened.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<NarrowForm>();
  const auto bytes = static_cast<double>(form.packed_bytes());
  if (form.as_vectors() && form.rows == 1) return {rates.seconds(Work::copy, bytes, 1)};
  if (form.as_vectors() || form.is_few())
    return {std::max(contraction_seconds(node, 1, rates), rates.seconds(Work::copy, bytes, 1))};
  const auto floats = static_cast<double>(form.depth() * form.outputs * form.row_blocks());
  return {contraction_seconds(node, 1, rates) + rates.seconds(Work::copy, sizeof(float) * floats, 1)};
}

std::int64_t weights_bytes(const Chosen& node) { return node.form<NarrowForm>().packed_bytes(); }

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<NarrowForm>();
  if (form.is_few()) return 0;
  const std::int64_t floats = form.as_vectors() ? std::min(form.rows, NarrowForm::kMostVectors) *
                                                      static_cast<std::int64_t>(form.format.prepared_floats())
                                                : std::min(form.depth_step, form.depth()) * kOutputs;
  return static_cast<std::int64_t>(sizeof(float)) * floats;
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<NarrowProductOp>(context); }

}  // namespace

std::int64_t NarrowForm::row_blocks() const { return as_vectors() ? 1 : ceil_div(rows, kRows); }

constinit const Family families::narrow_product = whole_family({.name = "narrow_product",
                                                                .types = kFloats,
                                                                .match = match,
                                                                .units = units,
                                                                .effort = effort,
                                                                .weights_bytes = weights_bytes,
                                                                .workspace_bytes = workspace_bytes,
                                                                .lower = lower});

}  // namespace colonnade
