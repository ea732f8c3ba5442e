// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/lowering.hpp"

namespace colonnade::onnx_import {
namespace {

template <ReduceKind kind>
Values reduce_axes_attribute(Lowering& low) {
  const Ints axes = find_ints(low.node(), "axes").value_or(Ints());
  const Reduce reduction{.kind = kind, .keepdims = low.flag("keepdims", true)};
  if (axes.empty()) return {low.emit(reduction, {low.input(0)})};
  return {low.emit(reduction, {low.input(0), ints(low, axes)})};
}

template <ReduceKind kind>
Values reduce_axes_input(Lowering& low) {
  const Reduce reduction{
      .kind = kind, .keepdims = low.flag("keepdims", true), .noop_with_empty_axes = low.flag("noop_with_empty_axes")};
  Values inputs = {low.input(0)};
  if (low.optional_input(1) != kAbsent) inputs.push_back(low.input(1));
  return {low.emit(reduction, std::move(inputs))};
}

template <bool is_max>
Values lower_arg(Lowering& low) {
  ArgReduce arg{.max = is_max,
                .axis = low.int_or("axis", 0),
                .keepdims = low.flag("keepdims", true),
                .select_last_index = low.flag("select_last_index")};
  if (low.shape(low.input(0))) arg.axis = checked_axis(low, arg.axis, low.rank(low.input(0)));
  return {low.emit(arg, {low.input(0)})};
}

constexpr Row attribute_row(std::string_view name, int until, Lower lower) {
  return {kOnnxDomain, name, 1, until, 1, 1, 1, lower};
}
constexpr Row input_row(std::string_view name, int since, Lower lower) {
  return {kOnnxDomain, name, since, kNoLimit, 1, 2, 1, lower};
}

constexpr Row kReduceRows[] = {
    attribute_row("ReduceL1", 17, reduce_axes_attribute<ReduceKind::l1>),
    attribute_row("ReduceL2", 17, reduce_axes_attribute<ReduceKind::l2>),
    attribute_row("ReduceLogSum", 17, reduce_axes_attribute<ReduceKind::log_sum>),
    attribute_row("ReduceLogSumExp", 17, reduce_axes_attribute<ReduceKind::log_sum_exp>),
    attribute_row("ReduceMax", 17, reduce_axes_attribute<ReduceKind::max>),
    attribute_row("ReduceMean", 17, reduce_axes_attribute<ReduceKind::mean>),
    attribute_row("ReduceMin", 17, reduce_axes_attribute<ReduceKind::min>),
    attribute_row("ReduceProd", 17, reduce_axes_attribute<ReduceKind::prod>),
    attribute_row("ReduceSum", 12, reduce_axes_attribute<ReduceKind::sum>),
    attribute_row("ReduceSumSquare", 17, reduce_axes_attribute<ReduceKind::sum_square>),
    input_row("ReduceL1", 18, reduce_axes_input<ReduceKind::l1>),
    input_row("ReduceL2", 18, reduce_axes_input<ReduceKind::l2>),
    input_row("ReduceLogSum", 18, reduce_axes_input<ReduceKind::log_sum>),
    input_row("ReduceLogSumExp", 18, reduce_axes_input<ReduceKind::log_sum_exp>),
    input_row("ReduceMax", 18, reduce_axes_input<ReduceKind::max>),
    input_row("ReduceMean", 18, reduce_axes_input<ReduceKind::mean>),
    input_row("ReduceMin", 18, reduce_axes_input<ReduceKind::min>),
    input_row("ReduceProd", 18, reduce_axes_input<ReduceKind::prod>),
    input_row("ReduceSum", 13, reduce_axes_input<ReduceKind::sum>),
    input_row("ReduceSumSquare", 18, reduce_axes_input<ReduceKind::sum_square>),
    {kOnnxDomain, "ArgMax", 1, kNoLimit, 1, 1, 1, lower_arg<true>},
    {kOnnxDomain, "ArgMin", 1, kNoLimit, 1, 1, 1, lower_arg<false>},
};

}  // namespace

std::span<const Row> reduce_rows() { return kReduceRows; }

}  // namespace colonnade::onnx_import
