// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/build.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/flatten.hpp"
#include "frontends/onnx/lowering.hpp"
#include "frontends/onnx/schemas.hpp"
#include "frontends/onnx/tensor.hpp"
#include "graph/shape_rules.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

void check_name(std::string_view name, std::string_view what) {
  if (name.empty()) fail(ErrorCode::invalid_model, "{} has no name", what);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control)) {
    fail(ErrorCode::invalid_model, "{} '{}': the name holds a control character", what, printable(name));
  }
}

/// What all graphs of a model share while they are built.
struct Import {
  ExternalData external;
  const CustomOperators& operators;
  ImportOptions options;
  std::unordered_map<const void*, std::shared_ptr<const Constant>> constants = {};  ///< by their message
  std::unordered_map<const OnnxNode*, OpenedStates> opened = {};
};

std::shared_ptr<const Constant> convert(const onnx::TensorProto& proto, Import& import) {
  check_name(proto.name(), "initializer");
  return constant_from(proto, fmt::format("initializer '{}'", printable(proto.name())), import.external);
}

std::shared_ptr<const Constant> convert(const onnx::SparseTensorProto& proto, Import& import) {
  const std::string& name = proto.values().name();
  check_name(name, "sparse initializer");
  const std::string where = fmt::format("sparse initializer '{}'", printable(name));
  return std::make_shared<const Constant>(tensor_from(proto, where, import.external));
}

/// A graph that is built more than once has its constants once.
template <class Message>
std::shared_ptr<const Constant> constant_of(const Message& proto, Import& import) {
  auto& constant = import.constants[&proto];
  if (!constant) constant = convert(proto, import);
  return constant;
}

/// Builds one graph: the main one, or a body of a node.
class Builder {
 public:
  Builder(Import& import, const OnnxGraph& source) : import_(import), source_(source) {
    graph_.name = printable(source.proto->name());
    target_.import_body = [this](const OnnxGraph& body, const std::vector<ValueType>& inputs) {
      return Builder(import_, body).run_body(inputs, *this);
    };
  }

  Graph run() {
    if (import_.options.schema) check_node_names();
    add_initializers();
    add_inputs();
    check_outputs();
    lower_nodes();
    add_outputs();
    return std::move(graph_);
  }

  /// The captures of the node that `outer` is lowering follow the graph's own inputs.
  Graph run_body(const std::vector<ValueType>& inputs, const Builder& outer) {
    const auto has_rank = [](const ValueType& type) { return type.shape || !type.is_tensor(); };
    is_body_ = true;
    uses_ranks_ = std::all_of(inputs.begin(), inputs.end(), has_rank);
    for (std::size_t i = 0; i < inputs.size(); ++i) add_body_input(i, inputs[i]);
    for (const auto& name : outer.lowered_->captures) capture(name, outer);
    add_initializers();
    lower_nodes();
    add_outputs();
    return std::move(graph_);
  }

 private:
  void define(const std::string& name, ValueId id, std::string_view what) {
    if (!ids_.emplace(name, id).second)
      fail(ErrorCode::invalid_model, "{} '{}' is defined twice", what, printable(name));
  }

  void add_initializers() {
    const auto& proto = *source_.proto;
    auto name = source_.initializers.begin();
    for (const auto& initializer : proto.initializer()) add_constant(*name++, constant_of(initializer, import_));
    for (const auto& initializer : proto.sparse_initializer()) add_constant(*name++, constant_of(initializer, import_));
  }

  void add_constant(const std::string& name, std::shared_ptr<const Constant> constant) {
    ValueType type{constant->dtype(), constant->shape()};
    define(name, push_value(graph_, name, std::move(type), std::move(constant)), "initializer");
  }

  void add_inputs() {
    std::unordered_set<std::string_view> seen;
    for (const auto& info : source_.proto->input()) {
      check_name(info.name(), "input");
      if (!seen.insert(info.name()).second) fail(ErrorCode::invalid_model, "input '{}' is declared twice", info.name());
      const std::string where = fmt::format("input '{}'", printable(info.name()));
      DeclaredType declared = declared_type(info.type(), where);
      if (const auto constant = ids_.find(info.name()); constant != ids_.end()) {
        check_initialized_input(declared.type, graph_.value(constant->second).type, where);
        continue;
      }
      if (declared.type.dtype == DType::undefined)
        fail(ErrorCode::invalid_model, "{}: has no {}", where, info.has_type() ? "element type" : "type");
      add_input(info.name(), std::move(declared.type));
      graph_.values.back().dim_names = std::move(declared.dim_names);
    }
  }

  void add_input(const std::string& name, ValueType type) {
    const ValueId id = push_value(graph_, name, std::move(type));
    define(name, id, "input");
    graph_.inputs.push_back(id);
  }

