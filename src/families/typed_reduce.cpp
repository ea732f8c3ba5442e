// SPDX-License-Identifier: Apache-2.0
// Reductions of integers and doubles over adjacent axes of whole tensors.
#include "families/common.hpp"
#include "families/kernel_type.hpp"
#include "families/lower.hpp"
#include "families/reduce.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/typed/typed.hpp"

namespace colonnade {
namespace {

using kernels::typed::Reduction;
using kernels::typed::Type;

struct TypedReduceForm {
  Reduction kind;
  Type type;
  ReducedAxes axes;
};

/// Nothing when no kernel has the reduction.
std::optional<Reduction> kernel_kind(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return Reduction::sum;
    case ReduceKind::mean: return Reduction::mean;
    case ReduceKind::max: return Reduction::max;
    case ReduceKind::min: return Reduction::min;
    case ReduceKind::prod: return Reduction::prod;
    case ReduceKind::l1: return Reduction::l1;
    case ReduceKind::l2: return Reduction::l2;
    case ReduceKind::log_sum: return Reduction::log_sum;
    case ReduceKind::sum_square: return Reduction::sum_square;
    case ReduceKind::log_sum_exp: break;
  }
  return std::nullopt;
}

class TypedReduceOp final : public RowOp {
 public:
  explicit TypedReduceOp(const LowerContext& context)
      : kernel_(kernels::typed::select(context.features)),
        axes_(context.form<TypedReduceForm>().axes),
        reduce_(kernel_.reduce(context.form<TypedReduceForm>().kind, context.form<TypedReduceForm>().type)),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        bytes_(element_bytes(context.input(0))) {}

  void run(const StepContext& step) const override {
    kernels::typed::ReduceArgs args;
    args.size = static_cast<std::size_t>(axes_.reduced);
    args.inner = static_cast<std::size_t>(axes_.inner);
    const std::int64_t blocks = axes_.blocks();
    for (std::int64_t unit = step.row_begin; unit < step.row_end; unit += static_cast<std::int64_t>(args.outer)) {
      const std::int64_t outer = unit / blocks, first = unit % blocks * ReducedAxes::kUnitChannels;
      args.outer = static_cast<std::size_t>(blocks == 1 ? step.row_end - unit : 1);
      args.lines = static_cast<std::size_t>(std::min(ReducedAxes::kUnitChannels, axes_.inner - first));
      args.in = whole(step, in_) + (outer * axes_.reduced * axes_.inner + first) * bytes_;
      args.out = whole(step, out_) + (outer * axes_.inner + first) * bytes_;
      reduce_(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::typed::Kernel& kernel_;
  ReducedAxes axes_;
  kernels::typed::ReduceFn reduce_;
  ValueOf<std::byte> in_, out_;
  std::int64_t bytes_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Reduce>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto kind = kernel_kind(op->kind);
  const auto type = kernel_type<Type>(node.input(0).type.dtype);
  if (!kind || !type || !kernels::typed::select(kernels::Isa::baseline).reduce(*kind, *type))
    return refuse("type has no kernel");
  Match refused;
  const auto axes = reduced_axes(node, *op, refused);
  return axes ? take(Form::of(TypedReduceForm{*kind, *type, *axes})) : refused;
}

std::int64_t units(const Chosen& node) { return node.form<TypedReduceForm>().axes.units(); }

/// Of eight bytes half as many lanes, and more instructions for each.
Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kWide = 2.8;
  const bool wide = element_bytes(node.input(0)) == 8;
  return {rates.seconds(Work::reduce, (wide ? kWide : 1) * larger_side(node), 1)};
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<TypedReduceOp>(context); }

}  // namespace

constinit const Family families::typed_reduce =
    whole_family({.name = "typed_reduce",
                  .types = {DType::boolean, DType::u8, DType::i8, DType::i32, DType::i64, DType::f64},
                  .match = match,
                  .units = units,
                  .effort = effort,
                  .weights_bytes = no_bytes,
                  .workspace_bytes = no_bytes,
                  .lower = lower});

}  // namespace colonnade
