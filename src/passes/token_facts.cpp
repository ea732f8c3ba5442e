// SPDX-License-Identifier: Apache-2.0
#include "passes/token_facts.hpp"

#include <algorithm>
#include <cmath>

#include "reference/elements.hpp"
#include "reference/reference.hpp"

namespace colonnade::rewrite {
namespace {

bool is_open(double size) {
  if (!(std::abs(size) < 1e15)) return false;
  const auto whole = static_cast<std::int64_t>(size);
  return has_batch(whole) || has_tokens(whole);
}

/// Whether arithmetic of sizes holds for all of them. A size is at least one.
bool holds(BinaryKind kind, const std::vector<double>& a, const std::vector<double>& b) {
  if (kind == BinaryKind::mul) return true;
  const std::size_t count = std::max(a.size(), b.size());
  for (std::size_t i = 0; i < count; ++i) {
    const double x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
    if (!is_open(x) && !is_open(y)) continue;
    if (kind == BinaryKind::equal && (x <= 0 || y <= 0 || x == y)) continue;
    if (kind == BinaryKind::div && y != 0 && !is_open(y) &&
        static_cast<std::int64_t>(x) % static_cast<std::int64_t>(y) == 0)
      continue;
    return false;
  }
  return true;
}

bool moves_numbers(const Operator& op) {
  return std::holds_alternative<Cast>(op) || std::holds_alternative<Gather>(op) || std::holds_alternative<Concat>(op) ||
         std::holds_alternative<Slice>(op) || std::holds_alternative<Squeeze>(op) ||
         std::holds_alternative<Unsqueeze>(op) || std::holds_alternative<Reshape>(op) ||
         std::holds_alternative<Select>(op) || std::holds_alternative<Fill>(op);
}

std::optional<Tensor> size_of_shape(const Graph& sized, const Node& node, const ShapeOf& op) {
  const auto& shape = sized.value(node.inputs[0]).type.shape;
  if (!shape || std::any_of(shape->begin(), shape->end(), [](std::int64_t size) { return size < 0; }))
    return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape->size());
  const auto clamped = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t first = clamped(op.start), last = std::max(first, clamped(op.end.value_or(rank)));
  Tensor sizes(DType::i64, {last - first});
  std::copy(shape->begin() + first, shape->begin() + last, sizes.values<std::int64_t>().begin());
  return sizes;
}

}  // namespace

std::optional<Tensor> size_after(const Graph& sized, const Node& node) {
  constexpr std::int64_t kMostNumbers = 64;
  if (const auto* shape = std::get_if<ShapeOf>(&node.op)) return size_of_shape(sized, node, *shape);
  const auto* binary = std::get_if<Binary>(&node.op);
  if (binary == nullptr && !moves_numbers(node.op)) return std::nullopt;
  std::vector<std::shared_ptr<const Tensor>> kept;
  std::vector<const Tensor*> operands;
  for (const ValueId id : node.inputs) {
    if (id != kAbsent && (!sized.value(id).constant || sized.value(id).constant->size() > kMostNumbers))
      return std::nullopt;
    kept.push_back(id == kAbsent ? nullptr : sized.value(id).constant->tensor());
    operands.push_back(kept.back().get());
  }
  const auto numbers = [&](std::size_t i) { return reference::load_all<double>(*operands[i]); };
  if (binary != nullptr && !holds(binary->kind, numbers(0), numbers(1))) return std::nullopt;
  if (std::holds_alternative<Fill>(node.op))
    for (const double size : numbers(0))
      if (size > static_cast<double>(kMostNumbers)) return std::nullopt;
  if (const auto* cast = std::get_if<Cast>(&node.op); cast != nullptr && cast->to != DType::i64)
    for (const double size : numbers(0))
      if (is_open(size) && cast->to != DType::i32) return std::nullopt;
  return std::move(reference::evaluate(node, operands).at(0));
}

bool is_open(const Tensor& sizes) {
  const auto numbers = reference::load_all<double>(sizes);
  return std::any_of(numbers.begin(), numbers.end(), [](double size) { return is_open(size); });
}

