// SPDX-License-Identifier: Apache-2.0
// Rows by groups times constant matrices, one a group, as mixtures of experts are: of a matrix that no row is sent to
// nothing is read. Weights are floats, or stay narrow as those of narrow_product and narrow_bytes do.
#include <fmt/core.h>

#include "base/checked.hpp"
#include "base/parts.hpp"
#include "families/common.hpp"
#include "families/narrow_rows.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/grouped.hpp"

namespace colonnade {
namespace {

using namespace reference;

constexpr auto kOutputs = static_cast<std::int64_t>(kernels::narrow::kOutputs);  // one unit of work: so many of a group
constexpr auto kPanel = static_cast<std::int64_t>(kernels::gemm::kPanel);

const Opaque* grouped_product_of(const Node& node) {
  const auto* op = std::get_if<Opaque>(&node.op);
  return op != nullptr && op->definition == &kGroupedProduct ? op : nullptr;
}

struct Grouped {
  std::int64_t groups = 1, rows = 0, depth = 0, outputs = 0;
  std::optional<NarrowForm> narrow{};
  bool by_bytes = false;  ///< rows are rounded to bytes

  std::int64_t panels() const { return ceil_div(outputs, kOutputs); }
  std::int64_t group_floats() const { return ceil_div(outputs, kPanel) * kPanel * depth; }
  std::int64_t packed_bytes() const {
    return narrow ? narrow->packed_bytes() : groups * group_floats() * static_cast<std::int64_t>(sizeof(float));
  }
};

/// Panels of kPanel outputs of a group, then those of the next one.
WeightMemory pack(const Constant& matrices, const Grouped& form, WeightRoom& room) {
  const std::int64_t panels = ceil_div(form.outputs, kPanel);
  WeightMemory packed = room.take(static_cast<std::size_t>(form.packed_bytes()));
  for_each_part(form.groups * panels, [&](std::int64_t part) {
    const std::int64_t output = part % panels * kPanel, count = std::min(kPanel, form.outputs - output);
    std::vector<float> rows(static_cast<std::size_t>(count * form.depth));
    matrices.read((part / panels * form.outputs + output) * form.depth, std::as_writable_bytes(std::span(rows)));
    kernels::gemm::pack(rows.data(), 1, form.depth, static_cast<std::size_t>(form.depth),
                        static_cast<std::size_t>(count), packed.floats() + part * kPanel * form.depth);
  });
  return packed;
}

/// What a group's rows are multiplied by: all panels of the group among `panels`.
class GroupMatrices {
 public:
  virtual ~GroupMatrices() = default;
  virtual void multiply(const NarrowRows& rows, std::int64_t group, Interval panels, float* scratch) const = 0;
  virtual std::string_view kernel() const = 0;
};

class FloatGroups final : public GroupMatrices {
 public:
  explicit FloatGroups(const LowerContext& context)
      : form_(context.form<Grouped>()),
        gemm_(kernels::gemm::select(context.features, kernels::Encoding::f32)),
        weights_(
            context.packed(kGroupedMatrices, fmt::format("grouped/{}", form_.groups),
                           [&](const Constant& matrices, WeightRoom& room) { return pack(matrices, form_, room); })) {}

  void multiply(const NarrowRows& rows, std::int64_t group, Interval panels, float*) const override {
    const std::int64_t output = panels.begin * kOutputs;
    float* const out = rows.out + output;
    kernels::gemm::ConvArgs args;
    args.width_in = args.width_out = static_cast<std::size_t>(rows.count);
    args.channels_in = static_cast<std::size_t>(form_.depth);
    args.channels_out = static_cast<std::size_t>(std::min(panels.end * kOutputs, form_.outputs) - output);
    args.in_pixel_stride = form_.depth;
    args.out_pixel_stride = form_.outputs;
    args.in_rows = &rows.x;
    args.out_rows = &out;
    args.weights = weights_ + group * form_.group_floats() + output * form_.depth;
    args.panel_stride = static_cast<std::size_t>(form_.depth * kPanel);
    args.bias = rows.bias == nullptr ? nullptr : rows.bias + output;
    gemm_.run(args);
  }
  std::string_view kernel() const override { return gemm_.name; }

