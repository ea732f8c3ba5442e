// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "frontends/onnx/draft_messages.hpp"

namespace colonnade::onnx_import {

bool is_onnx_domain(const std::string& domain) { return canonical_domain(domain) == kOnnxDomain; }

bool has_bodies(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
}

void each_body(const onnx::NodeProto& node, const std::function<void(const onnx::GraphProto&)>& use) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) use(attribute.g());
    for (const auto& graph : attribute.graphs()) use(graph);
  }
}

void names_in_bodies(const onnx::NodeProto& node, std::unordered_set<std::string>& names) {
  each_body(node, [&](const onnx::GraphProto& graph) {
    for (const auto& info : graph.input()) names.insert(info.name());
    for (const auto& info : graph.output()) names.insert(info.name());
    for (const auto& proto : graph.initializer()) names.insert(proto.name());
    for (const auto& inner : graph.node()) {
      names.insert(inner.input().begin(), inner.input().end());
      names.insert(inner.output().begin(), inner.output().end());
      names_in_bodies(inner, names);
    }
  });
}

std::unordered_set<std::string> Draft::Messages::names() const {
  std::unordered_set<std::string> names;
  const onnx::GraphProto& graph = model.graph();
  for (const auto& info : graph.input()) names.insert(info.name());
  for (const auto& info : graph.output()) names.insert(info.name());
  for (const auto& proto : graph.initializer()) names.insert(proto.name());
  for (const auto& proto : graph.sparse_initializer()) names.insert(proto.values().name());
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    names.insert(node.output().begin(), node.output().end());
    names_in_bodies(node, names);
  }
  return names;
}

