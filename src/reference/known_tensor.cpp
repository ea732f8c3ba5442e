// SPDX-License-Identifier: Apache-2.0
#include "reference/known_tensor.hpp"

#include <algorithm>
#include <type_traits>

#include "base/lists.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

Ints dims_of(const ShapeOf& op, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clipped = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t first = clipped(op.start), last = std::max(first, clipped(op.end.value_or(rank)));
  return {shape.begin() + first, shape.begin() + last};
}

constexpr std::int64_t kMostKnownElements = 1024;
constexpr std::size_t kFarthestProducer = 1024;

/// Operators that make arithmetic on shapes: their results are not much larger than their inputs.
bool does_shape_arithmetic(const Operator& op) {
  return std::visit(
      []<class Op>(const Op&) {
        return std::is_same_v<Op, Unary> || std::is_same_v<Op, Binary> || std::is_same_v<Op, Select> ||
               std::is_same_v<Op, Cast> || std::is_same_v<Op, Reshape> || std::is_same_v<Op, Squeeze> ||
               std::is_same_v<Op, Unsqueeze> || std::is_same_v<Op, Concat> || std::is_same_v<Op, Slice> ||
               std::is_same_v<Op, Gather> || std::is_same_v<Op, Reduce>;
      },
      op);
}

const Node* near_producer(const Graph& graph, ValueId id) {
  const std::size_t count = std::min(graph.nodes.size(), kFarthestProducer);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rbegin() + static_cast<std::ptrdiff_t>(count); ++node) {
    if (std::find(node->outputs.begin(), node->outputs.end(), id) != node->outputs.end()) return &*node;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Tensor> known_tensor(const Graph& graph, ValueId id, int& budget) {
  if (const auto constant = graph.value(id).constant) {
    return constant->size() <= kMostKnownElements ? constant->tensor() : nullptr;
  }
  const Node* node = near_producer(graph, id);
  if (node == nullptr || --budget < 0) return nullptr;
  if (std::holds_alternative<ShapeOf>(node->op) || std::holds_alternative<SizeOf>(node->op)) {
    const ValueType& type = graph.value(node->input(0)).type;
    if (!type.is_static()) return nullptr;
    const auto* dims = std::get_if<ShapeOf>(&node->op);
    return std::make_shared<const Tensor>(dims ? ints_tensor(dims_of(*dims, *type.shape))
                                               : ints_tensor({element_count(*type.shape)}).reshaped({}));
  }
  if (!does_shape_arithmetic(node->op)) return nullptr;
  std::vector<std::shared_ptr<const Tensor>> held;
  std::vector<const Tensor*> inputs;
  for (const ValueId input : node->inputs) {
    held.push_back(input == kAbsent ? nullptr : known_tensor(graph, input, budget));
    if (input != kAbsent && !held.back()) return nullptr;
    inputs.push_back(held.back().get());
  }
  auto result = std::make_shared<const Tensor>(std::move(evaluate(*node, inputs).front()));
  return result->size() <= kMostKnownElements ? result : nullptr;
}

}  // namespace colonnade::reference
