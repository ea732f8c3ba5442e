// SPDX-License-Identifier: Apache-2.0
// Rows as bytes times narrow weights of four bits, where the model allows rows to be rounded (kernels/narrow_bytes).
#include "kernels/narrow_bytes/narrow_bytes.hpp"

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/contraction.hpp"
#include "families/narrow_sums.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);
constexpr auto kMostRows = static_cast<std::int64_t>(kernels::narrow_bytes::kMostRows);

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
  explicit NarrowBytesOp(const LowerContext& context)
      : form_(context.form<NarrowBytes>().weights),
        kernel_(*context.form<NarrowBytes>().kernel),
        panels_(reinterpret_cast<const std::byte*>(context.packed(
            1, format_of(form_),
            [&](const Constant& weights, WeightRoom& room) { return pack_narrow(weights, form_, room); }))),
        a_(context.in<float>(0)),
        sums_(context, form_) {}

  void run(const StepContext& step) const override {
    const std::int64_t panels = form_.panels();
    for (std::int64_t unit = step.row_begin; unit < step.row_end;) {
      const std::int64_t block = unit / panels, end = std::min(step.row_end, (block + 1) * panels);
      multiply(step, block * rows_a_block(form_), unit - block * panels, end - block * panels);
      unit = end;
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// The panels [first, end) of the block of rows from `row` on.
  void multiply(const StepContext& step, std::int64_t row, std::int64_t first, std::int64_t end) const {
    const std::int64_t rows = std::min(rows_a_block(form_), form_.rows - row);
    const auto count = static_cast<std::size_t>(rows);
    auto* const prepared = reinterpret_cast<std::byte*>(step.scratch);
    kernel_.prepare({form_.format, count, whole(step, a_) + row * form_.depth(), form_.depth(), prepared});
    for (std::int64_t panel = first; panel < end; ++panel) {
      alignas(64) float sums[kMostRows * kOutputs];
      std::fill_n(sums, rows * kOutputs, 0.0f);
      sums_.start(panel * kOutputs, rows, sums);
      kernel_.multiply({form_.format, count, panels_ + static_cast<std::size_t>(panel) * form_.format.panel_bytes(),
                        prepared, sums});
      sums_.finish(step, panel * kOutputs, row, rows, sums);
    }
  }

  NarrowForm form_;
  const kernels::narrow_bytes::Kernel& kernel_;
  const std::byte* panels_;
  ValueOf<float> a_;
  NarrowSums sums_;
};

Match match(const Candidate& node) {
  const auto form = narrow_product_form(node);
  if (!form || !form->byte_rows || node.math == Math::exact) return refuse();
  if (form->format.type != kernels::narrow::Type::u4 || form->rows == 0) return refuse();
  return take(Form::of(NarrowBytes{*form, &kernels::narrow_bytes::select(node.features)}));
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
  const auto rows = static_cast<std::size_t>(rows_a_block(form));
  return static_cast<std::int64_t>(kernels::narrow_bytes::prepared_bytes(form.format, rows));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<NarrowBytesOp>(context); }

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
