// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <stdexcept>

#include "base/tensor_memory.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

// The shape rule works on graphs: one of this node alone, whose tensors are constants that nobody owns here.
std::vector<ValueType> output_types(const Node& node, std::span<const Datum* const> inputs) {
  Graph graph;
  graph.values.reserve(inputs.size() + node.outputs.size());
  const auto add = [&](ValueType type, std::shared_ptr<const Constant> constant) {  // a name that no other one has
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({"v" + std::to_string(id), std::move(type), {}, std::move(constant)});
    return id;
  };
  Node alone{node.op, {}, {}, node.name, node.origin};
  for (const Datum* input : inputs) {
    if (input == nullptr) {
      alone.inputs.push_back(kAbsent);
    } else if (input->is_tensor()) {
      const Tensor& tensor = input->tensor();
      const std::shared_ptr<const Tensor> borrowed(std::shared_ptr<const Tensor>{}, &tensor);
      alone.inputs.push_back(add({tensor.dtype(), tensor.shape()}, std::make_shared<const Constant>(borrowed)));
    } else {
      alone.inputs.push_back(add(type_of(*input), nullptr));
    }
  }
  for (const ValueId output : node.outputs) {
    alone.outputs.push_back(output == kAbsent ? kAbsent : add({}, nullptr));
  }
  return infer_types(graph, alone);
}

void check_outputs(const Call& call, const Data& outputs) {
  for (std::size_t i = 0; i < outputs.size() && i < call.types.size(); ++i) {
    const ValueType& type = call.types[i];
    if (!call.wants(i) || !type.is_tensor()) continue;
    const Tensor& output = outputs[i].tensor();
    if (output.dtype() != type.dtype || (type.is_static() && output.shape() != *type.shape)) {
      fail(ErrorCode::internal, "{}: output {} is {}[{}], its shape rule says {}", call.where(), i,
           name_of(output.dtype()), fmt::join(output.shape(), ","), to_text(type));
    }
  }
}

Data data_of(Tensors tensors) {
  return {std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end())};
}
Data data_of(Data data) { return data; }

void check_input(const Value& value, const TensorView& view) {
  if (view.dtype != value.type.dtype || !value.type.is_tensor()) {
    fail(ErrorCode::invalid_argument, "input '{}' is {}, expected {}", value.name, name_of(view.dtype),
         to_text(value.type));
  }
  if (view.data == nullptr && element_count(view.shape) != 0) {
    fail(ErrorCode::invalid_argument, "input '{}' has no data", value.name);
  }
}

/// Data of a running graph: constants and outputs of nodes, each kept until its last reader is done.
class Values {
 public:
  explicit Values(const Graph& graph)
      : graph_(graph), held_(graph.values.size()), is_held_(graph.values.size()), readers_(graph.values.size(), 0) {
    for (const Node& node : graph.nodes) {
      for (const ValueId id : node.inputs) count(id);
    }
    for (const ValueId id : graph.outputs) count(id);
  }

  void set(ValueId id, Datum datum) {
    if (id == kAbsent || readers_[at(id)] == 0) return;
    held_[at(id)] = std::move(datum);
    is_held_[at(id)] = true;
  }
  const Datum* get(ValueId id) {
    if (id == kAbsent) return nullptr;
    const auto& constant = graph_.value(id).constant;
    if (constant && !is_held_[at(id)]) set(id, constant->tensor());
    return &held_[at(id)];
  }
  void release(ValueId id) {
    if (id == kAbsent) return;
    // a constant is made again when it is read again: none of them stays in memory
    if (--readers_[at(id)] > 0 && !graph_.value(id).constant) return;
    held_[at(id)] = Datum();
    is_held_[at(id)] = false;
  }
  Datum take(ValueId id) {
    Datum datum = *get(id);
    release(id);
    return datum;
  }

 private:
  static std::size_t at(ValueId id) { return static_cast<std::size_t>(id); }
  void count(ValueId id) {
    if (id != kAbsent) ++readers_[at(id)];
  }

  const Graph& graph_;
  std::vector<Datum> held_;
  std::vector<bool> is_held_;
  std::vector<std::int64_t> readers_;
};

std::vector<Shape> shapes_of(std::span<const TensorView> inputs) {
  std::vector<Shape> shapes;
  for (const TensorView& input : inputs) shapes.push_back(input.shape);
  return shapes;
}

}  // namespace

std::string Call::where() const { return fmt::format("node '{}' ({})", node.name, name_of(node.op)); }

const Datum& Call::datum(std::size_t index) const {
  const Datum* datum = optional_datum(index);
  if (datum == nullptr) invalid("input {} is missing", index);
  return *datum;
}

const Tensor* Call::optional(std::size_t index) const {
  const Datum* datum = optional_datum(index);
  if (datum == nullptr) return nullptr;
  if (!datum->is_tensor()) invalid("input {} is {}, expected a tensor", index, to_text(type_of(*datum)));
  return &datum->tensor();
}

const Shape& Call::shape(std::size_t output) const {
  if (!types[output].is_static())
    unsupported("the shape of output {}, {}, does not follow from its inputs", output, to_text(types[output]));
  return *types[output].shape;
}

const Tensor& Call::input(std::size_t index) const {
  const Tensor* tensor = optional(index);
  if (tensor == nullptr) invalid("input {} is missing", index);
  return *tensor;
}

Ints Call::ints(std::size_t index) const {
  const Tensor* tensor = optional(index);
  return tensor == nullptr ? Ints{} : load_all<std::int64_t>(*tensor);
}

