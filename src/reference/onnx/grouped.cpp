// SPDX-License-Identifier: Apache-2.0
// Rows by groups: each row is sent to some of many groups, and a group's rows are multiplied by its own matrix.
#include "reference/onnx/grouped.hpp"

#include <algorithm>

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

Types infer_group_rows(const Opaque& op, const RuleContext& ctx) {
  const std::int64_t groups = grouped_sizes_of(op).groups;
  ctx.inputs(1, 1);
  ctx.dtype_is(0, DType::i64);
  ctx.rank(0, 2);
  const Shape sent = ctx.shape(0) ? *ctx.shape(0) : unknown_shape(2);
  return {{DType::i64, Shape{product_of(sent)}}, {DType::i64, sent}, {DType::i64, Shape{groups}}};
}

/// By counting: rows of a group keep their order.
Data evaluate_group_rows(const Opaque& op, const Call& call) {
  const std::int64_t groups = grouped_sizes_of(op).groups;
  const Ints sent = call.ints(0);
  const Shape& shape = call.input(0).shape();
  Ints next(static_cast<std::size_t>(groups) + 1), rows(sent.size()), places(sent.size());
  for (const std::int64_t group : sent) {
    if (group < 0 || group >= groups)
      fail(ErrorCode::invalid_input, "node '{}' ({}): group {} of {}", call.node.name, call.node.origin, group, groups);
    ++next[static_cast<std::size_t>(group) + 1];
  }
  for (std::size_t group = 1; group < next.size(); ++group) next[group] += next[group - 1];
  for (std::size_t i = 0; i < sent.size(); ++i) {
    places[i] = next[static_cast<std::size_t>(sent[i])]++;
    rows[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i) / shape[1];
  }
  next.pop_back();  // a group's first place has moved to its end
  return {tensor_of(DType::i64, {static_cast<std::int64_t>(rows.size())}, rows), tensor_of(DType::i64, shape, places),
          tensor_of(DType::i64, {groups}, next)};
}

Types infer_grouped_product(const Opaque& op, const RuleContext& ctx) {
  const GroupedSizes read = grouped_sizes_of(op);
  ctx.inputs(3, 4);
  for (const std::size_t input : {kGroupedRows, kGroupedMatrices, kGroupedBias}) {
    if (!ctx.has(input)) continue;
    ctx.dtype_is(input, DType::f32);
    ctx.rank(input, 2);
  }
  ctx.dtype_is(kGroupedEnds, DType::i64);
  ctx.vector(kGroupedEnds, read.groups, "groups");
  const Shape rows = ctx.shape(kGroupedRows) ? *ctx.shape(kGroupedRows) : unknown_shape(2);
  const Shape matrices = ctx.shape(kGroupedMatrices) ? *ctx.shape(kGroupedMatrices) : unknown_shape(2);
  ctx.dim(kGroupedMatrices, 1, rows[1], "elements of a row");
  std::int64_t outputs = kUnknownDim;
  if (matrices[0] >= 0) {
    if (matrices[0] % read.groups != 0)
      ctx.fail("{} groups do not divide {} rows of {}", read.groups, matrices[0], ctx.text(kGroupedMatrices));
    outputs = matrices[0] / read.groups;
  }
  if (ctx.has(kGroupedBias)) {
    ctx.dim(kGroupedBias, 0, read.groups, "groups");
    ctx.dim(kGroupedBias, 1, outputs, "outputs");
  }
  return {{DType::f32, Shape{rows[0], outputs}}};
}

Data evaluate_grouped_product(const Opaque& op, const Call& call) {
  const std::int64_t groups = grouped_sizes_of(op).groups;
  const Shape shape = call.input(kGroupedRows).shape();
  const std::int64_t depth = shape[1], outputs = call.input(kGroupedMatrices).shape()[0] / groups;
  const std::vector<double> x = load_all<double>(call.input(kGroupedRows)),
                            matrices = load_all<double>(call.input(kGroupedMatrices));
  const Tensor* given = call.optional(kGroupedBias);
  const std::vector<double> bias = given == nullptr ? std::vector<double>() : load_all<double>(*given);
  const Ints ends = call.ints(kGroupedEnds);
  std::vector<double> out(static_cast<std::size_t>(shape[0] * outputs));
  std::int64_t row = 0;
  for (std::int64_t group = 0; group < groups; ++group)
    for (; row < std::min(shape[0], ends[static_cast<std::size_t>(group)]); ++row)
      for (std::int64_t n = 0; n < outputs; ++n) {
        const std::int64_t at = group * outputs + n;
        double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(at)];
        for (std::int64_t k = 0; k < depth; ++k)
          sum += x[static_cast<std::size_t>(row * depth + k)] * matrices[static_cast<std::size_t>(at * depth + k)];
        out[static_cast<std::size_t>(row * outputs + n)] = sum;
      }
  return {tensor_of(DType::f32, {shape[0], outputs}, out)};
}

}  // namespace

GroupedSizes grouped_sizes_of(const Opaque& op) {
  const GroupedSizes read{op.int_of("groups"), op.int_or("repeats", 1)};
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  if (read.groups < 1 || read.groups > kMost || read.repeats < 1 || read.repeats > read.groups)
    fail(ErrorCode::invalid_model, "rows in {} of {} groups", read.repeats, read.groups);
  return read;
}

constexpr Definition kGroupRows{"GroupRows", infer_group_rows, evaluate_group_rows};
constexpr Definition kGroupedProduct{"GroupedProduct", infer_grouped_product, evaluate_grouped_product};

}  // namespace colonnade::reference
