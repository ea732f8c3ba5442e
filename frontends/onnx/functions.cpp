// SPDX-License-Identifier: Apache-2.0
// Inlines model-local functions.
#include <algorithm>
#include <set>
#include <utility>

#include "frontends/onnx/node.hpp"
#include "frontends/onnx/table.hpp"

namespace colonnade::onnx_import {
namespace {

/// Calls and nodes that functions may expand to: a few hundred bytes could ask for any number.
constexpr std::size_t kMostInlined = 131'072;
constexpr std::size_t kDeepestCall = 64;

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

using AttributeMap = std::map<std::string, const onnx::AttributeProto*, std::less<>>;

/// What names and attribute references mean while one body is expanded.
struct Scope {
  const Opsets& opsets;
  std::map<std::string, std::string, std::less<>> names;  ///< formal parameters
  std::string prefix;                                     ///< of every other name
  const AttributeMap* arguments = nullptr;                ///< null: the main graph
};

class Flattener {
 public:
  Flattener(const onnx::ModelProto& model, std::deque<onnx::AttributeProto>& owned) : owned_(owned) {
    for (const auto& function : model.functions()) add_function(function);
    for (const auto& input : model.graph().input()) names_.insert(input.name());
    for (const auto& constant : model.graph().initializer()) names_.insert(constant.name());
    for (const auto& node : model.graph().node()) names_.insert(node.output().begin(), node.output().end());
  }

  std::vector<OnnxNode> run(const onnx::ModelProto& model) {
    Opsets opsets = opsets_of(model.opset_import());
    // files older than imports have the first opset
    if (opsets.empty() && model.ir_version() < 3) opsets.emplace(kOnnxDomain, 1);
    expand(model.graph().node(), Scope{.opsets = opsets, .names = {}, .prefix = "", .arguments = nullptr});
    return std::move(nodes_);
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

  void expand(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& protos, const Scope& scope) {
    for (const auto& proto : protos) {
      OnnxNode node = resolve(proto, scope);
      const FunctionId id{node.domain, node.op_type, unknown_string(proto, kNodeOverload)};
      const auto function = functions_.find(id);
      if (function == functions_.end() || find_row(node)) {
        if (scope.arguments) spend();
        nodes_.push_back(std::move(node));
      } else {
        call(node, id, function->second);
      }
    }
  }

  void spend() {
    if (++inlined_ > kMostInlined) {
      fail(ErrorCode::resource_limit, "the model's functions expand to more than {} nodes", kMostInlined);
    }
  }

  OnnxNode resolve(const onnx::NodeProto& proto, const Scope& scope) const {
    OnnxNode node;
    node.op_type = proto.op_type();
    node.domain = canonical_domain(proto.domain());
    const auto opset = scope.opsets.find(node.domain);
    node.opset = opset == scope.opsets.end() ? 0 : opset->second;
    for (const auto& input : proto.input()) node.inputs.push_back(rename(input, scope));
    for (const auto& output : proto.output()) node.outputs.push_back(rename(output, scope));
    node.name = scope.prefix + name_of_node(proto);
    for (const auto& attribute : proto.attribute()) add_attribute(node, attribute, scope);
    return node;
  }

  std::string name_of_node(const onnx::NodeProto& proto) const {
    if (!proto.name().empty()) return proto.name();
    for (const auto& output : proto.output()) {
      if (!output.empty()) return output;
    }
    return fmt::format("{}_{}", proto.op_type(), nodes_.size());
  }

  static std::string rename(const std::string& name, const Scope& scope) {
    if (name.empty() || !scope.arguments) return name;
    const auto formal = scope.names.find(name);
    return formal == scope.names.end() ? scope.prefix + name : formal->second;
  }

  static void add_attribute(OnnxNode& node, const onnx::AttributeProto& attribute, const Scope& scope) {
    const onnx::AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      if (!scope.arguments) {
        fail(ErrorCode::invalid_model, "{}: attribute '{}' refers to '{}' outside of a function", node.label(),
             printable(attribute.name()), printable(attribute.ref_attr_name()));
      }
      const auto argument = scope.arguments->find(attribute.ref_attr_name());
      if (argument == scope.arguments->end()) return;
      value = argument->second;
    }
    if (!node.attributes.emplace(attribute.name(), value).second) {
      fail(ErrorCode::invalid_model, "{}: attribute '{}' is given twice", node.label(), printable(attribute.name()));
    }
  }

  void call(const OnnxNode& node, const FunctionId& id, const Function& function) {
    const auto& proto = *function.proto;
    spend();
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
    AttributeMap arguments = node.attributes;
    for (const auto& [name, value] : function.defaults) arguments.emplace(name, value);
    Scope scope{function.opsets, {}, unique_prefix(node.name), &arguments};
    bind_inputs(node, proto, scope);
    const auto copies = bind_outputs(node, proto, scope);
    for (const auto& inner : proto.node()) {
      for (const auto& output : inner.output()) names_.insert(rename(output, scope));
    }
    calls_.push_back(id);
    expand(proto.node(), scope);
    calls_.pop_back();
    for (const auto& [from, to] : copies) nodes_.push_back(copy_node(node, from, to));
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
  std::vector<OnnxNode> nodes_;
  std::size_t inlined_ = 0;
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

std::vector<OnnxNode> flatten(const onnx::ModelProto& model, std::deque<onnx::AttributeProto>& owned) {
  return Flattener(model, owned).run(model);
}

}  // namespace colonnade::onnx_import
