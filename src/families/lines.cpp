// SPDX-License-Identifier: Apache-2.0
// Operators along lines: running sums, and ones at the largest elements.
#include "families/lines.hpp"

#include "families/common.hpp"
#include "families/kernel_type.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"

namespace colonnade {
namespace {

using kernels::lines::Type;

struct LineForm {
  reference::AxisView view;
  Shared shared;
};

/// Units are groups of lines.
class LineOp final : public RowOp {
 public:
  LineOp(const LowerContext& context, kernels::lines::LineFn lines, bool exclusive = false, bool reverse = false)
      : kernel_(kernels::lines::select(context.features).name),
        lines_(lines),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        form_(context.form<LineForm>()),
        groups_(form_.view),
        args_(groups_.args()),
        element_(element_bytes(context.input(0))) {
    args_.exclusive = exclusive;
    args_.reverse = reverse;
  }

  void run(const StepContext& step) const override {
    const Interval groups = form_.shared.of(step);
    kernels::lines::LineArgs args = args_;
    for (std::int64_t index = groups.begin; index < groups.end; ++index) {
      const LineGroup group = groups_.group(index);
      args.in = whole(step, in_) + group.first * element_;
      args.out = whole(step, out_) + group.first * element_;
      args.columns = static_cast<std::size_t>(group.columns);
      lines_(args);
    }
  }

  std::string_view kernel() const override { return kernel_; }

 private:
  std::string_view kernel_;
  kernels::lines::LineFn lines_;
  ValueOf<std::byte> in_, out_;
  LineForm form_;
  LineGroups groups_;
  kernels::lines::LineArgs args_;
  std::int64_t element_;  ///< bytes
};

Match along(std::int64_t axis, const Candidate& node) {
  const Shape& shape = node.input_shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const reference::AxisView view = reference::axis_view(shape, rank == 0 ? 0 : normalize_axis(axis, rank, node.node));
  return take(Form::of(LineForm{view, LineGroups(view).shared()}));
}

Match claim(const CumSum&, const Candidate& node, Type type) {
  const auto axis = constant_ints(node.graph, node.node, 1);
  if (!axis || axis->size() != 1) return refuse("the axis is not a constant");
  if (!kernels::lines::select(node.features).sums(type)) return refuse("type has no kernel");
  return along(axis->front(), node);
}
Match claim(const Hardmax& op, const Candidate& node, Type type) {
  if (!kernels::lines::select(node.features).peaks(type)) return refuse("type has no kernel");
  return along(op.axis, node);
}
template <class Op>
Match claim(const Op&, const Candidate&, Type) {
  return refuse();
}

Match match(const Candidate& node) {
  const auto type = line_type(node.input(0).type.dtype);
  return type ? std::visit([&](const auto& op) { return claim(op, node, *type); }, node.node.op) : refuse();
}

std::int64_t units(const Chosen& node) { return node.form<LineForm>().shared.units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const kernels::lines::Kernel& kernel = kernels::lines::select(context.features);
  const Type type = *line_type(context.input(0).type.dtype);
  const auto* sum = std::get_if<CumSum>(&context.node.op);
  if (sum == nullptr) return std::make_unique<LineOp>(context, kernel.peaks(type));
  return std::make_unique<LineOp>(context, kernel.sums(type), sum->exclusive, sum->reverse);
}

}  // namespace

std::optional<Type> line_type(DType dtype) { return kernel_type<Type>(dtype); }

constinit const Family families::lines = whole_family({.name = "lines",
                                                       .types = kAllTypes,
                                                       .match = match,
                                                       .units = units,
                                                       .effort = byte_effort<Work::copy>,
                                                       .weights_bytes = no_bytes,
                                                       .workspace_bytes = no_bytes,
                                                       .lower = lower});

}  // namespace colonnade
