// SPDX-License-Identifier: Apache-2.0
// What the lowering of one ONNX node sees, and the vocabulary lowerings are written in.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/lists.hpp"
#include "base/narrow.hpp"
#include "frontends/onnx/external_data.hpp"
#include "frontends/onnx/node.hpp"
#include "frontends/onnx/table.hpp"
#include "frontends/onnx/type.hpp"
#include "graph/graph.hpp"

namespace colonnade::onnx_import {

/// Names that are taken in the graph.
class Names {
 public:
  void reserve(std::string name) { taken_.insert(std::move(name)); }
  /// The hint itself or the hint with a number; taken from now on.
  std::string fresh(const std::string& hint);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

/// The types under which the states of a loop were last imported, and how often they had to be opened before.
struct OpenedStates {
  int times = 0;
  std::vector<ValueType> types;
};

/// What nodes are lowered to, and with.
struct Target {
  Graph& graph;
  Names& names;
  ExternalData& external;
  DynamicScale dynamic_scale;
  /// A graph of the node that is being lowered, its inputs of the given types; see Lowering::body.
  std::function<Graph(const OnnxGraph& source, const std::vector<ValueType>& inputs)> import_body;
  std::unordered_map<const OnnxNode*, OpenedStates>& opened;
};

/// One ONNX node being lowered: checked access to its inputs and attributes, and emission of core operators, whose
/// types are inferred at once.
class Lowering {
 public:
  Lowering(Target& target, const OnnxNode& node, Values inputs, Values captures)
      : target_(target), node_(node), inputs_(std::move(inputs)), captures_(std::move(captures)) {}

  const OnnxNode& node() const { return node_; }
  const Graph& graph() const { return target_.graph; }
  std::int64_t opset() const { return node_.opset; }
  ExternalData& external() { return target_.external; }
  DynamicScale dynamic_scale() const { return target_.dynamic_scale; }

  template <class... Args>
  [[noreturn]] void invalid(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::invalid_model, "{}: {}", node_.label(), fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::unsupported, "{} of {} {}: {}", node_.label(), printable(node_.domain), node_.opset,
         fmt::format(format, std::forward<Args>(args)...));
  }

  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  /// Throws when the input is absent.
  ValueId input(std::size_t index) const;
  /// kAbsent when the input is absent.
  ValueId optional_input(std::size_t index) const { return index < inputs_.size() ? inputs_[index] : kAbsent; }
  bool wants_output(std::size_t index) const { return index < node_.outputs.size() && !node_.outputs[index].empty(); }
  const Values& inputs() const { return inputs_; }

  bool has_attribute(std::string_view name) const { return node_.attributes.contains(name); }
  std::int64_t int_or(std::string_view name, std::int64_t fallback) const {
    return find_int(node_, name).value_or(fallback);
  }
  bool flag(std::string_view name, bool fallback = false) const { return int_or(name, fallback) != 0; }
  float float_or(std::string_view name, float fallback) const { return find_float(node_, name).value_or(fallback); }
  std::string string_or(std::string_view name, std::string_view fallback) const;
  /// Throw when the attribute is absent.
  std::int64_t required_int(std::string_view name) const;
  std::string required_string(std::string_view name) const;
  Ints required_ints(std::string_view name) const;

  const ValueType& type(ValueId id) const { return graph().value(id).type; }
  DType dtype(ValueId id) const { return type(id).dtype; }
  const std::optional<Shape>& shape(ValueId id) const { return type(id).shape; }
  /// Throws Error{unsupported} when the rank is unknown.
  std::int64_t rank(ValueId id) const;
  /// The dimension, -1 when it (or the rank) is unknown.
  std::int64_t dim(ValueId id, std::int64_t axis) const;
  std::shared_ptr<const Constant> constant_of(ValueId id) const {
    return id == kAbsent ? nullptr : graph().value(id).constant;
  }
  /// An input that is absent, or an empty constant that stands for an absent one.
  bool is_empty(ValueId id) const;

