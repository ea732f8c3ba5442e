// SPDX-License-Identifier: Apache-2.0
// Rows as bytes times narrow weights of four or eight bits, where the model allows rows to be rounded
// (kernels/narrow_bytes).
#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/narrow_rows.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMostRows = NarrowByteProduct::kMostRows;

/// Blocks of rows, all about as large.
std::int64_t row_blocks(const NarrowForm& form) { return ceil_div(form.rows, kMostRows); }
std::int64_t rows_a_block(const NarrowForm& form) { return ceil_div(form.rows, row_blocks(form)); }

struct NarrowBytes {
  NarrowForm weights;
  const kernels::narrow_bytes::Kernel* kernel = nullptr;
};

/// Units are the panels of a block of rows, then those of the next one.
class NarrowBytesOp final : public RowOp {
 public:
  NarrowBytesOp(const LowerContext& context, const LoweredEpilogue& lowered)
      : form_(context.form<NarrowBytes>().weights),
        product_(form_, context.features, lowered.epilogue),
        panels_(packed_panels(context, 1, form_)),
        bias_(context.floats(2)),
        a_(context.in<float>(0)),
        out_(context.out<float>()),
        residual_(lowered.residual) {}

  void run(const StepContext& step) const override {
    const NarrowRows rows{form_.rows, whole(step, a_), whole(step, out_), residual_ ? whole(step, residual_) : nullptr,
                          bias_,      panels_};
    const std::int64_t panels = form_.panels();
    for (std::int64_t unit = step.row_begin; unit < step.row_end;) {
      const std::int64_t block = unit / panels, end = std::min(step.row_end, (block + 1) * panels);
      product_.multiply(rows.some(form_, block * rows_a_block(form_), rows_a_block(form_)),
                        {unit - block * panels, end - block * panels}, step.scratch);
      unit = end;
    }
  }

  std::string_view kernel() const override { return product_.kernel(); }

 private:
  NarrowForm form_;
  NarrowByteProduct product_;
  const std::byte* panels_;
  const float* bias_;
  ValueOf<float> a_, out_, residual_;
};

Match match(const Candidate& node) {
  auto floats = narrow_product_form(node);
  if (!floats || floats->rows == 0) return refuse();
  floats->exact = node.math == Math::exact;
  const auto form = floats->for_bytes();
  if (!form) return refuse();
  return take(Form::of(NarrowBytes{*form, &kernels::narrow_bytes::select(node.features, form->format.type)}));
}

std::int64_t units(const Chosen& node) {
  const NarrowForm& form = node.form<NarrowBytes>().weights;
  return form.panels() * row_blocks(form);
}

/// One row reads the weights, and that is most of it.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& [form, kernel] = node.form<NarrowBytes>();
  const double reading = rates.seconds(Work::copy, static_cast<double>(form.packed_bytes()), 1);
  return {std::max(contraction_seconds(node, 1, rates) / kernel->speed, reading)};
}

std::int64_t weights_bytes(const Chosen& node) { return node.form<NarrowBytes>().weights.packed_bytes(); }

std::int64_t workspace_bytes(const Chosen& node) {
  const NarrowForm& form = node.form<NarrowBytes>().weights;
  return NarrowByteProduct::workspace_bytes(form, rows_a_block(form));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  return std::make_unique<NarrowBytesOp>(context,
                                         lower_epilogue(context, std::get<MatMul>(context.node.op).epilogue, 3));
}

}  // namespace

constinit const Family families::narrow_bytes = whole_family({.name = "narrow_bytes",
                                                              .types = kFloats,
                                                              .match = match,
                                                              .units = units,
                                                              .effort = effort,
                                                              .weights_bytes = weights_bytes,
                                                              .workspace_bytes = workspace_bytes,
                                                              .lower = lower});

}  // namespace colonnade
