// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/narrow.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

constexpr std::int64_t kMaxElementBytes = 16;

/// What the graph keeps of a recorded and an inferred type: inference wins, but a contradiction in dtype or rank is
/// one.
ValueType settled(const Value& value, const Node& node, ValueType inferred) {
  const ValueType& recorded = value.type;
  const bool same_dtype =
      recorded.dtype == DType::undefined || inferred.dtype == DType::undefined || recorded.dtype == inferred.dtype;
  const bool same_kind = recorded.containers.empty() || recorded.containers == inferred.containers;
  const bool same_rank = !recorded.shape || !inferred.shape || recorded.shape->size() == inferred.shape->size();
  if (!same_dtype || !same_rank || !same_kind) {
    fail(ErrorCode::invalid_model, "node '{}' ({}): output '{}' is declared {}, but the operator gives {}", node.name,
         name_of(node.op), value.name, to_text(recorded), to_text(inferred));
  }
  if (inferred.dtype == DType::undefined) inferred.dtype = recorded.dtype;
  return inferred;
}

/// Bounds dimensions and sizes, so that arithmetic on them cannot overflow.
void check_size(const RuleContext& context, const ValueType& type, std::string_view role) {
  if (!type.shape) return;
  for (const std::int64_t dim : *type.shape) {
    if (dim < kUnknownDim || dim > kMaxDim) context.fail("{} {} is too large", role, to_text(type));
  }
  if (type.is_static()) static_cast<void>(checked_mul(element_count(*type.shape), kMaxElementBytes));
}

/// Sequences, optionals and maps, not only tensors.
bool takes_any_data(const Operator& op) {
  const auto* unary = std::get_if<Unary>(&op);
  return std::holds_alternative<Opaque>(op) || !bodies_of(op).empty() ||
         (unary != nullptr && unary->kind == UnaryKind::identity);
}

/// The types that the operator's own rule gives, inputs and outputs of sizes that arithmetic can bear.
Types checked_types(const Node& node, const RuleContext& context) {
  const bool any_data = takes_any_data(node.op);
  for (std::size_t input = 0; input < node.inputs.size(); ++input) {
    if (!any_data && !context.type(input).is_tensor()) {
      context.fail("{} must be a tensor, is {}", context.text(input), to_text(context.type(input)));
    }
    check_size(context, context.type(input), "input");
  }
  Types types = std::visit([&](const auto& op) { return infer(op, context); }, node.op);
  if (types.size() < node.outputs.size())
    context.fail("has at most {} outputs, {} are asked for", types.size(), node.outputs.size());
  types.resize(node.outputs.size());
  for (const ValueType& type : types) check_size(context, type, "output");
  return types;
}

}  // namespace

const ValueType& RuleContext::type(std::size_t input) const {
  static const ValueType kNone;
  return has(input) ? graph_.value(node_.input(input)).type : kNone;
}

std::string RuleContext::text(std::size_t input) const {
  return has(input) ? "input '" + graph_.value(node_.input(input)).name + "'" : "input " + std::to_string(input);
}

void RuleContext::refuse(const std::string& message) const {
  colonnade::fail(ErrorCode::invalid_model, "node '{}' ({}): {}", node_.name, name_of(node_.op), message);
}

void RuleContext::inputs(std::size_t required, std::size_t maximum) const {
  for (std::size_t input = 0; input < required; ++input) {
    if (!has(input)) fail("input {} is missing", input);
  }
  if (input_count() > maximum) fail("takes at most {} inputs, has {}", maximum, input_count());
}

void RuleContext::rank(std::size_t input, std::size_t expected) const {
  if (shape(input) && shape(input)->size() != expected) {
    fail("{} must have rank {}, is {}", text(input), expected, to_text(type(input)));
  }
}

void RuleContext::rank_at_least(std::size_t input, std::size_t least) const {
  if (shape(input) && shape(input)->size() < least) {
    fail("{} must have rank {} or more, is {}", text(input), least, to_text(type(input)));
  }
}

void RuleContext::dim(std::size_t input, std::size_t axis, std::int64_t expected, std::string_view what) const {
  if (shape(input) && !dims_agree((*shape(input))[axis], expected)) {
    fail("{} expects {} at axis {} of {}, which is {}", what, expected, axis, text(input), to_text(type(input)));
  }
}

void RuleContext::vector(std::size_t input, std::int64_t expected, std::string_view what) const {
  if (!has(input)) return;
  rank(input, 1);
  if (shape(input) && !dims_agree(shape(input)->front(), expected)) {
    fail("{} expects {} elements, {} has {}", what, expected, text(input), shape(input)->front());
  }
}