 private:
  Grouped form_;
  const kernels::gemm::Kernel& gemm_;
  const float* weights_;
};

/// Some of a group's panels.
void multiply_panels(const NarrowProduct& product, const NarrowForm& form, const NarrowRows& rows, Interval panels,
                     float* scratch) {
  if (form.as_vectors()) return product.multiply_vectors(rows, panels, scratch);
  if (rows.count <= NarrowForm::kFewRows) return product.multiply_few(rows, panels);
  for (std::int64_t panel = panels.begin; panel < panels.end; ++panel)
    for (std::int64_t row = 0; row < rows.count; row += NarrowProduct::kRows)
      product.multiply_rows(rows.some(form, row, NarrowProduct::kRows), panel, scratch);
}
void multiply_panels(const NarrowByteProduct& product, const NarrowForm& form, const NarrowRows& rows, Interval panels,
                     float* scratch) {
  for (std::int64_t row = 0; row < rows.count; row += NarrowByteProduct::kMostRows)
    product.multiply(rows.some(form, row, NarrowByteProduct::kMostRows), panels, scratch);
}

/// Product: NarrowProduct, or NarrowByteProduct.
template <class Product>
class NarrowGroups final : public GroupMatrices {
 public:
  explicit NarrowGroups(const LowerContext& context)
      : form_(*context.form<Grouped>().narrow),
        product_(form_, context.features, {}),
        weights_(packed_panels(context, kGroupedMatrices, form_)) {}

  void multiply(const NarrowRows& rows, std::int64_t group, Interval panels, float* scratch) const override {
    NarrowRows of_group = rows;
    of_group.panels = weights_ + group * form_.group_bytes();
    multiply_panels(product_, form_, of_group, panels, scratch);
  }
  std::string_view kernel() const override { return product_.kernel(); }

 private:
  NarrowForm form_;
  Product product_;
  const std::byte* weights_;
};

/// Units are panels of every group.
class GroupedProductOp final : public RowOp {
 public:
  GroupedProductOp(const LowerContext& context, std::unique_ptr<GroupMatrices> matrices)
      : form_(context.form<Grouped>()),
        matrices_(std::move(matrices)),
        bias_(context.floats(kGroupedBias)),
        rows_(context.in<float>(kGroupedRows)),
        ends_(context.in<std::int64_t>(kGroupedEnds)),
        out_(context.out<float>()) {}

  void run(const StepContext& step) const override {
    const std::int64_t* const ends = whole(step, ends_);
    const Interval panels{step.row_begin, step.row_end};
    std::int64_t row = 0;
    for (std::int64_t group = 0; group < form_.groups; ++group) {
      const std::int64_t end = std::clamp(ends[group], row, form_.rows);
      NarrowRows rows{end - row, whole(step, rows_) + row * form_.depth, whole(step, out_) + row * form_.outputs};
      if (bias_ != nullptr) rows.bias = bias_ + group * form_.outputs;
      if (rows.count > 0) matrices_->multiply(rows, group, panels, step.scratch);
      row = end;
    }
    clear(step, row, panels);
  }

  std::string_view kernel() const override { return matrices_->kernel(); }

 private:
  /// Rows of no group.
  void clear(const StepContext& step, std::int64_t row, Interval panels) const {
    const std::int64_t first = panels.begin * kOutputs, end = std::min(panels.end * kOutputs, form_.outputs);
    for (; row < form_.rows; ++row) std::fill_n(whole(step, out_) + row * form_.outputs + first, end - first, 0.0f);
  }

