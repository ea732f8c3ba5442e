// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/build.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/lowering.hpp"
#include "frontends/onnx/node.hpp"
#include "frontends/onnx/tensor.hpp"

namespace colonnade::onnx_import {
namespace {

void check_name(std::string_view name, std::string_view what) {
  if (name.empty()) fail(ErrorCode::invalid_model, "{} has no name", what);
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), is_control)) {
    fail(ErrorCode::invalid_model, "{} '{}': the name holds a control character", what, printable(name));
  }
}

struct DeclaredType {
  ValueType type;
  std::vector<std::string> dim_names;
};

DeclaredType declared_type(const onnx::ValueInfoProto& info, std::string_view where) {
  DeclaredType declared;
  const auto& type = info.type();
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) return declared;
  if (!type.has_tensor_type()) {
    fail(ErrorCode::unsupported, "{}: only tensors are supported, not sequences, maps, optionals or sparse tensors",
         where);
  }
  const auto& tensor = type.tensor_type();
  if (tensor.elem_type() != onnx::TensorProto::UNDEFINED) declared.type.dtype = dtype_of(tensor.elem_type(), where);
  if (!tensor.has_shape()) return declared;
  declared.type.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    const std::int64_t size = dim.has_dim_value() ? dim.dim_value() : -1;
    if (size < -1) fail(ErrorCode::invalid_model, "{}: dimension {} is negative", where, size);
    declared.type.shape->push_back(size);
    declared.dim_names.push_back(size >= 0 || dim.dim_param() == "?" ? "" : dim.dim_param());
  }
  return declared;
}

class Builder {
 public:
  Builder(onnx::ModelProto& model, ExternalData external) : model_(model), external_(std::move(external)) {}

