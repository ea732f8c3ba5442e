// SPDX-License-Identifier: Apache-2.0
// Compress: slices where a condition is true.
#include <algorithm>

#include "base/lists.hpp"
#include "base/tensor_memory.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

std::span<const std::uint8_t> bytes_of(const Tensor& condition) {
  return {elements<std::uint8_t>(condition), static_cast<std::size_t>(condition.size())};
}

std::int64_t true_ones(std::span<const std::uint8_t> condition) {
  return std::count_if(condition.begin(), condition.end(), [](std::uint8_t byte) { return byte != 0; });
}

Types infer_compress(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  ctx.dtype_is(1, DType::boolean);
  ctx.rank(1, 1);
  const auto& constant = ctx.graph().value(ctx.node().inputs[1]).constant;
  const std::int64_t count = constant ? true_ones(bytes_of(*constant->tensor())) : kUnknownDim;
  if (!op.has("axis")) return {{ctx.dtype(0), Shape{count}}};
  if (!ctx.shape(0)) return {{ctx.dtype(0), std::nullopt}};
  Shape shape = *ctx.shape(0);
  at(shape, ctx.axis(op.int_of("axis"), rank_of(shape))) = count;
  return {{ctx.dtype(0), std::move(shape)}};
}

/// The condition up to its last true element, which lies on the axis.
std::span<const std::uint8_t> until_last(std::span<const std::uint8_t> condition, std::int64_t size, const Call& call) {
  std::size_t end = condition.size();
  while (end > 0 && condition[end - 1] == 0) --end;
  if (static_cast<std::int64_t>(end) > size)
    call.invalid("element {} of the condition is true, the axis has {}", end - 1, size);
  return condition.first(end);
}

/// Slices side by side.
struct Run {
  std::int64_t first = 0, count = 0;
};

/// Slices that are taken, neighbours together.
std::vector<Run> runs_of(std::span<const std::uint8_t> condition) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] == 0) continue;
    if (i == 0 || condition[i - 1] == 0) runs.push_back({static_cast<std::int64_t>(i), 0});
    ++runs.back().count;
  }
  return runs;
}

/// Element by element, without a branch that nobody could foresee: what is not taken is written over.
template <class T>
void copy_elements(const T* from, std::span<const std::uint8_t> condition, const AxisView& view, T* to) {
  for (std::int64_t outer = 0; outer < view.outer; ++outer, from += view.size)
    for (std::size_t i = 0; i < condition.size(); ++i) {
      *to = from[i];
      to += condition[i] != 0 ? 1 : 0;
    }
}

template <class T>
void copy_runs(const T* from, const std::vector<Run>& runs, const AxisView& view, T* to) {
  for (std::int64_t outer = 0; outer < view.outer; ++outer, from += view.size * view.inner) {
    for (const Run& run : runs) to = std::copy_n(from + run.first * view.inner, run.count * view.inner, to);
  }
}

Data evaluate_compress(const Opaque& op, const Call& call) {
  const Tensor& x = call.input(0);
  const bool flat = !op.has("axis");
  const std::int64_t axis = flat ? 0 : call.axis(op.int_of("axis"), x);
  const AxisView view = flat ? AxisView{1, x.size(), 1} : axis_view(x.shape(), axis);
  const auto condition = until_last(bytes_of(call.input(1)), view.size, call);
  Shape shape = flat ? Shape{0} : x.shape();
  at(shape, axis) = true_ones(condition);
  Tensor y = TensorMemory::unset(x.dtype(), std::move(shape));
  visit_storage(x.dtype(), [&]<class T>(Tag<T>) {
    if (view.inner == 1 && !std::is_same_v<T, std::string>)
      copy_elements(elements<T>(x), condition, view, elements<T>(y));
    else
      copy_runs(elements<T>(x), runs_of(condition), view, elements<T>(y));
  });
  return {std::move(y)};
}

}  // namespace

constexpr Definition kCompress{"Compress", infer_compress, evaluate_compress};

}  // namespace colonnade::reference
