// SPDX-License-Identifier: Apache-2.0
// Operators along lines: running sums and products, and ones at the largest elements.
#include "families/lines.hpp"

#include "families/common.hpp"
#include "families/kernel_type.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade {
namespace {

using kernels::lines::Type;

/// Which function of the kernel, null where it has none for a type.
using Lines = kernels::lines::LineFn (*kernels::lines::Kernel::*)(Type) noexcept;

struct LineForm {
  Lines lines = nullptr;
  bool exclusive = false, reverse = false;
  reference::AxisView view{};
  Shared shared{};
};

/// Units are groups of lines.
class LineOp final : public RowOp {
 public:
  explicit LineOp(const LowerContext& context)
      : kernel_(kernels::lines::select(context.features)),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        form_(context.form<LineForm>()),
        lines_((kernel_.*form_.lines)(*line_type(context.input(0).type.dtype))),
        groups_(form_.view),
        args_(groups_.args()),
        element_(element_bytes(context.input(0))) {
    args_.exclusive = form_.exclusive;
    args_.reverse = form_.reverse;
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

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::lines::Kernel& kernel_;
  ValueOf<std::byte> in_, out_;
  LineForm form_;
  kernels::lines::LineFn lines_;
  LineGroups groups_;
  kernels::lines::LineArgs args_;
  std::int64_t element_;  ///< bytes
};

Match along(std::int64_t axis, const Candidate& node, LineForm form) {
  const auto type = line_type(node.input(0).type.dtype);
  if (!type || !(kernels::lines::select(node.features).*form.lines)(*type)) return refuse("type has no kernel");
  const Shape& shape = node.input_shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  form.view = reference::axis_view(shape, rank == 0 ? 0 : normalize_axis(axis, rank, node.node));
  form.shared = LineGroups(form.view).shared();
  return take(Form::of(form));
}

/// The axis is the second input.
Match running(const Candidate& node, const LineForm& form) {
  const auto axis = constant_ints(node.graph, node.node, 1);
  return axis && axis->size() == 1 ? along(axis->front(), node, form) : refuse("the axis is not a constant");
}

Match claim(const CumSum& op, const Candidate& node) {
  return running(node, {&kernels::lines::Kernel::sums, op.exclusive, op.reverse});
}
Match claim(const Opaque& op, const Candidate& node) {
  if (op.definition != &reference::kCumProd) return refuse();
  return running(node,
                 {&kernels::lines::Kernel::products, op.int_or("exclusive", 0) != 0, op.int_or("reverse", 0) != 0});
}
Match claim(const Hardmax& op, const Candidate& node) { return along(op.axis, node, {&kernels::lines::Kernel::peaks}); }
template <class Op>
Match claim(const Op&, const Candidate&) {
  return refuse();
}

Match match(const Candidate& node) {
  return std::visit([&](const auto& op) { return claim(op, node); }, node.node.op);
}

std::int64_t units(const Chosen& node) { return node.form<LineForm>().shared.units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<LineOp>(context); }

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