  Graph run() {
    graph_.name = printable(model_.graph().name());
    add_initializers();
    add_inputs();
    std::vector<std::string> given = known_names();
    std::vector<OnnxNode> nodes = sort_nodes(checked_nodes(), given);
    if (model_.graph().output_size() == 0) fail(ErrorCode::invalid_model, "the graph has no outputs");
    reserve_names(nodes);
    read_hints();
    const std::vector<bool> used = reachable(nodes, output_names());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (used[i]) lower(nodes[i]);
    }
    add_outputs();
    return std::move(graph_);
  }

 private:
  void add_constant(const std::string& name, std::shared_ptr<const Constant> constant) {
    ValueType type{constant->dtype(), constant->shape()};
    const ValueId id = push_value(graph_, name, std::move(type), std::move(constant));
    if (!ids_.emplace(name, id).second) fail(ErrorCode::invalid_model, "initializer '{}' is defined twice", name);
  }

  void add_initializers() {
    for (auto& proto : *model_.mutable_graph()->mutable_initializer()) {
      check_name(proto.name(), "initializer");
      add_constant(proto.name(),
                   constant_from(proto, fmt::format("initializer '{}'", printable(proto.name())), external_));
      const std::string name = proto.name();
      proto.Clear();
      proto.set_name(name);
    }
    for (const auto& proto : model_.graph().sparse_initializer()) {
      const std::string& name = proto.values().name();
      check_name(name, "sparse initializer");
      Tensor tensor = tensor_from(proto, fmt::format("sparse initializer '{}'", printable(name)), external_);
      add_constant(name, std::make_shared<const Constant>(std::move(tensor)));
    }
  }

  void add_inputs() {
    std::unordered_set<std::string_view> seen;
    for (const auto& info : model_.graph().input()) {
      check_name(info.name(), "input");
      if (!seen.insert(info.name()).second) fail(ErrorCode::invalid_model, "input '{}' is declared twice", info.name());
      const std::string where = fmt::format("input '{}'", printable(info.name()));
      DeclaredType declared = declared_type(info, where);
      if (const auto constant = ids_.find(info.name()); constant != ids_.end()) {
        check_initialized_input(declared.type, graph_.value(constant->second).type, where);
        continue;
      }
      if (declared.type.dtype == DType::undefined) fail(ErrorCode::invalid_model, "{}: has no element type", where);
      const ValueId id = push_value(graph_, info.name(), std::move(declared.type));
      graph_.value(id).dim_names = std::move(declared.dim_names);
      ids_.emplace(info.name(), id);
      graph_.inputs.push_back(id);
    }
  }

  static void check_initialized_input(const ValueType& declared, const ValueType& actual, std::string_view where) {
    const bool same_type = declared.dtype == DType::undefined || declared.dtype == actual.dtype;
    bool same_shape = !declared.shape || declared.shape->size() == actual.shape->size();
    for (std::size_t i = 0; same_shape && declared.shape && i < declared.shape->size(); ++i) {
      same_shape = (*declared.shape)[i] < 0 || (*declared.shape)[i] == (*actual.shape)[i];
    }
    if (same_type && same_shape) return;
    fail(ErrorCode::invalid_model, "{}: expected {} as declared, its initializer is {}", where, to_text(declared),
         to_text(actual));
  }

  std::vector<std::string> known_names() const {
    std::vector<std::string> names;
    for (const auto& [name, id] : ids_) names.push_back(name);
    return names;
  }

  std::vector<OnnxNode> checked_nodes() {
    std::vector<OnnxNode> nodes = flatten(model_, attributes_);
    for (const auto& node : nodes) {
      if (node.op_type.empty()) fail(ErrorCode::invalid_model, "{}: has no operator", node.label());
      for (const auto& output : node.outputs) {
        if (!output.empty()) check_name(output, node.label() + ": output");
      }
    }
    return nodes;
  }

  void reserve_names(const std::vector<OnnxNode>& nodes) {
    for (const auto& [name, id] : ids_) names_.reserve(name);
    for (const auto& node : nodes) {
      for (const auto& output : node.outputs) names_.reserve(output);
    }
  }

  std::vector<std::string> output_names() const {
    std::vector<std::string> names;
    for (const auto& info : model_.graph().output()) names.push_back(info.name());
    return names;
  }

  /// Declared ranks help where inference cannot know one; declared sizes are never trusted.
  void read_hints() {
    const auto read = [&](const onnx::ValueInfoProto& info) {
      const auto& type = info.type();
      if (type.has_tensor_type() && type.tensor_type().has_shape())
        ranks_[info.name()] = type.tensor_type().shape().dim_size();
    };
    for (const auto& info : model_.graph().value_info()) read(info);
    for (const auto& info : model_.graph().output()) read(info);
  }

  const Row& checked_row(const OnnxNode& node) const {
    const bool is_known_domain = node.domain == kOnnxDomain || node.domain == kMlDomain;
    if (is_known_domain && node.opset == 0) {
      fail(ErrorCode::invalid_model, "{}: the model imports no opset of domain {}", node.label(), node.domain);
    }
    if (node.domain == kOnnxDomain && (node.opset < kOldestOpset || node.opset > kNewestOpset)) {
      fail(ErrorCode::unsupported, "{}: opset {} of ai.onnx is not supported, expected {} to {}", node.label(),
           node.opset, kOldestOpset, kNewestOpset);
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

  void lower(const OnnxNode& node) {
    const Row& row = checked_row(node);
    Values inputs;
    for (const auto& name : node.inputs) inputs.push_back(name.empty() ? kAbsent : ids_.at(name));
    while (!inputs.empty() && inputs.back() == kAbsent) inputs.pop_back();
    const auto first_new = static_cast<ValueId>(graph_.values.size());
    Lowering low(graph_, names_, external_, node, std::move(inputs));
    const Values results = row.lower(low);
    std::unordered_set<ValueId> named;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      if (i >= results.size() || results[i] == kAbsent) low.unsupported("output {} is not supported", i);
      const bool is_fresh = results[i] >= first_new && named.insert(results[i]).second;
      const ValueId id = is_fresh ? results[i] : unary(low, UnaryKind::identity, results[i]);
      graph_.value(id).name = node.outputs[i];
      apply_hint(graph_.value(id));
      ids_.emplace(node.outputs[i], id);
    }
  }

  void apply_hint(Value& value) const {
    if (value.type.shape) return;
    const auto hint = ranks_.find(value.name);
    if (hint != ranks_.end()) value.type.shape = Shape(static_cast<std::size_t>(hint->second), -1);
  }

  void add_outputs() {
    std::unordered_set<std::string_view> seen;
    for (const auto& info : model_.graph().output()) {
      check_name(info.name(), "output");
      const std::string where = fmt::format("output '{}'", printable(info.name()));
      if (!seen.insert(info.name()).second) fail(ErrorCode::invalid_model, "{}: is declared twice", where);
      const auto id = ids_.find(info.name());
      if (id == ids_.end()) fail(ErrorCode::invalid_model, "{}: no node produces it", where);
      name_dims(graph_.value(id->second), declared_type(info, where), where);
      graph_.outputs.push_back(id->second);
    }
  }

  static void name_dims(Value& value, DeclaredType declared, std::string_view where) {
    const bool both_known = declared.type.dtype != DType::undefined && value.type.dtype != DType::undefined;
    if (both_known && declared.type.dtype != value.type.dtype) {
      fail(ErrorCode::invalid_model, "{}: declared as {}, but its node produces {}", where,
           name_of(declared.type.dtype), name_of(value.type.dtype));
    }
    if (!value.dim_names.empty() || !value.type.shape) return;
    const bool same_rank = declared.type.shape && declared.type.shape->size() == value.type.shape->size();
    value.dim_names.assign(value.type.shape->size(), "");
    for (std::size_t i = 0; same_rank && i < value.dim_names.size(); ++i) {
      if ((*value.type.shape)[i] < 0) value.dim_names[i] = declared.dim_names[i];
    }
  }

  onnx::ModelProto& model_;
  ExternalData external_;
  Graph graph_;
  Names names_;
  std::deque<onnx::AttributeProto> attributes_;
  std::unordered_map<std::string, ValueId> ids_;
  std::unordered_map<std::string, int> ranks_;
};

}  // namespace

Graph build_graph(onnx::ModelProto& model, ExternalData external) { return Builder(model, std::move(external)).run(); }

}  // namespace colonnade::onnx_import
