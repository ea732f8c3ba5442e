// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <cstring>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

// The shape rule works on graphs: one of this node alone, whose inputs are constants that nobody owns here.
std::vector<ValueType> output_types(const Node& node, std::span<const Tensor* const> inputs) {
  Graph graph;
  Node alone{node.op, {}, {}, node.name, node.origin};
  for (const Tensor* input : inputs) {
    const std::shared_ptr<const Tensor> borrowed(std::shared_ptr<const Tensor>{}, input);
    alone.inputs.push_back(input == nullptr ? kAbsent
                                            : graph.add_constant("", std::make_shared<const Constant>(borrowed)));
  }
  for (const ValueId output : node.outputs) {
    alone.outputs.push_back(output == kAbsent ? kAbsent : graph.add_value(""));
  }
  return infer_types(graph, alone);
}

void check_outputs(const Call& call, const Tensors& outputs) {
  for (std::size_t i = 0; i < outputs.size() && i < call.types.size(); ++i) {
    const ValueType& type = call.types[i];
    if (!call.wants(i)) continue;
    if (outputs[i].dtype() != type.dtype || (type.is_static() && outputs[i].shape() != *type.shape)) {
      fail(ErrorCode::internal, "{}: output {} is {}[{}], its shape rule says {}", call.where(), i,
           name_of(outputs[i].dtype()), fmt::join(outputs[i].shape(), ","), to_text(type));
    }
  }
}

Tensor copy_of(const TensorView& view) {
  Tensor tensor(view.dtype, view.shape);
  if (tensor.byte_size() > 0) std::memcpy(tensor.data(), view.data, tensor.byte_size());
  return tensor;
}

void check_input(const Value& value, const TensorView& view) {
  if (view.dtype != value.type.dtype) {
    fail(ErrorCode::invalid_argument, "input '{}' is {}, expected {}", value.name, name_of(view.dtype),
         name_of(value.type.dtype));
  }
  if (view.dtype == DType::string) {
    fail(ErrorCode::unsupported, "input '{}' is a string tensor, which a view cannot carry", value.name);
  }
  if (view.data == nullptr && element_count(view.shape) != 0) {
    fail(ErrorCode::invalid_argument, "input '{}' has no data", value.name);
  }
}

/// Tensors of a running graph: constants and outputs of nodes, each kept until its last reader is done.
class Values {
 public:
  explicit Values(const Graph& graph)
      : graph_(graph), owned_(graph.values.size()), constants_(graph.values.size()), readers_(graph.values.size(), 0) {
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.inputs) count(id);
    }
    for (const ValueId id : graph.outputs) count(id);
  }

  void set(ValueId id, Tensor tensor) {
    if (id != kAbsent && readers_[at(id)] > 0) owned_[at(id)] = std::move(tensor);
  }
  const Tensor* get(ValueId id) {
    if (id == kAbsent) return nullptr;
    const auto& constant = graph_.value(id).constant;
    if (!constant) return &owned_[at(id)];
    if (!constants_[at(id)]) constants_[at(id)] = constant->tensor();
    return constants_[at(id)].get();
  }
  void release(ValueId id) {
    if (id == kAbsent) return;
    constants_[at(id)].reset();
    if (--readers_[at(id)] == 0) owned_[at(id)] = Tensor();
  }
  Tensor take(ValueId id) {
    const bool last = --readers_[at(id)] == 0;
    return last && !graph_.value(id).constant ? std::move(owned_[at(id)]) : *get(id);
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  void count(ValueId id) {
    if (id != kAbsent) ++readers_[at(id)];
  }

  const Graph& graph_;
  std::vector<Tensor> owned_;
  std::vector<std::shared_ptr<const Tensor>> constants_;  ///< while a node reads them
  std::vector<std::int64_t> readers_;
};

std::vector<Shape> shapes_of(std::span<const TensorView> inputs) {
  std::vector<Shape> shapes;
  for (const TensorView& input : inputs) shapes.push_back(input.shape);
  return shapes;
}

}  // namespace

std::string Call::where() const { return fmt::format("node '{}' ({})", node.name, name_of(node.op)); }

const Tensor& Call::input(std::size_t index) const {
  const Tensor* tensor = optional(index);
  if (tensor == nullptr) invalid("input {} is missing", index);
  return *tensor;
}

Ints Call::ints(std::size_t index) const {
  const Tensor* tensor = optional(index);
  return tensor == nullptr ? Ints{} : load_all<std::int64_t>(*tensor);
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor* const> inputs) {
  const Call call{node, inputs, output_types(node, inputs)};
  Tensors outputs = std::visit([&](const auto& op) { return apply(op, call); }, node.op);
  check_outputs(call, outputs);
  outputs.resize(node.outputs.size());
  return outputs;
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const TensorView> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    fail(ErrorCode::invalid_argument, "graph '{}' has {} inputs, {} are given", graph.name, graph.inputs.size(),
         inputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(graph.value(graph.inputs[i]), inputs[i]);
  bind_shapes(graph, shapes_of(inputs));

  Values values(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) values.set(graph.inputs[i], copy_of(inputs[i]));
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> operands;
    for (const ValueId id : node.inputs) operands.push_back(values.get(id));
    Tensors results = evaluate(node, operands);
    for (std::size_t i = 0; i < results.size(); ++i) values.set(node.outputs[i], std::move(results[i]));
    for (const ValueId id : node.inputs) values.release(id);
  }
  Tensors outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values.take(id));
  return outputs;
}

}  // namespace colonnade::reference
