// SPDX-License-Identifier: Apache-2.0
// Products with a constant matrix of narrow weights, which stay packed. Samples of one row meet the numbers
// themselves, few rows weights that are made of them in registers; for many a panel is widened, a range of its depth at
// a time that the nearest caches hold. Whatever the number of rows, from two a sample on the bits are those of float
// weights.
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/narrow_rows.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
constexpr std::int64_t kRows = NarrowProduct::kRows;  // one unit of work, and a panel

/// Units are blocks of rows of a panel.
class NarrowProductOp final : public RowOp {
 public:
  NarrowProductOp(const LowerContext& context, const LoweredEpilogue& lowered)
      : form_(context.form<NarrowForm>()),
        product_(form_, context.features, lowered.epilogue),
        panels_(packed_panels(context, 1, form_)),
        bias_(context.floats(2)),
        a_(context.in<float>(0)),
        out_(context.out<float>()),
        residual_(lowered.residual) {}

  void run(const StepContext& step) const override {
    const NarrowRows rows{form_.rows, whole(step, a_), whole(step, out_), residual_ ? whole(step, residual_) : nullptr,
                          bias_,      panels_};
    const Interval units{step.row_begin, step.row_end};
    if (form_.as_vectors()) return product_.multiply_vectors(rows, units, step.scratch);
    if (form_.is_few()) return product_.multiply_few(rows, units);
    for (std::int64_t unit = units.begin; unit < units.end; ++unit) {
      const std::int64_t first = unit % form_.row_blocks() * kRows;
      product_.multiply_rows(rows.some(form_, first, kRows), unit / form_.row_blocks(), step.scratch);
    }
  }

  std::string_view kernel() const override { return product_.kernel(); }

 private:
  NarrowForm form_;
  NarrowProduct product_;
  const std::byte* panels_;
  const float* bias_;
  ValueOf<float> a_, out_, residual_;
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
  const std::int64_t floats =
      form.as_vectors() ? NarrowProduct::vector_floats(form, form.rows) : NarrowProduct::panel_floats(form);
  return static_cast<std::int64_t>(sizeof(float)) * floats;
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<NarrowProductOp>(context,
                                           lower_epilogue(context, std::get<MatMul>(context.node.op).epilogue, 3));
}

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
