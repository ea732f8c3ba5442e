// SPDX-License-Identifier: Apache-2.0
// Append: rows of a cache, new ones behind them.
#include "reference/onnx/append.hpp"

#include <algorithm>

#include "base/tensor_memory.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

constexpr std::size_t kPast = 0, kNew = 1;

Types infer_append(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(4, 5);
  const DType dtype = ctx.same_dtype(kNew, kPast);
  for (const std::size_t input : {kAppendStarts, kAppendRows, kAppendRoom}) {
    if (!ctx.has(input)) continue;
    ctx.dtype_is(input, DType::i64);
    ctx.rank(input, 1);
  }
  ctx.rank_at_least(kPast, 3);
  const auto &past = ctx.shape(kPast), &added = ctx.shape(kNew);
  if (!past || !added) return {{dtype, std::nullopt}};
  ctx.rank(kNew, past->size());
  Shape shape = *past;
  const std::size_t rows = shape.size() - 2;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis == rows) continue;
    if (!dims_agree(shape[axis], (*added)[axis]))
      ctx.fail("axis {} of {} expects {}, found {}", axis, ctx.text(kNew), shape[axis], (*added)[axis]);
    shape[axis] = known_dim(shape[axis], (*added)[axis]);
  }
  const auto asked = ctx.ints(kAppendRows);
  shape[rows] = asked && asked->size() == 1 ? std::clamp<std::int64_t>(asked->front(), 0, kMaxDim) : kUnknownDim;
  return {{dtype, std::move(shape)}};
}

Data evaluate_append(const Opaque&, const Call& call) {
  const Tensor &past = call.input(kPast), &added = call.input(kNew);
  const Shape& shape = call.shape();
  const std::size_t axis = shape.size() - 2;
  const Tensor* room = call.optional(kAppendRoom);
  const Ints lie = room != nullptr ? call.ints(kAppendRoom) : Ints{past.shape()[axis], shape[axis]};
  const Ints starts = call.ints(kAppendStarts);
  if (lie.size() != 2 || lie[0] > past.shape()[axis] || lie[1] > shape[axis])
    call.invalid("more rows than there is room for");
  Tensor all = TensorMemory::unset(past.dtype(), shape);
  const std::int64_t width = shape.back(), count = added.shape()[axis];
  const std::int64_t planes = count * width == 0 ? 0 : element_count(added.shape()) / (count * width);
  const std::int64_t a_text = std::max<std::int64_t>(1, planes / std::max<std::int64_t>(1, std::ssize(starts)));
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const std::int64_t start = starts.at(static_cast<std::size_t>(plane / a_text));
    if (start < 0 || start > lie[0] || start + count > lie[1])
      call.invalid("{} new rows behind {} of {} do not fit {}", count, start, lie[0], lie[1]);
    visit_storage(past.dtype(), [&]<class T>(Tag<T>) {
      T* const to = elements<T>(all) + plane * lie[1] * width;
      std::copy_n(elements<T>(past) + plane * lie[0] * width, start * width, to);
      std::copy_n(elements<T>(added) + plane * count * width, count * width, to + start * width);
      std::fill(to + (start + count) * width, to + lie[1] * width, T{});
    });
  }
  visit_storage(past.dtype(), [&]<class T>(Tag<T>) {
    std::fill(elements<T>(all) + planes * lie[1] * width, elements<T>(all) + all.size(), T{});
  });
  return {std::move(all)};
}

}  // namespace

constexpr Definition kAppend{"Append", infer_append, evaluate_append};

}  // namespace colonnade::reference
