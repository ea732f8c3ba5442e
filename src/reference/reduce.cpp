// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

/// Which axes a Reduce sums over.
std::vector<bool> reduced_axes(const Reduce& reduce, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints axes = call.ints(1);
  std::vector<bool> reduced(x.shape().size(), axes.empty() && !reduce.noop_with_empty_axes);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(call.axis(axis, x))] = true;
  return reduced;
}

/// Strides into the dense output that stand still along reduced axes.
Ints output_strides(const Shape& shape, const std::vector<bool>& reduced) {
  Ints strides(shape.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (reduced[axis]) continue;
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// Calls f(output index, x) for every element.
template <class C, class F>
void for_each_element(const Tensor& x, const Ints& strides, F&& f) {
  const auto row = [&](const auto& offsets, std::int64_t count, const auto& steps) {
    C block[kBlock];
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
      load(x, offsets[0] + begin, n, block);
      for (std::int64_t i = 0; i < n; ++i) f(static_cast<std::size_t>(offsets[1] + (begin + i) * steps[1]), block[i]);
    }
  };
  for_each_row<2>(x.shape(), {strides_of(x.shape()), strides}, row);
}

/// Arithmetic whose integer results are those of wrapping around.
template <class C>
C wrapping_add(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class C>
C wrapping_mul(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    return static_cast<C>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
template <class C>
C magnitude(C x) {
  return x < C{0} ? wrapping_mul(x, static_cast<C>(-1)) : x;
}

template <class C>
C initial(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::max: return lowest_of<C>(dtype);
    case ReduceKind::min: return highest_of<C>(dtype);
    case ReduceKind::prod: return C{1};
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::l1:
    case ReduceKind::l2:
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp:
    case ReduceKind::sum_square: break;
  }
  return C{0};
}

template <class C>
C combine(ReduceKind kind, C sum, C x) {
  switch (kind) {
    case ReduceKind::max: return x > sum || x != x ? x : sum;
    case ReduceKind::min: return x < sum || x != x ? x : sum;
    case ReduceKind::prod: return wrapping_mul(sum, x);
    case ReduceKind::l1: return wrapping_add(sum, magnitude(x));
    case ReduceKind::l2:
    case ReduceKind::sum_square: return wrapping_add(sum, wrapping_mul(x, x));
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp: break;
  }
  return wrapping_add(sum, x);
}

template <class C>
std::vector<C> reduce_plain(ReduceKind kind, const Tensor& x, const Ints& strides, std::int64_t outputs) {
  std::vector<C> sums(static_cast<std::size_t>(outputs), initial<C>(kind, x.dtype()));
  for_each_element<C>(x, strides, [&](std::size_t at, C value) { sums[at] = combine(kind, sums[at], value); });
  return sums;
}

/// log(sum(exp(x))), the largest x taken out of the sum.
std::vector<double> log_sum_exp(const Tensor& x, const Ints& strides, std::int64_t outputs) {
  std::vector<double> peaks = reduce_plain<double>(ReduceKind::max, x, strides, outputs);
  for (double& peak : peaks) peak = std::isinf(peak) ? 0 : peak;
  std::vector<double> sums(peaks.size(), 0);
  for_each_element<double>(x, strides, [&](std::size_t at, double value) { sums[at] += std::exp(value - peaks[at]); });
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::log(sums[i]) + peaks[i];
  return sums;
}

template <class C>
Tensor reduce_as(ReduceKind kind, const Call& call, const Ints& strides) {
  const Tensor& x = call.input(0);
  Tensor result(call.dtype(), call.shape());  // of nothing much can be made: this finds out first
  const std::int64_t outputs = result.size();
  std::vector<C> sums = reduce_plain<C>(kind, x, strides, outputs);
  const C count = static_cast<C>(outputs == 0 ? 0 : x.size() / outputs);
  for (C& sum : sums) {
    if (kind == ReduceKind::mean) {
      if (count == C{0} && std::is_integral_v<C>) call.invalid("the mean of no integers");
      sum = sum / count;
    }
    if constexpr (std::is_same_v<C, double>) {
      if (kind == ReduceKind::l2) sum = std::sqrt(sum);
      if (kind == ReduceKind::log_sum) sum = std::log(sum);
    }
  }
  store(sums.data(), outputs, result, 0);
  return result;
}

bool is_exact_on_integers(ReduceKind kind) {
  return kind != ReduceKind::l2 && kind != ReduceKind::log_sum && kind != ReduceKind::log_sum_exp;
}

/// The position of the extreme along the axis for every line.
template <class C>
std::vector<std::int64_t> extremes(const ArgReduce& op, const Tensor& x, const AxisView& view) {
  const std::vector<C> values = load_all<C>(x);
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(view.outer * view.inner));
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (std::int64_t inner = 0; inner < view.inner; ++inner) {
      const C* line = values.data() + outer * view.size * view.inner + inner;
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < view.size; ++i) {
        const C value = line[i * view.inner], held = line[best * view.inner];
        const bool better = op.max ? value > held : value < held;
        if (better || (op.select_last_index && value == held) || (value != value && held == held)) best = i;
      }
      result.push_back(best);
    }
  }
  return result;
}

template <class C>
void accumulate_line(const CumSum& op, C* line, std::int64_t size, std::int64_t step) {
  C sum{0};
  for (std::int64_t i = 0; i < size; ++i) {
    C& element = line[(op.reverse ? size - 1 - i : i) * step];
    const C next = wrapping_add(sum, element);
    element = op.exclusive ? sum : next;
    sum = next;
  }
}

}  // namespace

Tensors apply(const Reduce& reduce, const Call& call) {
  const Tensor& x = call.input(0);
  const std::vector<bool> reduced = reduced_axes(reduce, call);
  const Ints strides = output_strides(x.shape(), reduced);
  if (reduce.kind == ReduceKind::log_sum_exp) {
    Tensor result(call.dtype(), call.shape());
    store(log_sum_exp(x, strides, result.size()).data(), result.size(), result, 0);
    return {result};
  }
  if (!is_exact_on_integers(reduce.kind)) return {reduce_as<double>(reduce.kind, call, strides)};
  Tensors outputs;
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) { outputs.push_back(reduce_as<C>(reduce.kind, call, strides)); });
  return outputs;
}

Tensors apply(const ArgReduce& op, const Call& call) {
  const Tensor& x = call.input(0);
  const AxisView view = axis_view(x.shape(), call.axis(op.axis, x));
  if (view.size == 0 && view.outer * view.inner > 0) call.invalid("the axis is empty");
  std::vector<std::int64_t> positions;
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) { positions = extremes<C>(op, x, view); });
  return {tensor_of(DType::i64, call.shape(), positions)};
}

Tensors apply(const CumSum& op, const Call& call) {
  const Tensor& x = call.input(0);
  const Ints axis = call.ints(1);
  if (axis.size() != 1) call.invalid("the axis has {} elements, expected 1", axis.size());
  const AxisView view = axis_view(x.shape(), call.axis(axis[0], x));
  Tensors outputs;
  visit_compute(x.dtype(), call, [&]<class C>(Tag<C>) {
    std::vector<C> values = load_all<C>(x);
    const std::int64_t lines = view.size > 0 ? view.outer : 0;  // of no elements none
    for (std::int64_t outer = 0; outer < lines; ++outer) {
      for (std::int64_t inner = 0; inner < view.inner; ++inner) {
        accumulate_line(op, values.data() + outer * view.size * view.inner + inner, view.size, view.inner);
      }
    }
    outputs.push_back(tensor_of(x.dtype(), x.shape(), values));
  });
  return outputs;
}

}  // namespace colonnade::reference