std::optional<double> number_of(const Value& value) {
  if (!value.constant || value.constant->size() != 1 || value.constant->dtype() == DType::string) return std::nullopt;
  return reference::load_all<double>(*value.constant->tensor()).at(0);
}

double evaluated(const Graph& graph, const Node& node, const std::vector<double>& numbers) {
  Node alone{node.op, {}, {0}, node.name, node.origin};
  std::vector<Tensor> tensors;
  tensors.reserve(numbers.size());
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool given = node.inputs[i] != kAbsent;
    alone.inputs.push_back(given ? static_cast<ValueId>(i) : kAbsent);
    if (given)
      tensors.push_back(reference::tensor_of(graph.value(node.inputs[i]).type.dtype, Shape{}, std::vector{numbers[i]}));
    operands.push_back(given ? &tensors.back() : nullptr);
  }
  return reference::load_all<double>(reference::evaluate(alone, operands).at(0)).at(0);
}

bool is_elementwise(const Operator& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) || std::holds_alternative<Cast>(op) ||
         std::holds_alternative<Select>(op);
}

void follow_dead(const Graph& graph, const Node& node, const std::vector<Fact>& inputs, Fact& out) {
  out.dead.reset();
  out.most = std::numeric_limits<double>::infinity();
  const auto* binary = std::get_if<Binary>(&node.op);
  const auto is_dead = [](const Fact& fact) { return fact.dead.has_value(); };
  if (std::all_of(inputs.begin(), inputs.end(), is_dead)) {
    std::vector<double> numbers;
    for (const Fact& fact : inputs) numbers.push_back(*fact.dead);
    out.dead = evaluated(graph, node, numbers);
    out.most = *out.dead;
    return;
  }
  const auto is_no = [](const Fact& fact) { return fact.dead == 0.0; };
  if (binary != nullptr && binary->kind == BinaryKind::logical_and &&
      std::any_of(inputs.begin(), inputs.end(), is_no)) {
    out.dead = out.most = 0;
  } else if (binary != nullptr && binary->kind == BinaryKind::add) {
    out.most = inputs[0].most + inputs[1].most;
  } else if (std::holds_alternative<Select>(node.op)) {
    if (inputs[0].dead) out.dead = inputs[*inputs[0].dead != 0 ? 1 : 2].dead;
    out.most = inputs[0].dead ? inputs[*inputs[0].dead != 0 ? 1 : 2].most : std::max(inputs[1].most, inputs[2].most);
  }
}

std::optional<std::size_t> axis_among(const Shape& from, const Shape& to, std::size_t axis) {
  std::size_t at = 0;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] == 1) continue;
    while (at < to.size() && to[at] == 1) ++at;
    if (at == to.size() || to[at] != from[i]) return std::nullopt;
    if (i == axis) found = at;
    ++at;
  }
  while (at < to.size() && to[at] == 1) ++at;
  return at == to.size() ? found : std::nullopt;
}

std::optional<std::size_t> axis_of_rows(const Shape& from, const Shape& to, std::size_t axis) {
  struct Around {
    std::int64_t before = 1, after = 1;
    bool batch = false;
  };
  const auto around = [](const Shape& shape, std::size_t at) {
    Around sizes{1, plain(shape[at]), has_batch(shape[at])};
    for (std::size_t i = 0; i < shape.size(); ++i) (i < at ? sizes.before : sizes.after) *= i == at ? 1 : shape[i];
    return sizes;
  };
  const auto is_of_tokens = [](std::int64_t size) { return has_tokens(size); };
  if (std::count_if(to.begin(), to.end(), is_of_tokens) != 1 ||
      std::count_if(from.begin(), from.end(), is_of_tokens) != 1)
    return std::nullopt;
  const auto found = static_cast<std::size_t>(std::find_if(to.begin(), to.end(), is_of_tokens) - to.begin());
  const Around a = around(from, axis), b = around(to, found);
  if (plain(from[axis]) != 1 || plain(to[found]) != 1 || a.after != b.after) return std::nullopt;
  if (a.batch == b.batch) return a.before == b.before ? std::optional(found) : std::nullopt;
  return (a.batch ? b : a).before == kBatch && (a.batch ? a : b).before == 1 ? std::optional(found) : std::nullopt;
}

}  // namespace colonnade::rewrite