  Grouped form_;
  std::unique_ptr<GroupMatrices> matrices_;
  const float* bias_;
  ValueOf<float> rows_;
  ValueOf<std::int64_t> ends_;
  ValueOf<float> out_;
};

Grouped form_of(const Candidate& node, const Opaque& op) {
  const GroupedSizes read = grouped_sizes_of(op);
  const Shape& matrices = node.input_shape(kGroupedMatrices);
  Grouped form{read.groups, node.output_shape()[0], matrices[1], matrices[0] / read.groups};
  form.narrow = narrow_form(*node.input(kGroupedMatrices).constant, true, node.blocking, form.groups);
  if (!form.narrow) return form;
  form.narrow->rows = form.rows;
  form.narrow->single = of_sample(node.graph, form.rows / read.repeats) == 1;
  form.narrow->exact = node.math == Math::exact;
  const auto by_bytes = form.narrow->for_bytes();
  form.by_bytes = by_bytes.has_value();
  if (by_bytes) form.narrow = by_bytes;
  return form;
}

Match match(const Candidate& node) {
  const Opaque* op = grouped_product_of(node.node);
  if (op == nullptr) return refuse();
  if (!node.constant(kGroupedMatrices)) return refuse("matrices are not constant");
  if (!node.constant_or_absent(kGroupedBias)) return refuse("bias is not constant");
  return take(Form::of(form_of(node, *op)));
}

/// Where rows are rounded: asked first.
Match match_bytes(const Candidate& node) {
  Match all = match(node);
  return !all.offers.empty() && all.offers[0].form.as<Grouped>().by_bytes ? all : refuse();
}

std::int64_t units(const Chosen& node) { return std::max<std::int64_t>(1, node.form<Grouped>().panels()); }

/// As if rows were sent to all groups alike.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<Grouped>();
  const double flop = 2.0 * static_cast<double>(form.rows * form.outputs) * static_cast<double>(form.depth);
  const double met = static_cast<double>(std::min(form.groups, form.rows)) / static_cast<double>(form.groups);
  const double reading = rates.seconds(Work::copy, met * static_cast<double>(form.packed_bytes()), 1);
  return {std::max(rates.seconds(Work::contraction, flop, static_cast<double>(std::max<std::int64_t>(1, form.depth))),
                   reading)};
}

std::int64_t packed_bytes(const Chosen& node) { return node.form<Grouped>().packed_bytes(); }

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<Grouped>();
  if (!form.narrow) return 0;
  if (form.by_bytes) return NarrowByteProduct::workspace_bytes(*form.narrow, form.rows);
  const std::int64_t floats = form.narrow->as_vectors() ? NarrowProduct::vector_floats(*form.narrow, form.rows)
                                                        : NarrowProduct::panel_floats(*form.narrow);
  return static_cast<std::int64_t>(sizeof(float)) * floats;
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const auto& form = context.form<Grouped>();
  std::unique_ptr<GroupMatrices> matrices;
  if (form.by_bytes)
    matrices = std::make_unique<NarrowGroups<NarrowByteProduct>>(context);
  else if (form.narrow)
    matrices = std::make_unique<NarrowGroups<NarrowProduct>>(context);
  else
    matrices = std::make_unique<FloatGroups>(context);
  return std::make_unique<GroupedProductOp>(context, std::move(matrices));
}

constexpr WholeFamily kGrouped = {.name = "grouped_product",
                                  .types = kFloats,
                                  .match = match,
                                  .units = units,
                                  .effort = effort,
                                  .weights_bytes = packed_bytes,
                                  .workspace_bytes = workspace_bytes,
                                  .lower = lower};
constexpr WholeFamily rounded() {
  WholeFamily row = kGrouped;
  row.name = "grouped_bytes";
  row.match = match_bytes;
  return row;
}

}  // namespace

constinit const Family families::grouped_product = whole_family(kGrouped);
constinit const Family families::grouped_bytes = whole_family(rounded());

}  // namespace colonnade
