// SPDX-License-Identifier: Apache-2.0
// Inlines model-local functions and resolves names: functions and nested graphs have scopes of their own.
#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include "frontends/onnx/flatten.hpp"
#include "frontends/onnx/table.hpp"

namespace colonnade::onnx_import {
namespace {

/// Calls and nodes that functions may expand to: a few hundred bytes could ask for any number.
constexpr std::size_t kMostInlined = 131'072;
constexpr std::size_t kDeepestCall = 64;
constexpr std::size_t kDeepestGraph = 32;

/// Field numbers that newer schemas than the one compiled against define.
constexpr int kNodeOverload = 8;
constexpr int kFunctionOverload = 13;
constexpr int kFunctionAttributeDefaults = 11;

template <class Message>
std::string unknown_string(const Message& message, int number) {
  const auto& fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      return field.length_delimited();
    }
  }
  return {};
}

struct FunctionId {
  std::string domain, name, overload;
  auto operator<=>(const FunctionId&) const = default;
};

struct Function {
  const onnx::FunctionProto* proto = nullptr;
  Opsets opsets;
  std::map<std::string, const onnx::AttributeProto*, std::less<>> defaults;
};

/// What names and attribute references mean while one body is expanded.
struct Scope {
  const Opsets& opsets;
  std::map<std::string, std::string, std::less<>> names;  ///< formal parameters, or what a nested graph defines
  std::string prefix;                                     ///< of every other name
  const OnnxNode* caller = nullptr;                       ///< of a function, with its attributes; null: the main graph
  const Scope* outer = nullptr;                           ///< what a nested graph may capture of
};

class Flattener {
 public:
  Flattener(const onnx::ModelProto& model, std::deque<onnx::AttributeProto>& owned) : owned_(owned) {
    for (const auto& function : model.functions()) add_function(function);
  }

  OnnxGraph run(const onnx::ModelProto& model) {
    Opsets opsets = opsets_of(model.opset_import());
    // files older than imports have the first opset
    if (opsets.empty() && model.ir_version() < 3) opsets.emplace(kOnnxDomain, 1);
    if (opsets.empty()) fail(ErrorCode::invalid_model, "the model imports no opsets");
    for_each_definition(model.graph(), [&](const std::string& name) { names_.insert(name); });
    return graph_of(model.graph(), Scope{.opsets = opsets, .names = {}, .prefix = ""});
  }

