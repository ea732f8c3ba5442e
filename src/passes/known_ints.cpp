// SPDX-License-Identifier: Apache-2.0
#include "passes/known_ints.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace colonnade::rewrite {
namespace {

using Known = std::vector<std::optional<std::int64_t>>;
constexpr int kMaxDepth = 12;
constexpr std::int64_t kMaxCount = 64;

std::optional<Known> find(const Editor& editor, ValueId id, int depth);

std::optional<Known> from_constant(const Tensor& tensor) {
  if (tensor.shape().size() > 1 || tensor.size() > kMaxCount) return std::nullopt;
  Known result;
  if (tensor.dtype() == DType::i64) {
    for (const std::int64_t v : tensor.values<std::int64_t>()) result.emplace_back(v);
  } else if (tensor.dtype() == DType::i32) {
    for (const std::int32_t v : tensor.values<std::int32_t>()) result.emplace_back(v);
  } else {
    return std::nullopt;
  }
  return result;
}

std::optional<Known> from_shape(const Editor& editor, const Node& node, const ShapeOf& op) {
  const auto& shape = editor.value(node.inputs[0]).type.shape;
  if (!shape) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  Known result;
  for (std::int64_t axis = clamp(op.start); axis < clamp(op.end.value_or(rank)); ++axis) {
    const std::int64_t size = (*shape)[static_cast<std::size_t>(axis)];
    result.push_back(size < 0 ? std::nullopt : std::optional(size));
  }
  return result;
}

std::optional<Known> from_size(const ValueType& type) {
  if (!type.is_static()) return std::nullopt;
  return Known{element_count(*type.shape)};
}

std::optional<Known> from_gather(const Editor& editor, const Node& node, int depth) {
  const auto data = find(editor, node.inputs[0], depth);
  const auto indices = find(editor, node.inputs[1], depth);
  if (!data || !indices) return std::nullopt;
  const auto count = static_cast<std::int64_t>(data->size());
  Known result;
  for (const auto& index : *indices) {
    if (!index || *index < -count || *index >= count) return std::nullopt;
    result.push_back((*data)[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]);
  }
  return result;
}

std::optional<Known> from_slice(const Editor& editor, const Node& node, int depth) {
  const auto data = find(editor, node.inputs[0], depth);
  const auto start = constant_ints(editor.graph(), node, 1), end = constant_ints(editor.graph(), node, 2);
  const auto step = constant_ints(editor.graph(), node, 4);
  if (!data || !start || !end || start->size() != 1 || end->size() != 1) return std::nullopt;
  if (node.input(4) != kAbsent && (!step || *step != Ints{1})) return std::nullopt;
  const auto count = static_cast<std::int64_t>(data->size());
  const auto clamp = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + count : v, 0, count); };
  const std::int64_t first = clamp((*start)[0]), last = std::max(first, clamp((*end)[0]));
  return Known(data->begin() + first, data->begin() + last);
}

std::optional<Known> from_concat(const Editor& editor, const Node& node, int depth) {
  Known result;
  for (const ValueId id : node.inputs) {
    const auto part = find(editor, id, depth);
    if (!part) return std::nullopt;
    result.insert(result.end(), part->begin(), part->end());
  }
  return result;
}

std::optional<std::int64_t> combine(BinaryKind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (kind == BinaryKind::add && !__builtin_add_overflow(a, b, &result)) return result;
  if (kind == BinaryKind::sub && !__builtin_sub_overflow(a, b, &result)) return result;
  if (kind == BinaryKind::mul) return try_mul(a, b);
  if (kind == BinaryKind::div && a >= 0 && b > 0) return a / b;
  if (kind == BinaryKind::min) return std::min(a, b);
  if (kind == BinaryKind::max) return std::max(a, b);
  return std::nullopt;
}

std::optional<Known> from_binary(const Editor& editor, const Node& node, BinaryKind kind, int depth) {
  const auto a = find(editor, node.inputs[0], depth), b = find(editor, node.inputs[1], depth);
  if (!a || !b || a->empty() || b->empty()) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  Known result(std::max(a->size(), b->size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto& left = (*a)[a->size() == 1 ? 0 : i];
    const auto& right = (*b)[b->size() == 1 ? 0 : i];
    if (left && right) result[i] = combine(kind, *left, *right);
  }
  return result;
}

bool is_integer(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

std::optional<Known> from_node(const Editor& editor, const Node& node, int depth) {
  if (const auto* op = std::get_if<ShapeOf>(&node.op)) return from_shape(editor, node, *op);
  if (std::holds_alternative<SizeOf>(node.op)) return from_size(editor.value(node.inputs[0]).type);
  if (std::holds_alternative<Gather>(node.op)) return from_gather(editor, node, depth);
  if (std::holds_alternative<Slice>(node.op)) return from_slice(editor, node, depth);
  if (std::holds_alternative<Concat>(node.op)) return from_concat(editor, node, depth);
  if (const auto* op = std::get_if<Binary>(&node.op)) return from_binary(editor, node, op->kind, depth);
  const auto* unary = std::get_if<Unary>(&node.op);
  const auto* cast = std::get_if<Cast>(&node.op);
  const bool same_elements = std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Squeeze>(node.op) ||
                             std::holds_alternative<Unsqueeze>(node.op) || (cast != nullptr && is_integer(cast->to)) ||
                             (unary != nullptr && unary->kind == UnaryKind::identity);
  return same_elements ? find(editor, node.inputs[0], depth) : std::nullopt;
}

std::optional<Known> find(const Editor& editor, ValueId id, int depth) {
  if (id == kAbsent || depth == kMaxDepth) return std::nullopt;
  const Value& value = editor.value(id);
  if (value.constant) return from_constant(*value.constant->tensor());
  if (!is_integer(value.type.dtype) || !value.type.shape || value.type.shape->size() > 1) return std::nullopt;
  const int index = editor.producer(id);
  if (index < 0) return std::nullopt;
  auto result = from_node(editor, editor.node(index), depth + 1);
  return result && static_cast<std::int64_t>(result->size()) <= kMaxCount ? result : std::nullopt;
}

}  // namespace

std::optional<Known> known_ints(const Editor& editor, ValueId id) { return find(editor, id, 0); }

}  // namespace colonnade::rewrite