const onnx::AttributeProto* attribute_named(const onnx::NodeProto& node, std::string_view name) {
  const auto found = std::find_if(node.attribute().begin(), node.attribute().end(),
                                  [&](const auto& attribute) { return attribute.name() == name; });
  return found == node.attribute().end() ? nullptr : &*found;
}
std::int64_t int_of(const onnx::NodeProto& node, std::string_view name, std::int64_t otherwise) {
  const auto* attribute = attribute_named(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}
float float_of(const onnx::NodeProto& node, std::string_view name, float otherwise) {
  const auto* attribute = attribute_named(node, name);
  return attribute == nullptr ? otherwise : attribute->f();
}

namespace {

/// The nodes, each after those that make what it and its bodies read.
std::vector<onnx::NodeProto> sorted(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  std::unordered_map<std::string, int> makers;
  for (int index = 0; index < nodes.size(); ++index)
    for (const auto& output : nodes.Get(index).output()) makers[output] = index;
  std::vector<bool> done(static_cast<std::size_t>(nodes.size()));
  std::vector<onnx::NodeProto> order;
  std::vector<int> stack;
  const auto needs = [&](const std::string& name, int reader) {
    const auto maker = makers.find(name);
    if (name.empty() || maker == makers.end() || maker->second == reader) return;
    if (!done[static_cast<std::size_t>(maker->second)]) stack.push_back(maker->second);
  };
  for (int first = 0; first < nodes.size(); ++first) {
    stack.push_back(first);
    while (!stack.empty()) {
      const int index = stack.back();
      const std::size_t depth = stack.size();
      std::unordered_set<std::string> captured;
      names_in_bodies(nodes.Get(index), captured);
      for (const auto& name : nodes.Get(index).input()) needs(name, index);
      for (const auto& name : captured) needs(name, index);
      if (stack.size() > depth) continue;
      stack.pop_back();
      if (!done[static_cast<std::size_t>(index)]) order.push_back(std::move(*nodes.Mutable(index)));
      done[static_cast<std::size_t>(index)] = true;
    }
  }
  return order;
}

}  // namespace

DraftNodes::DraftNodes(Draft::Messages& messages) : messages_(messages), taken_(messages.names()) {
  for (const auto& import : messages.model.opset_import())
    if (is_onnx_domain(import.domain())) opset_ = std::max(opset_, import.version());
  auto& graph = *messages.model.mutable_graph();
  for (const auto& info : graph.output()) outputs_.insert(info.name());
  nodes_ = sorted(*graph.mutable_node());
  for (const auto& node : nodes_) names_in_bodies(node, captured_);
  alive_.assign(nodes_.size(), true);
  for (int index = 0; index < count(); ++index) {
    for (const auto& output : node(index).output())
      if (!output.empty()) producer_[output] = index;
    for (const auto& input : node(index).input())
      if (!input.empty()) readers_[input].push_back(index);
  }
  for (const auto& function : messages.model.functions())
    if (is_onnx_domain(function.domain())) redefined_.insert(function.name());
  for (const CustomOperator& custom : *messages.operators)
    if (is_onnx_domain(custom.domain)) redefined_.insert(custom.type);
  drop_unread();
  drop_known();
}

/// Before anything looks at nodes: nobody has checked those that the graph was made without.
void DraftNodes::drop_unread() {
  std::unordered_set<std::string> read = captured_;
  read.insert(outputs_.begin(), outputs_.end());
  for (int index = count() - 1; index >= 0; --index) {
    const auto& outputs = node(index).output();
    if (!alive(index)) continue;
    if (std::none_of(outputs.begin(), outputs.end(), [&](const auto& name) { return read.contains(name); })) {
      remove(index);
    } else {
      read.insert(node(index).input().begin(), node(index).input().end());
    }
  }
}

void DraftNodes::drop_known() {
  const auto is_known = [&](const std::string& name) {
    return name.empty() || (constant(name) != nullptr && !outputs_.contains(name));
  };
  for (int index = 0; index < count(); ++index) {
    if (!alive(index)) continue;
    const auto& outputs = node(index).output();
    if (std::all_of(outputs.begin(), outputs.end(), is_known)) {
      remove(index);
    } else {
      for (const auto& output : outputs) messages_.constants.erase(output);
    }
  }
}

void DraftNodes::finish() {
  auto& graph = *messages_.model.mutable_graph();
  drop_unread();
  std::unordered_set<std::string> read = captured_;
  read.insert(outputs_.begin(), outputs_.end());
  graph.clear_node();
  for (int index = 0; index < count(); ++index) {
    if (!alive(index)) continue;
    read.insert(node(index).input().begin(), node(index).input().end());
    *graph.add_node() = std::move(node(index));
  }
  const auto kept = messages_.overridable();
  auto& initializers = *graph.mutable_initializer();
  for (int i = initializers.size() - 1; i >= 0; --i)
    if (!kept.contains(initializers.Get(i).name())) initializers.DeleteSubrange(i, 1);
  std::erase_if(messages_.constants,
                [&](const auto& entry) { return !read.contains(entry.first) || producer(entry.first) >= 0; });
}

bool DraftNodes::is(int index, std::string_view op) const {
  const auto& node = nodes_[static_cast<std::size_t>(index)];
  return node.op_type() == op && is_onnx_domain(node.domain()) && !redefined_.contains(node.op_type());
}

int DraftNodes::producer(const std::string& name) const {
  const auto found = producer_.find(name);
  return found == producer_.end() ? -1 : found->second;
}

int DraftNodes::only_for(const std::string& name) const {
  const auto readers = readers_.find(name);
  const bool is_single = readers != readers_.end() && readers->second.size() == 1 && !is_protected(name);
  return is_single ? producer(name) : -1;
}

const Constant* DraftNodes::constant(const std::string& name) const {
  const auto found = messages_.constants.find(name);
  return found == messages_.constants.end() ? nullptr : found->second.get();
}

std::shared_ptr<const Tensor> DraftNodes::tensor(const std::string& name) const {
  const Constant* known = constant(name);
  return known == nullptr ? nullptr : known->tensor();
}

const ValueType* DraftNodes::type(const std::string& name) const {
  const auto found = messages_.types.find(name);
  return found == messages_.types.end() ? nullptr : &found->second;
}

std::optional<std::size_t> DraftNodes::rank(const std::string& name) const {
  const ValueType* known = type(name);
  if (known == nullptr || !known->is_tensor() || !known->shape) return std::nullopt;
  return known->shape->size();
}

bool DraftNodes::same_type(const std::string& a, const std::string& b) const {
  const ValueType *first = type(a), *second = type(b);
  return first != nullptr && second != nullptr && *first == *second && first->is_static();
}

void DraftNodes::unread(const std::string& name, int reader) {
  auto& list = readers_[name];
  const auto at = std::find(list.begin(), list.end(), reader);
  if (at != list.end()) list.erase(at);
}

void DraftNodes::remove(int index) {
  alive_[static_cast<std::size_t>(index)] = false;
  for (const auto& input : node(index).input()) unread(input, index);
  for (const auto& output : node(index).output()) producer_.erase(output);
}

void DraftNodes::redirect(const std::string& old, const std::string& with) {
  for (const int reader : std::exchange(readers_[old], {})) {
    auto& inputs = *node(reader).mutable_input();
    *std::find(inputs.begin(), inputs.end(), old) = with;
    readers_[with].push_back(reader);
  }
}

bool DraftNodes::bypass(int index, const std::string& input) {
  const std::string output = node(index).output(0), from = input;
  if (!is_protected(output)) {
    redirect(output, from);
    remove(index);
    return true;
  }
  const int maker = producer(from);
  if (maker < 0 || is_protected(from) || captured_.contains(output)) return false;
  remove(index);
  redirect(from, output);
  auto& outputs = *node(maker).mutable_output();
  *std::find(outputs.begin(), outputs.end(), from) = output;
  producer_.erase(from);
  producer_[output] = maker;
  return true;
}

void DraftNodes::set_input(int index, int slot, const std::string& name) {
  auto& inputs = *node(index).mutable_input();
  while (inputs.size() <= slot) inputs.Add();
  if (!inputs.Get(slot).empty()) unread(inputs.Get(slot), index);
  *inputs.Mutable(slot) = name;
  if (!name.empty()) readers_[name].push_back(index);
}

void DraftNodes::set_output(int index, const std::string& name) {
  producer_.erase(node(index).output(0));
  *node(index).mutable_output(0) = name;
  producer_[name] = index;
}

std::string DraftNodes::add_constant(const std::string& hint, Tensor tensor) {
  std::string name = hint;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}.{}", hint, i);
  messages_.types[name] = ValueType{tensor.dtype(), tensor.shape()};
  messages_.constants[name] = std::make_shared<const Constant>(std::move(tensor));
  return name;
}

}  // namespace colonnade::onnx_import