  static void check_initialized_input(const ValueType& declared, const ValueType& actual, std::string_view where) {
    const bool same_type = declared.dtype == DType::undefined || declared.dtype == actual.dtype;
    bool same_shape = !declared.shape || declared.shape->size() == actual.shape->size();
    for (std::size_t i = 0; same_shape && declared.shape && i < declared.shape->size(); ++i) {
      same_shape = (*declared.shape)[i] < 0 || (*declared.shape)[i] == (*actual.shape)[i];
    }
    if (same_type && same_shape && declared.is_tensor()) return;
    fail(ErrorCode::invalid_model, "{}: expected {} as declared, its initializer is {}", where, to_text(declared),
         to_text(actual));
  }

  void add_body_input(std::size_t index, ValueType type) {
    const std::string& name = source_.inputs[index];
    check_name(name, "input of a nested graph");
    const std::string where = fmt::format("input '{}' of a nested graph", printable(name));
    const auto& info = source_.proto->input(static_cast<int>(index));
    const DType declared = declared_type(info.type(), where).type.dtype;
    if (type.dtype == DType::undefined) type.dtype = declared;
    if (declared != DType::undefined && type.dtype != declared) {
      fail(ErrorCode::invalid_model, "{}: declared as {}, but it is given {}", where, name_of(declared),
           name_of(type.dtype));
    }
    add_input(name, std::move(type));
  }

  void capture(const std::string& name, const Builder& outer) {
    const Value& value = outer.graph_.value(outer.ids_.at(name));
    if (value.constant) {
      add_constant(name, value.constant);
    } else {
      add_input(name, value.type);
    }
  }

  void lower_nodes() {
    for (const auto& [name, id] : ids_) names_.reserve(name);
    for (const auto& node : source_.nodes) {
      check_node(node);
      for (const auto& output : node.outputs) names_.reserve(output);
    }
    const std::vector<bool> used = reachable(source_.nodes, source_.outputs);
    for (std::size_t i = 0; i < source_.nodes.size(); ++i) {
      if (used[i]) lower(source_.nodes[i]);
    }
  }

  void check_node_names() const {
    std::unordered_set<std::string_view> seen;
    for (const auto& node : source_.proto->node()) {
      if (node.name().empty() || seen.insert(node.name()).second) continue;
      fail(ErrorCode::invalid_model, "node '{}': two nodes have this name", printable(node.name()));
    }
  }

  void check_node(const OnnxNode& node) const {
    if (node.op_type.empty()) fail(ErrorCode::invalid_model, "{}: has no operator", node.label());
    for (const auto& output : node.outputs) {
      if (!output.empty()) check_name(output, node.label() + ": output");
    }
    if (import_.options.schema && find_custom(import_.operators, node) == nullptr) check_form(node);
  }

  const Row& checked_row(const OnnxNode& node) const {
    if (node.domain == kOnnxDomain && node.opset == 0) {
      fail(ErrorCode::invalid_model, "{}: the model imports no opset of domain {}", node.label(), node.domain);
    }
    if (node.domain == kOnnxDomain && (node.opset < kOldestOpset || node.opset > kNewestOpset)) {
      fail(ErrorCode::unsupported, "{}: opset {} of ai.onnx is not supported, expected {} to {}", node.label(),
           node.opset, kOldestOpset, kNewestOpset);
    }
    if (node.domain == kMlDomain && node.opset > kNewestMlOpset) {
      fail(ErrorCode::unsupported, "{}: opset {} of {} is not supported, expected 1 to {}", node.label(), node.opset,
           node.domain, kNewestMlOpset);
    }
    const Row* row = find_row(node);
    if (!row) {
      fail(ErrorCode::unsupported, "{}: operator {} of domain {} in opset {} is not supported", node.label(),
           printable(node.op_type), printable(node.domain), node.opset);
    }
    const auto inputs = static_cast<int>(node.inputs.size()), outputs = static_cast<int>(node.outputs.size());
    if (inputs < row->min_inputs || inputs > row->max_inputs) {
      fail(ErrorCode::invalid_model, "{}: expected {} to {} inputs, found {}", node.label(), row->min_inputs,
           row->max_inputs, inputs);
    }
    if (outputs < 1 || outputs > row->max_outputs) {
      fail(ErrorCode::invalid_model, "{}: expected 1 to {} outputs, found {}", node.label(), row->max_outputs, outputs);
    }
    return *row;
  }

  std::vector<const ValueType*> types_of(const Values& ids) const {
    std::vector<const ValueType*> types;
    for (const ValueId id : ids) types.push_back(id == kAbsent ? nullptr : &graph_.value(id).type);
    return types;
  }

