// SPDX-License-Identifier: Apache-2.0
// Sizes of what grows, and the nodes that are made.
#include <algorithm>
#include <functional>
#include <numeric>

#include "passes/cache_grower.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {

std::optional<GrowingAxis> CacheGrower::grows_along(ValueId id) const {
  const Shape &first = shape(id, kFirst), &next = shape(id, kNext), &last = shape(id, kLast);
  if (first.size() != last.size() || next.size() != last.size()) return std::nullopt;
  std::optional<GrowingAxis> found;
  for (std::size_t axis = 0; axis < last.size(); ++axis) {
    if (first[axis] == last[axis] && next[axis] == last[axis]) continue;
    const std::int64_t behind = last[axis] - lengths_[kLast];
    if (found || first[axis] != lengths_[kFirst] + behind || next[axis] != lengths_[kNext] + behind)
      return std::nullopt;
    found = GrowingAxis{axis, behind};
  }
  return found;
}

std::optional<Ints> CacheGrower::ints(ValueId id, std::size_t at) const {
  if (id == kAbsent) return std::nullopt;
  const auto& constant = sized_[at].value(id).constant;
  if (!constant || (constant->dtype() != DType::i64 && constant->dtype() != DType::i32)) return std::nullopt;
  const auto numbers = reference::load_all<double>(*constant->tensor());
  Ints found;
  for (const double number : numbers) found.push_back(static_cast<std::int64_t>(number));
  return found;
}

bool CacheGrower::is_prefix(ValueId id, std::size_t axis) const {
  const auto all = ints(id);
  const auto behind = [](const Shape& sizes, std::size_t from) {
    return std::accumulate(sizes.begin() + static_cast<std::ptrdiff_t>(from), sizes.end(), std::int64_t{1},
                           std::multiplies<>());
  };
  const auto begins = [&](std::size_t length) {
    const auto some = ints(id, length);
    if (!some || !all) return false;
    const std::int64_t own = behind(shape(id, length), axis), whole = behind(shape(id), axis);
    for (std::int64_t block = 0; block * own < std::ssize(*some); ++block)
      if (!std::equal(some->begin() + block * own, some->begin() + (block + 1) * own, all->begin() + block * whole))
        return false;
    return true;
  };
  return begins(kFirst) && begins(kNext);
}

std::optional<CacheGrower::Size> CacheGrower::size_of(ValueId id) const {
  const auto first = ints(id, kFirst), next = ints(id, kNext), last = ints(id);
  if (!first || !next || !last || last->size() != 1 || first->size() != 1 || next->size() != 1) return std::nullopt;
  if (*first == *last && *next == *last) return Size{false, last->front()};
  const std::int64_t behind = last->front() - lengths_[kLast];
  const bool fits = first->front() - lengths_[kFirst] == behind && next->front() - lengths_[kNext] == behind;
  return fits ? std::optional(Size{true, behind}) : std::nullopt;
}

ValueId CacheGrower::add(const Node& like, Operator op, std::vector<ValueId> inputs) {
  Node node{std::move(op), std::move(inputs), {kAbsent}, like.name, like.origin};
  ValueType type = infer_types(*made_, node).at(0);
  node.outputs[0] = made_->add_value(like.name, std::move(type));
  made_->nodes.push_back(std::move(node));
  return made_->nodes.back().outputs[0];
}

ValueId CacheGrower::reshape(const Node& like, ValueId value, const Shape& to) {
  return add(like, Reshape{true}, {value, made_->add_ints(like.name + "_shape", to)});
}

ValueId CacheGrower::part(const Node& like, ValueId value, std::size_t axis, std::int64_t begin, std::int64_t count) {
  const auto ints = [&](std::int64_t number) { return made_->add_ints(like.name, {number}); };
  return add(like, Slice{}, {value, ints(begin), ints(begin + count), ints(static_cast<std::int64_t>(axis))});
}

ValueId CacheGrower::length(std::int64_t behind) {
  if (behind == 0) return length_;
  const Node like{Binary{BinaryKind::add}, {}, {}, "length", "Shape"};
  return add(like, Binary{BinaryKind::add}, {length_, made_->add_ints("behind", {behind})});
}

/// The elements a + b n of a value, computed.
ValueId CacheGrower::numbers(ValueId id) {
  Fact& fact = facts_[place(id)];
  if (fact.made != kAbsent) return fact.made;
  const Value& value = sized_[kLast].value(id);
  const auto last = reference::load_all<double>(*value.constant->tensor()),
             first = reference::load_all<double>(*sized_[kFirst].value(id).constant->tensor());
  std::vector<double> slopes, starts;
  for (std::size_t i = 0; i < last.size(); ++i) {
    slopes.push_back((last[i] - first[i]) / static_cast<double>(lengths_[kLast] - lengths_[kFirst]));
    starts.push_back(last[i] - slopes[i] * static_cast<double>(lengths_[kLast]));
  }
  const Node like{Binary{BinaryKind::add}, {}, {}, value.name, "Shape"};
  const auto constant_of = [&](const std::vector<double>& numbers) {
    return made_->add_constant(value.name, reference::tensor_of(DType::i64, value.constant->shape(), numbers));
  };
  ValueId made = add(like, Binary{BinaryKind::mul}, {reshape(like, length_, {}), constant_of(slopes)});
  made = add(like, Binary{BinaryKind::add}, {made, constant_of(starts)});
  if (value.type.dtype != DType::i64) made = add(like, Cast{value.type.dtype}, {made});
  return fact.made = made;
}

ValueId CacheGrower::operand(ValueId id) {
  if (id == kAbsent) return kAbsent;
  const Fact& fact = facts_[place(id)];
  return fact.on == Growth::sizes ? numbers(id) : fact.made;
}

ValueId CacheGrower::constant(ValueId id) {
  if (id == kAbsent) return kAbsent;
  const Value& value = sized_[kLast].value(id);
  return value.constant ? made_->add_constant(value.name, value.constant) : operand(id);
}

std::vector<ValueId> CacheGrower::operands(const Node& node) {
  std::vector<ValueId> ids;
  for (const ValueId id : node.inputs) ids.push_back(operand(id));
  return ids;
}

}  // namespace colonnade::rewrite