DType RuleContext::same_dtype(std::size_t input, std::size_t other) const {
  const DType a = dtype(input);
  const DType b = dtype(other);
  if (a != DType::undefined && b != DType::undefined && a != b) {
    fail("{} and {} must have one type, are {} and {}", text(input), text(other), colonnade::name_of(a),
         colonnade::name_of(b));
  }
  return a != DType::undefined ? a : b;
}

void RuleContext::dtype_is(std::size_t input, DType expected) const {
  if (dtype(input) != DType::undefined && dtype(input) != expected) {
    fail("{} must be {}, is {}", text(input), colonnade::name_of(expected), colonnade::name_of(dtype(input)));
  }
}

void RuleContext::integer(std::size_t input) const {
  const DType type = dtype(input);
  if (type != DType::undefined && type != DType::i64 && type != DType::i32) {
    fail("{} must be int64 or int32, is {}", text(input), colonnade::name_of(type));
  }
}

void RuleContext::floating(std::size_t input) const {
  if (dtype(input) != DType::undefined && !is_float(dtype(input)))
    fail("{} must be of a float type, is {}", text(input), colonnade::name_of(dtype(input)));
}

std::optional<std::int64_t> RuleContext::length_as_rank(std::size_t input) const {
  rank(input, 1);
  if (!shape(input) || shape(input)->front() < 0) return std::nullopt;
  if (shape(input)->front() > kMaxRank)
    fail("{} asks for rank {}, more than {}", text(input), shape(input)->front(), kMaxRank);
  return shape(input)->front();
}

std::int64_t product_of(std::span<const std::int64_t> dims) {
  if (std::find_if(dims.begin(), dims.end(), [](std::int64_t dim) { return dim < 0; }) != dims.end())
    return kUnknownDim;
  return element_count(dims);
}

std::optional<Shape> broadcast(const RuleContext& ctx, const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::nullopt;
  const Shape& longer = a->size() >= b->size() ? *a : *b;
  const Shape& shorter = a->size() >= b->size() ? *b : *a;
  const std::size_t lead = longer.size() - shorter.size();
  Shape result = longer;
  for (std::size_t axis = 0; axis < shorter.size(); ++axis) {
    std::int64_t& dim = result[lead + axis];
    const std::int64_t other = shorter[axis];
    if (dim == other || other == 1) continue;
    if (dim == 1 || (dim < 0 && other > 1)) {
      dim = other;
    } else if (dim >= 0 && other >= 0) {
      ctx.fail("cannot broadcast {} with {} at axis {}", to_text({DType::undefined, a}), to_text({DType::undefined, b}),
               lead + axis);
    } else if (other == 0 || dim == 0) {
      dim = 0;
    } else {
      dim = known_dim(dim, other);
    }
  }
  return result;
}

Ints normalized_axes(const RuleContext& ctx, const Ints& axes, std::int64_t rank) {
  Ints result;
  for (const std::int64_t axis : axes) {
    const std::int64_t normal = ctx.axis(axis, rank);
    if (std::find(result.begin(), result.end(), normal) != result.end()) ctx.fail("axis {} is given twice", normal);
    result.push_back(normal);
  }
  return result;
}

std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank, const Node& node) {
  if (axis < -rank || axis >= rank) {
    fail(ErrorCode::invalid_model, "node '{}' ({}): axis {} is out of range for rank {}", node.name, name_of(node.op),
         axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<ValueType> infer_types(const Graph& graph, const Node& node) {
  const RuleContext context(graph, node);
  try {
    return checked_types(node, context);
  } catch (const Error& error) {  // sizes that overflow know no node
    if (error.code() != ErrorCode::resource_limit) throw;
    context.fail("{}", error.what());
  }
}

void learn_ranks(Graph& graph, const Node& node) {
  const auto* transpose = std::get_if<Transpose>(&node.op);
  if (transpose == nullptr || transpose->perm.empty()) return;
  Value& value = graph.value(node.inputs[0]);
  if (!value.type.shape) value.type.shape = unknown_shape(static_cast<std::int64_t>(transpose->perm.size()));
}

void infer_types(Graph& graph) {
  for (const Node& node : graph.nodes) {
    learn_ranks(graph, node);
    std::vector<ValueType> types = infer_types(graph, node);
    for (std::size_t output = 0; output < node.outputs.size(); ++output) {
      if (node.outputs[output] == kAbsent) continue;
      Value& value = graph.value(node.outputs[output]);
      value.type = settled(value, node, std::move(types[output]));
    }
  }
}

}  // namespace colonnade