  void lower(const OnnxNode& node) {
    const CustomOperator* custom = find_custom(import_.operators, node);
    const Row* row = custom != nullptr ? nullptr : &checked_row(node);
    Values inputs, captures;
    for (const auto& name : node.inputs) inputs.push_back(name.empty() ? kAbsent : ids_.at(name));
    while (!inputs.empty() && inputs.back() == kAbsent) inputs.pop_back();
    if (row != nullptr && import_.options.schema) check_types(node, types_of(inputs));
    for (const auto& name : node.captures) {
      const ValueId id = ids_.at(name);
      if (!graph_.value(id).constant) captures.push_back(id);
    }
    lowered_ = &node;
    const auto first_new = static_cast<ValueId>(graph_.values.size());
    Lowering low(target_, node, std::move(inputs), std::move(captures));
    const Values results = row == nullptr ? lower_custom(low, *custom) : row->lower(low);
    std::unordered_set<ValueId> named;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= results.size() || results[i] == kAbsent) low.unsupported("output {} is not supported", i);
      const bool is_fresh = results[i] >= first_new && named.insert(results[i]).second;
      const ValueId id = is_fresh ? results[i] : unary(low, UnaryKind::identity, results[i]);
      graph_.value(id).name = node.outputs[i];
      apply_rank(graph_.value(id));
      ids_.emplace(node.outputs[i], id);
    }
  }

  void apply_rank(Value& value) const {
    if (value.type.shape || !value.type.is_tensor() || !uses_ranks_) return;
    const auto rank = source_.ranks.find(value.name);
    if (rank == source_.ranks.end()) return;
    if (rank->second == 0 && is_body_) return;  // Paddle declares vectors of one element as scalars
    value.type.shape = Shape(static_cast<std::size_t>(rank->second), -1);
  }

  void check_outputs() const {
    if (source_.outputs.empty()) fail(ErrorCode::invalid_model, "the graph has no outputs");
    std::unordered_set<std::string_view> seen;
    for (const auto& name : source_.outputs) {
      if (!seen.insert(name).second) {
        fail(ErrorCode::invalid_model, "output '{}': is declared twice", printable(name));
      }
    }
  }

  void add_outputs() {
    for (std::size_t i = 0; i < source_.outputs.size(); ++i) {
      const std::string& name = source_.outputs[i];
      const auto& info = source_.proto->output(static_cast<int>(i));
      check_name(name, "output");
      const std::string where = fmt::format("output '{}'", printable(name));
      const auto id = ids_.find(name);
      if (id == ids_.end()) fail(ErrorCode::invalid_model, "{}: no node produces it", where);
      const DeclaredType declared = declared_type(info.type(), where);
      check_declared(graph_.value(id->second).type, declared.type, where);
      const ValueId output = as_declared(id->second, declared.type);
      name_dims(graph_.value(output), declared);
      graph_.outputs.push_back(output);
    }
  }

  static void check_declared(const ValueType& actual, const ValueType& declared, std::string_view where) {
    if (declared.dtype == DType::undefined || actual.dtype == DType::undefined) return;
    if (common_type(declared, actual)) return;
    fail(ErrorCode::invalid_model, "{}: declared as {}, but its node produces {}", where, to_text(declared),
         to_text(actual));
  }

  /// A loop whose state is optional at first may be declared to give what is within.
  ValueId as_declared(ValueId id, const ValueType& declared) {
    const ValueType& actual = graph_.value(id).type;
    const bool is_input = std::find(graph_.inputs.begin(), graph_.inputs.end(), id) != graph_.inputs.end();
    const bool is_wrapped = actual.containers.size() > declared.containers.size();
    if (declared.dtype == DType::undefined || !is_wrapped || is_input) return id;
    const std::string name = graph_.value(id).name;
    graph_.value(id).name = names_.fresh(name + "/optional");
    Opaque get_element{&reference::kOptionalGetElement, kNewestOpset, {}};
    Node node{std::move(get_element), {id}, {kAbsent}, printable(name), "OptionalGetElement"};
    ValueType type = infer_types(graph_, node).at(0);
    node.outputs = {push_value(graph_, name, std::move(type))};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs.front();
  }

  static void name_dims(Value& value, const DeclaredType& declared) {
    if (!value.dim_names.empty() || !value.type.shape) return;
    value.dim_names.assign(value.type.shape->size(), "");
    if (declared.dim_names.size() != value.dim_names.size()) return;
    for (std::size_t i = 0; i < value.dim_names.size(); ++i) {
      if ((*value.type.shape)[i] < 0) value.dim_names[i] = declared.dim_names[i];
    }
  }

  Import& import_;
  const OnnxGraph& source_;
  Graph graph_;
  Names names_;
  Target target_{graph_, names_, import_.external, import_.options.dynamic_scale, {}, import_.opened};
  std::unordered_map<std::string, ValueId> ids_;
  const OnnxNode* lowered_ = nullptr;
  bool is_body_ = false;
  bool uses_ranks_ = true;  ///< declared ones; not where ranks were found to change from iteration to iteration
};

/// Initializers of the main graph lose their data as they are converted.
void convert_initializers(onnx::GraphProto& graph, Import& import) {
  for (auto& proto : *graph.mutable_initializer()) {
    constant_of(proto, import);
    const std::string name = proto.name();
    proto.Clear();
    proto.set_name(name);
  }
}

}  // namespace

Graph build_graph(onnx::ModelProto& model, ExternalData external, const CustomOperators& operators,
                  const ImportOptions& options) {
  Import import{std::move(external), operators, options};
  convert_initializers(*model.mutable_graph(), import);
  std::deque<onnx::AttributeProto> attributes;
  const OnnxGraph source = flatten(model, attributes);
  return Builder(import, source).run();
}

}  // namespace colonnade::onnx_import