double Call::number_or(std::size_t index, double fallback) const {
  const Tensor* tensor = optional(index);
  if (tensor == nullptr || tensor->size() == 0) return fallback;
  if (tensor->size() != 1) invalid("input {} has {} elements, expected one", index, tensor->size());
  double number = 0;
  load(*tensor, 0, 1, &number);
  return number;
}

namespace {

/// Sizes come from untrusted models: what is too large for the memory is an error as any other.
Data applied(const Call& call) {
  try {
    return std::visit([&](const auto& op) { return data_of(apply(op, call)); }, call.node.op);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::resource_limit, "{}: out of memory", call.where());
  } catch (const std::length_error&) {
    fail(ErrorCode::resource_limit, "{}: out of memory", call.where());
  }
}

void check_sizes(const Call& call, std::size_t limit_bytes) {
  constexpr std::size_t kElementBytes = 8;
  for (std::size_t i = 0; limit_bytes > 0 && i < call.types.size(); ++i) {
    const ValueType& type = call.types[i];
    if (!call.wants(i) || !type.is_static() || type.shape->empty()) continue;
    const auto count = static_cast<std::size_t>(element_count(*type.shape));
    if (count > limit_bytes / kElementBytes)
      fail(ErrorCode::resource_limit, "{}: output {}, {}, takes {} bytes an element to evaluate, memory limit is {}",
           call.where(), i, to_text(type), kElementBytes, limit_bytes);
  }
}

}  // namespace

Data apply(const Opaque& op, const Call& call) { return op.definition->evaluate(op, call); }

ValueType type_of(const Datum& datum) {
  switch (datum.kind()) {
    case Datum::Kind::tensor: return {datum.dtype(), datum.tensor().shape()};
    case Datum::Kind::map:
      return {datum.dtype(),
              {},
              {datum.keys().dtype() == DType::string ? Container::map_of_string : Container::map_of_int64}};
    case Datum::Kind::sequence:
    case Datum::Kind::optional: break;
  }
  const bool sequence = datum.kind() == Datum::Kind::sequence;
  // an absent datum knows an element type, but not what holds the elements
  ValueType type{sequence ? datum.dtype() : DType::undefined, {}};
  if (!datum.elements().empty()) type = type_of(datum.elements().front());
  type.shape.reset();
  type.containers.insert(type.containers.begin(), sequence ? Container::sequence : Container::optional);
  return type;
}

Data evaluate(const Node& node, std::span<const Datum* const> inputs, const RunBody& run_body,
              std::size_t limit_bytes) {
  const RunBody by_reference = [limit_bytes](const Body& body, std::span<const Datum* const> data) {
    return evaluate(*body, data, limit_bytes);
  };
  const auto* unary = std::get_if<Unary>(&node.op);
  if (unary != nullptr && unary->kind == UnaryKind::identity && !inputs.empty()) return {*inputs[0]};
  const Call call{node, inputs, output_types(node, inputs), run_body ? run_body : by_reference};
  check_sizes(call, limit_bytes);
  Data outputs = applied(call);
  outputs.resize(node.outputs.size());
  check_outputs(call, outputs);
  return outputs;
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor* const> inputs) {
  std::vector<Datum> data;
  for (const Tensor* input : inputs) {
    data.push_back(input == nullptr ? Datum()
                                    : Datum(std::shared_ptr<const Tensor>(std::shared_ptr<const Tensor>{}, input)));
  }
  std::vector<const Datum*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(inputs[i] == nullptr ? nullptr : &data[i]);
  Data results = evaluate(node, operands);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(node.outputs[i] == kAbsent ? Tensor() : std::move(results[i]).take_tensor());
  }
  return outputs;
}

Data evaluate(const Graph& graph, std::span<const Datum* const> inputs, std::size_t limit_bytes) {
  if (inputs.size() != graph.inputs.size()) {
    fail(ErrorCode::invalid_argument, "graph '{}' has {} inputs, {} are given", graph.name, graph.inputs.size(),
         inputs.size());
  }
  Values values(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) values.set(graph.inputs[i], *inputs[i]);
  }
  for (const Node& node : graph.nodes) {
    std::vector<const Datum*> operands;
    for (const ValueId id : node.inputs) operands.push_back(values.get(id));
    Data results = evaluate(node, operands, {}, limit_bytes);
    for (std::size_t i = 0; i < results.size(); ++i) values.set(node.outputs[i], std::move(results[i]));
    for (const ValueId id : node.inputs) values.release(id);
  }
  Data outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values.take(id));
  return outputs;
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const TensorView> inputs, std::size_t limit_bytes) {
  if (inputs.size() != graph.inputs.size()) {
    fail(ErrorCode::invalid_argument, "graph '{}' has {} inputs, {} are given", graph.name, graph.inputs.size(),
         inputs.size());
  }
  Data data;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_input(graph.value(graph.inputs[i]), inputs[i]);
    data.emplace_back(TensorMemory::borrow(inputs[i]));
  }
  bind_shapes(graph, shapes_of(inputs));
  std::vector<const Datum*> operands;
  for (const Datum& datum : data) operands.push_back(&datum);
  Data results = evaluate(graph, operands, limit_bytes);
  data.clear();
  std::vector<Tensor> outputs;
  for (Datum& result : results) outputs.push_back(std::move(result).take_tensor());
  return outputs;
}

}  // namespace colonnade::reference
