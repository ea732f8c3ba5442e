// SPDX-License-Identifier: Apache-2.0
// Unique, and the operator of com.microsoft that leaves its numbers in the order of their first appearance.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"
#include "base/lists.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

Types infer_unique(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  op.int_or("sorted", 1);
  ValueType y{ctx.dtype(0), Shape{kUnknownDim}};
  std::int64_t slices = kUnknownDim;
  if (op.has("axis")) {
    y.shape = ctx.shape(0);
    if (y.shape) {
      const std::int64_t axis = ctx.axis(op.int_of("axis"), rank_of(*y.shape));
      slices = at(*y.shape, axis);
      at(*y.shape, axis) = kUnknownDim;
    }
  } else if (ctx.shape(0)) {
    slices = product_of(*ctx.shape(0));
  }
  const ValueType counts{DType::i64, Shape{kUnknownDim}};
  return {y, counts, {DType::i64, Shape{slices}}, counts};
}

/// Slices in numbers: where each is first met, which one each slice is, how often it occurs.
struct Groups {
  Ints first, inverse, counts;
};

/// -1, 0 or 1; what is not a number comes last and equals itself.
template <class T>
int compare(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) {
    if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  }
  return a < b ? -1 : (b < a ? 1 : 0);
}

template <class T>
Groups grouped(std::span<const T> values, const AxisView& view, bool sorted) {
  const auto compare_slices = [&](std::int64_t a, std::int64_t b) {
    for (std::int64_t outer = 0; outer < view.outer; ++outer) {
      const T* row = values.data() + outer * view.size * view.inner;
      for (std::int64_t i = 0; i < view.inner; ++i) {
        const int order = compare(row[a * view.inner + i], row[b * view.inner + i]);
        if (order != 0) return order;
      }
    }
    return 0;
  };
  Ints order(static_cast<std::size_t>(view.size));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return compare_slices(a, b) < 0; });
  Ints first, group_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare_slices(order[i - 1], order[i]) != 0) first.push_back(order[i]);
    group_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(first.size()) - 1;
  }
  Ints rank(first.size());
  std::iota(rank.begin(), rank.end(), 0);
  const auto earlier = [&](auto a, auto b) {
    return first[static_cast<std::size_t>(a)] < first[static_cast<std::size_t>(b)];
  };
  if (!sorted) std::sort(rank.begin(), rank.end(), earlier);
  Groups groups{Ints(first.size()), Ints(order.size()), Ints(first.size(), 0)};
  Ints place(first.size());
  for (std::size_t i = 0; i < rank.size(); ++i) {
    place[static_cast<std::size_t>(rank[i])] = static_cast<std::int64_t>(i);
    groups.first[i] = first[static_cast<std::size_t>(rank[i])];
  }
  for (std::size_t i = 0; i < group_of.size(); ++i) {
    groups.inverse[i] = place[static_cast<std::size_t>(group_of[i])];
    ++groups.counts[static_cast<std::size_t>(groups.inverse[i])];
  }
  return groups;
}

/// The same of single numbers, by a table: they are compared with those that are like them, not with all.
template <class T>
class NumberGroups {
 public:
  explicit NumberGroups(std::span<const T> values) : values_(values) {
    groups_.inverse.reserve(values.size());
    grow();
    for (std::size_t i = 0; i < values.size(); ++i) add(static_cast<std::int64_t>(i));
  }

  Groups take(bool sorted) {
    if (sorted) sort();
    return std::move(groups_);
  }