  /// The attribute, which is a graph. Throws when it is absent.
  const OnnxGraph& required_graph(std::string_view name) const;
  /// The attribute as a body: what its inputs of the given types and captures() are inputs of. Throws when the
  /// attribute is absent or its inputs differ in number.
  Graph body(std::string_view name, const std::vector<ValueType>& inputs);
  /// What the node's graphs capture and that is not constant: the last inputs of an operator with bodies.
  const Values& captures() const { return captures_; }
  OpenedStates& opened_states() { return target_.opened[&node_]; }
  /// The same node, lowered to a graph of its own, whose inputs (a prefix of the graph's) and captures are given.
  Lowering within(Target& target, Values inputs, Values captures) const {
    return {target, node_, std::move(inputs), std::move(captures)};
  }
  /// What another graph needs for nodes to be lowered to it.
  Target target(Graph& graph, Names& names) const {
    return {graph, names, target_.external, target_.dynamic_scale, target_.import_body, target_.opened};
  }

  ValueId emit(Operator op, Values inputs) { return emit_all(std::move(op), std::move(inputs), 1).front(); }
  /// Outputs beyond those the ONNX node wants may still be asked for here.
  Values emit_all(Operator op, Values inputs, std::size_t outputs);
  ValueId constant(Tensor tensor);
  ValueId constant(std::shared_ptr<const Constant> constant);

 private:
  Target& target_;
  const OnnxNode& node_;
  Values inputs_, captures_;
};

/// Adds a value under a name that is free by construction.
ValueId push_value(Graph& graph, std::string name, ValueType type, std::shared_ptr<const Constant> constant = nullptr);

// Constants. A scalar of a float type of 16 bits or less is a float32 constant and a Cast.
ValueId ints(Lowering& low, const Ints& values);
ValueId int_scalar(Lowering& low, std::int64_t value);
ValueId scalar(Lowering& low, DType dtype, double value);
ValueId floats(Lowering& low, std::span<const float> values, Shape shape);

/// The node as an opaque operator: the lowering of rows that bring their own definition.
Values lower_opaque(Lowering& low, const Definition& definition);
Values lower_opaque(Lowering& low, const Definition& definition, Attributes attributes, Values inputs);
template <const Definition& definition>
Values opaque(Lowering& low) {
  return lower_opaque(low, definition);
}

// Core operators by name.
ValueId unary(Lowering& low, UnaryKind kind, ValueId x, float a = 0, float b = 0);
ValueId binary(Lowering& low, BinaryKind kind, ValueId a, ValueId b);
/// A number is no value: binary_scalar takes those.
ValueId binary(Lowering& low, BinaryKind kind, ValueId a, std::floating_point auto b) = delete;
/// b is a scalar of a's type.
ValueId binary_scalar(Lowering& low, BinaryKind kind, ValueId a, double b);
ValueId select(Lowering& low, ValueId condition, ValueId x, ValueId y);
/// The value itself when it has the type already.
ValueId cast(Lowering& low, ValueId x, DType to);
ValueId transpose(Lowering& low, ValueId x, Ints perm);
/// Constants are reshaped in place of a node.
ValueId unsqueeze(Lowering& low, ValueId x, const Ints& axes);
ValueId squeeze(Lowering& low, ValueId x, const Ints& axes);
ValueId reshape(Lowering& low, ValueId x, const Ints& shape);
/// x in the shape of `like`.
ValueId reshape_like(Lowering& low, ValueId x, ValueId like);
ValueId shape_of(Lowering& low, ValueId x);
ValueId reduce(Lowering& low, ReduceKind kind, ValueId x, const Ints& axes, bool keepdims = true);
/// [first, last)
Ints axes_between(std::int64_t first, std::int64_t last);
/// The node's axis attribute or value in [0, rank).
std::int64_t checked_axis(const Lowering& low, std::int64_t axis, std::int64_t rank);

/// [N, C, spatial...] -> [N, spatial..., C] and back.
ValueId to_channels_last(Lowering& low, ValueId x, std::int64_t rank);
ValueId to_channels_first(Lowering& low, ValueId x, std::int64_t rank);

}  // namespace colonnade::onnx_import