 private:
  void add_function(const onnx::FunctionProto& proto) {
    const FunctionId id{std::string(canonical_domain(proto.domain())), proto.name(),
                        unknown_string(proto, kFunctionOverload)};
    Function function{&proto, opsets_of(proto.opset_import()), {}};
    const auto& fields = proto.unknown_fields();
    for (int i = 0; i < fields.field_count(); ++i) {
      const auto& field = fields.field(i);
      if (field.number() != kFunctionAttributeDefaults) continue;
      onnx::AttributeProto attribute;
      if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED ||
          !attribute.ParseFromString(field.length_delimited())) {
        fail(ErrorCode::invalid_model, "function '{}': malformed attribute default", printable(proto.name()));
      }
      owned_.push_back(std::move(attribute));
      function.defaults[owned_.back().name()] = &owned_.back();
    }
    if (!functions_.emplace(id, std::move(function)).second) {
      fail(ErrorCode::invalid_model, "function '{}' of domain '{}' is defined twice", printable(id.name),
           printable(id.domain));
    }
  }

  template <class Visit>
  static void for_each_definition(const onnx::GraphProto& proto, const Visit& visit) {
    for (const auto& input : proto.input()) visit(input.name());
    for (const auto& constant : proto.initializer()) visit(constant.name());
    for (const auto& constant : proto.sparse_initializer()) visit(constant.values().name());
    for (const auto& node : proto.node()) std::for_each(node.output().begin(), node.output().end(), visit);
  }

  OnnxGraph graph_of(const onnx::GraphProto& proto, const Scope& scope) {
    OnnxGraph graph;
    graph.proto = &proto;
    for (const auto& input : proto.input()) graph.inputs.push_back(rename(input.name(), scope));
    for (const auto& constant : proto.initializer()) graph.initializers.push_back(rename(constant.name(), scope));
    for (const auto& constant : proto.sparse_initializer()) {
      graph.initializers.push_back(rename(constant.values().name(), scope));
    }
    for (const auto& output : proto.output()) graph.outputs.push_back(rename(output.name(), scope));
    read_ranks(graph, proto.value_info(), scope);
    read_ranks(graph, proto.output(), scope);
    expand(proto.node(), scope, graph.nodes);
    std::vector<std::string> given = graph.inputs;
    given.insert(given.end(), graph.initializers.begin(), graph.initializers.end());
    if (scope.outer) {
      graph.captures = captures_of(graph);
      given.insert(given.end(), graph.captures.begin(), graph.captures.end());
    }
    graph.nodes = sort_nodes(std::move(graph.nodes), given);
    return graph;
  }

  /// Declared ranks help where inference cannot know one; declared sizes are never trusted.
  static void read_ranks(OnnxGraph& graph, const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& infos,
                         const Scope& scope) {
    for (const auto& info : infos) {
      const auto& type = info.type();
      if (type.has_tensor_type() && type.tensor_type().has_shape()) {
        graph.ranks[rename(info.name(), scope)] = type.tensor_type().shape().dim_size();
      }
    }
  }

  static std::vector<std::string> captures_of(const OnnxGraph& graph) {
    std::unordered_set<std::string_view> defined(graph.inputs.begin(), graph.inputs.end());
    defined.insert(graph.initializers.begin(), graph.initializers.end());
    for (const OnnxNode& node : graph.nodes) defined.insert(node.outputs.begin(), node.outputs.end());
    std::set<std::string> captures;
    const auto read = [&](const std::vector<std::string>& names) {
      for (const auto& name : names) {
        if (!name.empty() && !defined.contains(name)) captures.insert(name);
      }
    };
    for (const OnnxNode& node : graph.nodes) {
      read(node.inputs);
      read(node.captures);
    }
    read(graph.outputs);
    return {captures.begin(), captures.end()};
  }

  /// A graph in an attribute of the node.
  std::shared_ptr<const OnnxGraph> nested_graph(const onnx::GraphProto& proto, const OnnxNode& node,
                                                const Scope& outer) {
    if (depth_ >= kDeepestGraph) {
      fail(ErrorCode::unsupported, "{}: graphs lie within each other more than {} deep", node.label(), kDeepestGraph);
    }
    Scope scope{outer.opsets, {}, outer.prefix, outer.caller, &outer};
    for_each_definition(proto, [&](const std::string& name) {
      if (scope.caller) spend(node);
      if (name.empty() || scope.names.contains(name)) return;
      scope.names.emplace(name, fresh_name(scope.prefix + name, node));
    });
    ++depth_;
    auto graph = std::make_shared<const OnnxGraph>(graph_of(proto, scope));
    --depth_;
    return graph;
  }

  /// The name, or another one where it is taken: names of nested graphs may hide those around them.
  std::string fresh_name(const std::string& name, const OnnxNode& node) {
    if (names_.insert(name).second) return name;
    const std::string hint = node.name + "/" + name;
    if (names_.insert(hint).second) return hint;
    for (int& i = next_[hint];;) {
      std::string numbered = fmt::format("{}.{}", hint, ++i);
      if (names_.insert(numbered).second) return numbered;
    }
  }

  void expand(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& protos, const Scope& scope,
              std::vector<OnnxNode>& nodes) {
    for (const auto& proto : protos) {
      OnnxNode node = resolve(proto, scope, nodes.size());
      const FunctionId id{node.domain, node.op_type, unknown_string(proto, kNodeOverload)};
      const auto function = functions_.find(id);
      if (function == functions_.end() || find_row(node)) {
        if (scope.caller) spend(node);
        nodes.push_back(std::move(node));
      } else {
        call(node, id, function->second, nodes);
      }
    }
  }

  void spend(const OnnxNode& node) {
    if (++inlined_ > kMostInlined) {
      fail(ErrorCode::resource_limit, "{}: the model's functions expand to more than {} nodes", node.label(),
           kMostInlined);
    }
  }

  OnnxNode resolve(const onnx::NodeProto& proto, const Scope& scope, std::size_t index) {
    OnnxNode node;
    node.op_type = proto.op_type();
    node.domain = canonical_domain(proto.domain());
    const auto opset = scope.opsets.find(node.domain);
    const std::int64_t unimported = node.domain == kMlDomain ? kNewestMlOpset : 0;
    node.opset = opset == scope.opsets.end() ? unimported : opset->second;
    for (const auto& input : proto.input()) node.inputs.push_back(rename(input, scope));
    for (const auto& output : proto.output()) node.outputs.push_back(rename(output, scope));
    node.name = scope.prefix + name_of_node(proto, index);
    for (const auto& attribute : proto.attribute()) add_attribute(node, attribute, scope);
    std::set<std::string> captures;
    for (const auto& [name, graph] : node.graphs) captures.insert(graph->captures.begin(), graph->captures.end());
    node.captures.assign(captures.begin(), captures.end());
    return node;
  }

  static std::string name_of_node(const onnx::NodeProto& proto, std::size_t index) {
    if (!proto.name().empty()) return proto.name();
    for (const auto& output : proto.output()) {
      if (!output.empty()) return output;
    }
    return fmt::format("{}_{}", proto.op_type(), index);
  }

  static std::string rename(const std::string& name, const Scope& scope) {
    if (name.empty()) return name;
    const auto known = scope.names.find(name);
    if (known != scope.names.end()) return known->second;
    return scope.outer ? rename(name, *scope.outer) : scope.prefix + name;
  }

  void add_attribute(OnnxNode& node, const onnx::AttributeProto& attribute, const Scope& scope) {
    const onnx::AttributeProto* value = &attribute;
    std::shared_ptr<const OnnxGraph> graph;
    if (!attribute.ref_attr_name().empty()) {
      if (!scope.caller) {
        fail(ErrorCode::invalid_model, "{}: attribute '{}' refers to '{}' outside of a function", node.label(),
             printable(attribute.name()), printable(attribute.ref_attr_name()));
      }
      const auto argument = scope.caller->attributes.find(attribute.ref_attr_name());
      if (argument == scope.caller->attributes.end()) return;
      value = argument->second;
      const auto given = scope.caller->graphs.find(attribute.ref_attr_name());
      if (given != scope.caller->graphs.end()) graph = given->second;
    }
    if (!node.attributes.emplace(attribute.name(), value).second) {
      fail(ErrorCode::invalid_model, "{}: attribute '{}' is given twice", node.label(), printable(attribute.name()));
    }
    if (type_of(*value) != onnx::AttributeProto::GRAPH) return;
    node.graphs.emplace(attribute.name(), graph ? graph : nested_graph(value->g(), node, scope));
  }

  void call(const OnnxNode& node, const FunctionId& id, const Function& function, std::vector<OnnxNode>& nodes) {
    const auto& proto = *function.proto;
    spend(node);
    if (std::find(calls_.begin(), calls_.end(), id) != calls_.end()) {
      fail(ErrorCode::invalid_model, "{}: function '{}' calls itself", node.label(), printable(id.name));
    }
    if (calls_.size() >= kDeepestCall) {
      fail(ErrorCode::unsupported, "{}: functions call each other more than {} deep", node.label(), kDeepestCall);
    }
    if (static_cast<int>(node.inputs.size()) > proto.input_size() ||
        static_cast<int>(node.outputs.size()) > proto.output_size()) {
      fail(ErrorCode::invalid_model, "{}: {} inputs and {} outputs, but the function has {} and {}", node.label(),
           node.inputs.size(), node.outputs.size(), proto.input_size(), proto.output_size());
    }
    OnnxNode caller = node;
    for (const auto& [name, value] : function.defaults) caller.attributes.emplace(name, value);
    Scope scope{function.opsets, {}, unique_prefix(node.name), &caller};
    bind_inputs(node, proto, scope);
    const auto copies = bind_outputs(node, proto, scope);
    for (const auto& inner : proto.node()) {
      for (const auto& output : inner.output()) names_.insert(rename(output, scope));
    }
    calls_.push_back(id);
    expand(proto.node(), scope, nodes);
    calls_.pop_back();
    check_outputs_made(node, proto);
    for (const auto& [from, to] : copies) nodes.push_back(copy_node(node, from, to));
  }

  /// Only those that the call asks for need be.
  static void check_outputs_made(const OnnxNode& node, const onnx::FunctionProto& proto) {
    std::unordered_set<std::string_view> made(proto.input().begin(), proto.input().end());
    for (const auto& inner : proto.node()) made.insert(inner.output().begin(), inner.output().end());
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& output = proto.output(static_cast<int>(i));
      if (node.outputs[i].empty() || made.contains(output)) continue;
      fail(ErrorCode::invalid_model, "{}: output '{}' of function '{}' is not defined", node.label(), printable(output),
           printable(proto.name()));
    }
  }

  /// A prefix that no name so far starts with.
  std::string unique_prefix(const std::string& name) {
    std::string prefix = name + "/";
    for (int i = 2;; ++i) {
      const auto first = names_.lower_bound(prefix);
      if (first == names_.end() || !first->starts_with(prefix)) break;
      prefix = fmt::format("{}#{}/", name, i);
    }
    names_.insert(prefix);
    return prefix;
  }

  static void bind_inputs(const OnnxNode& node, const onnx::FunctionProto& proto, Scope& scope) {
    for (int i = 0; i < proto.input_size(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      const std::string actual = index < node.inputs.size() ? node.inputs[index] : "";
      if (!scope.names.emplace(proto.input(i), actual).second) {
        fail(ErrorCode::invalid_model, "{}: the function's parameter '{}' is named twice", node.label(),
             printable(proto.input(i)));
      }
    }
  }

  /// Binds formal outputs to the caller's names; an output that is also an input (or named twice) needs a copy.
  static std::vector<std::pair<std::string, std::string>> bind_outputs(const OnnxNode& node,
                                                                       const onnx::FunctionProto& proto, Scope& scope) {
    std::vector<std::pair<std::string, std::string>> copies;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      const std::string& formal = proto.output(static_cast<int>(i));
      const auto [bound, is_new] = scope.names.emplace(formal, node.outputs[i]);
      if (!is_new) copies.emplace_back(bound->second, node.outputs[i]);
    }
    return copies;
  }

  static OnnxNode copy_node(const OnnxNode& node, const std::string& from, const std::string& to) {
    OnnxNode copy;
    copy.name = node.name + "/" + to;
    copy.op_type = "Identity";
    copy.domain = kOnnxDomain;
    copy.opset = kNewestOpset;
    copy.inputs = {from};
    copy.outputs = {to};
    return copy;
  }

  std::deque<onnx::AttributeProto>& owned_;
  std::map<FunctionId, Function> functions_;
  std::vector<FunctionId> calls_;
  std::set<std::string, std::less<>> names_;
  std::unordered_map<std::string, int> next_;
  std::size_t inlined_ = 0, depth_ = 0;
};

}  // namespace

Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& import : imports) {
    auto& version = opsets[std::string(canonical_domain(import.domain()))];
    version = std::max<std::int64_t>(version, import.version());
  }
  return opsets;
}

OnnxGraph flatten(const onnx::ModelProto& model, std::deque<onnx::AttributeProto>& owned) {
  return Flattener(model, owned).run(model);
}

}  // namespace colonnade::onnx_import