 private:
  /// Equal numbers have equal bits: both zeros are one, and all that are no numbers.
  static std::uint64_t bits_of(T value) {
    if constexpr (std::is_same_v<T, double>) {
      return std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value + 0.0);
    } else {
      return static_cast<std::uint64_t>(value);
    }
  }

  /// Where the group of these bits is in the table, or would be.
  std::size_t slot_of(std::uint64_t bits) const {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    std::size_t slot = (bits * kSpread) >> shift_;
    while (table_[slot] >= 0 && bits_[static_cast<std::size_t>(table_[slot])] != bits)
      slot = (slot + 1) & (table_.size() - 1);
    return slot;
  }

  /// A table of four times as many slots as there are groups.
  void grow() {
    constexpr std::size_t kLeast = 64;
    table_.assign(std::max(kLeast, std::bit_ceil(4 * bits_.size())), -1);
    shift_ = 64 - std::countr_zero(table_.size());
    for (std::size_t group = 0; group < bits_.size(); ++group)
      table_[slot_of(bits_[group])] = static_cast<std::int64_t>(group);
  }

  void add(std::int64_t place) {
    const std::uint64_t bits = bits_of(values_[static_cast<std::size_t>(place)]);
    const std::size_t slot = slot_of(bits);
    std::int64_t group = table_[slot];
    if (group < 0) {
      group = table_[slot] = static_cast<std::int64_t>(bits_.size());
      bits_.push_back(bits);
      groups_.first.push_back(place);
      groups_.counts.push_back(0);
      if (2 * bits_.size() > table_.size()) grow();
    }
    groups_.inverse.push_back(group);
    ++groups_.counts[static_cast<std::size_t>(group)];
  }

  void sort() {
    const auto value_of = [&](std::int64_t group) {
      return values_[static_cast<std::size_t>(groups_.first[static_cast<std::size_t>(group)])];
    };
    Ints order(groups_.first.size()), place(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return compare(value_of(a), value_of(b)) < 0; });
    Groups sorted{{}, std::move(groups_.inverse), {}};
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto group = static_cast<std::size_t>(order[i]);
      place[group] = static_cast<std::int64_t>(i);
      sorted.first.push_back(groups_.first[group]);
      sorted.counts.push_back(groups_.counts[group]);
    }
    for (std::int64_t& group : sorted.inverse) group = place[static_cast<std::size_t>(group)];
    groups_ = std::move(sorted);
  }

  std::span<const T> values_;
  int shift_ = 0;
  std::vector<std::int64_t> table_;  ///< groups by bits; -1: none
  std::vector<std::uint64_t> bits_;  ///< by group
  Groups groups_;
};

Groups groups_of(const Tensor& x, const AxisView& view, bool sorted, const Call& call) {
  if (x.dtype() == DType::string) return grouped<std::string>(x.strings(), view, sorted);
  return visit_compute(x.dtype(), call, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const std::vector<C> values = load_all<C>(x);
    if (view.outer == 1 && view.inner == 1) return NumberGroups<C>(values).take(sorted);
    return grouped<C>(values, view, sorted);
  });
}

Tensor slices_of(const Tensor& x, const AxisView& view, const Ints& which, Shape shape) {
  Tensor y(x.dtype(), std::move(shape));
  visit_storage(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = elements<T>(x);
    T* to = elements<T>(y);
    for (std::int64_t outer = 0; outer < view.outer; ++outer) {
      for (const std::int64_t slice : which) {
        to = std::copy_n(from + (outer * view.size + slice) * view.inner, view.inner, to);
      }
    }
  });
  return y;
}

Data evaluate_unique(const Opaque& op, const Call& call) {
  const Tensor& x = call.input(0);
  const bool whole = !op.has("axis");
  const std::int64_t axis = whole ? 0 : call.axis(op.int_of("axis"), x);
  const AxisView view = whole ? AxisView{1, x.size(), 1} : axis_view(x.shape(), axis);
  const Groups groups = groups_of(x, view, op.int_or("sorted", 1) != 0, call);
  Shape shape = whole ? Shape{0} : x.shape();
  at(shape, axis) = static_cast<std::int64_t>(groups.first.size());
  return {slices_of(x, view, groups.first, std::move(shape)), ints_tensor(groups.first), ints_tensor(groups.inverse),
          ints_tensor(groups.counts)};
}

Types infer_by_appearance(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank(0, 1);
  const std::int64_t size = ctx.shape(0) ? ctx.shape(0)->front() : kUnknownDim;
  const std::int64_t found = size == 0 ? 0 : kUnknownDim;
  return {{ctx.dtype(0), Shape{found}}, {DType::i64, Shape{size}}, {DType::i64, Shape{found}}};
}

/// The different elements in order of their first appearance, where each one is among them, and how often.
Data evaluate_by_appearance(const Opaque&, const Call& call) {
  const Tensor& x = call.input(0);
  const AxisView view{1, x.size(), 1};
  const Groups groups = groups_of(x, view, false, call);
  Tensor unique = slices_of(x, view, groups.first, {static_cast<std::int64_t>(groups.first.size())});
  return {std::move(unique), ints_tensor(groups.inverse), ints_tensor(groups.counts)};
}

}  // namespace

constexpr Definition kUnique{"Unique", infer_unique, evaluate_unique};
constexpr Definition kUniqueByAppearance{"UniqueByAppearance", infer_by_appearance, evaluate_by_appearance};

}  // namespace colonnade::reference
