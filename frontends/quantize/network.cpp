// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace colonnade::quantize {
namespace {

constexpr std::size_t kMostBytes = (std::size_t{1} << 31) - 1;  ///< of a message

template <class Visit>
void visit_bodies(const Node& node, const Visit& visit) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const auto& graph : attribute.graphs()) visit(graph);
  }
}

/// All names that a body and the bodies within read.
void collect_reads(const onnx::GraphProto& body, std::unordered_set<std::string>& names) {
  for (const auto& output : body.output()) names.insert(output.name());
  for (const Node& node : body.node()) {
    names.insert(node.input().begin(), node.input().end());
    visit_bodies(node, [&](const onnx::GraphProto& inner) { collect_reads(inner, names); });
  }
}

std::string bytes_of_part(const std::filesystem::path& file, std::uint64_t offset, std::uint64_t length) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes(length, '\0');
  in.seekg(static_cast<std::streamoff>(offset));
  if (!in.read(bytes.data(), static_cast<std::streamsize>(length)))
    throw Error(ErrorCode::io, fmt::format("'{}': cannot read {} bytes at {}", file.string(), length, offset));
  return bytes;
}

/// The engine has loaded the model before: location, offset and length are what it accepts.
void make_internal(onnx::TensorProto& tensor, const std::filesystem::path& folder, std::size_t& total) {
  if (tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
  std::string location;
  std::uint64_t offset = 0, length = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::stoull(entry.value());
    if (entry.key() == "length") length = std::stoull(entry.value());
  }
  const std::filesystem::path file = folder / location;
  if (length == 0) length = std::filesystem::file_size(file) - offset;
  total += length;
  if (total > kMostBytes)
    throw Error(ErrorCode::unsupported, "models with more than 2 GiB of weights cannot be quantised");
  tensor.set_raw_data(bytes_of_part(file, offset, length));
  tensor.clear_external_data();
  tensor.set_data_location(onnx::TensorProto::DEFAULT);
}

void make_internal(onnx::GraphProto& graph, const std::filesystem::path& folder, std::size_t& total) {
  for (auto& tensor : *graph.mutable_initializer()) make_internal(tensor, folder, total);
  for (Node& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) make_internal(*attribute.mutable_t(), folder, total);
      if (attribute.has_g()) make_internal(*attribute.mutable_g(), folder, total);
      for (auto& body : *attribute.mutable_graphs()) make_internal(body, folder, total);
    }
  }
}

/// Nodes after those whose outputs they read, otherwise in their order.
void sort_nodes(Network& network) {
  auto& nodes = *network.graph().mutable_node();
  std::vector<int> waits(static_cast<std::size_t>(nodes.size())), ready, order;
  for (const auto& [tensor, users] : network.users)
    if (network.producer.contains(tensor))
      for (const int user : users) ++waits[static_cast<std::size_t>(user)];
  for (int i = nodes.size() - 1; i >= 0; --i)
    if (waits[static_cast<std::size_t>(i)] == 0) ready.push_back(i);
  while (!ready.empty()) {
    std::sort(ready.begin(), ready.end(), std::greater<>());
    order.push_back(ready.back());
    ready.pop_back();
    for (const auto& output : nodes[order.back()].output()) {
      const auto users = network.users.find(output);
      if (output.empty() || users == network.users.end()) continue;
      for (const int user : users->second)
        if (--waits[static_cast<std::size_t>(user)] == 0) ready.push_back(user);
    }
  }
  onnx::GraphProto sorted;
  for (const int i : order) sorted.add_node()->Swap(&nodes[i]);
  nodes.Swap(sorted.mutable_node());
}

void add_use(Network& network, const std::string& tensor, int node) {
  auto& users = network.users[tensor];
  if (users.empty() || users.back() != node) users.push_back(node);
}

}  // namespace

void Network::index() {
  producer.clear(), users.clear(), constant.clear(), outputs.clear();
  for (int i = 0; i < graph().initializer_size(); ++i) constant[graph().initializer(i).name()] = i;
  for (const auto& output : graph().output()) outputs.insert(output.name());
  for (int i = 0; i < graph().node_size(); ++i) {
    for (const auto& output : node(i).output())
      if (!output.empty()) producer[output] = i;
    for (const auto& input : node(i).input())
      if (!input.empty()) add_use(*this, input, i);
    std::unordered_set<std::string> reads;
    visit_bodies(node(i), [&](const onnx::GraphProto& body) { collect_reads(body, reads); });
    for (const auto& name : reads) add_use(*this, name, i);
    outputs.insert(reads.begin(), reads.end());
  }
  for (const auto& input : graph().input()) names_.insert(input.name());
  for (const auto& [name, at] : constant) names_.insert(name);
  for (const auto& [name, at] : producer) names_.insert(name);
  names_.insert(outputs.begin(), outputs.end());
}

int Network::only_user(const std::string& tensor) const {
  const auto found = users.find(tensor);
  const bool one = found != users.end() && found->second.size() == 1 && !outputs.contains(tensor);
  return one ? found->second[0] : -1;
}

Tensor Network::constant_value(const std::string& tensor) const {
  const std::string bytes = constant_message(tensor).SerializeAsString();
  return Tensor::from_onnx(std::as_bytes(std::span(bytes)));
}

bool Network::is_float_constant(const std::string& tensor, std::int64_t elements) const {
  if (!is_constant(tensor)) return false;
  const auto& message = constant_message(tensor);
  if (message.data_type() != onnx::TensorProto::FLOAT) return false;
  return elements < 0 || element_count(Shape(message.dims().begin(), message.dims().end())) == elements;
}

std::string Network::add_constant(const std::string& name, const Tensor& value) {
  const std::string taken = fresh_name(name);
  constant[taken] = graph().initializer_size();
  graph().add_initializer()->ParseFromString(value.to_onnx(taken));
  return taken;
}

std::string Network::fresh_name(const std::string& name) {
  std::string wanted = name;
  for (int i = 2; !names_.insert(wanted).second; ++i) wanted = fmt::format("{}_{}", name, i);
  return wanted;
}

std::int64_t Network::opset() const {
  for (const auto& import : model.opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  return 1;
}

Network read_network(const std::string& path) {
  Options options;
  options.threads = 1;
  const Model checked = Model::load(path, options);
  Network network;
  std::ifstream in(path, std::ios::binary);
  if (!network.model.ParseFromIstream(&in))
    throw Error(ErrorCode::invalid_model, fmt::format("'{}': no ONNX model", path));
  std::size_t total = 0;
  make_internal(network.graph(), std::filesystem::path(path).parent_path(), total);
  network.index();
  sort_nodes(network);
  network.index();
  return network;
}

std::string bytes_of(const onnx::ModelProto& model) {
  if (model.ByteSizeLong() > kMostBytes)
    throw Error(ErrorCode::unsupported,
                fmt::format("the model takes {} bytes, more than an ONNX file may have (2 GiB)", model.ByteSizeLong()));
  return model.SerializeAsString();
}

void drop_unused_constants(Network& network) {
  network.index();
  std::unordered_set<std::string> unused;
  onnx::GraphProto left;
  for (auto& tensor : *network.graph().mutable_initializer()) {
    const bool used = network.users.contains(tensor.name()) || network.outputs.contains(tensor.name());
    if (used)
      left.add_initializer()->Swap(&tensor);
    else
      unused.insert(tensor.name());
  }
  network.graph().mutable_initializer()->Swap(left.mutable_initializer());
  auto& inputs = *network.graph().mutable_input();
  for (int i = inputs.size() - 1; i >= 0; --i)
    if (unused.contains(inputs[i].name())) inputs.DeleteSubrange(i, 1);
  network.index();
}

const std::string& name_of_node(const Node& node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
}

const onnx::AttributeProto* attribute_of(const Node& node, std::string_view name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

std::int64_t integer_of(const Node& node, std::string_view name, std::int64_t otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute ? attribute->i() : otherwise;
}

float float_of(const Node& node, std::string_view name, float otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute ? attribute->f() : otherwise;
}

std::string text_of(const Node& node, std::string_view name, std::string_view otherwise) {
  const auto* attribute = attribute_of(node, name);
  return attribute ? attribute->s() : std::string(otherwise);
}

std::vector<std::int64_t> integers_of(const Node& node, std::string_view name) {
  const auto* attribute = attribute_of(node, name);
  if (!attribute) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

void set_integer(Node& node, const std::string& name, std::int64_t value) {
  remove_attribute(node, name);
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void remove_attribute(Node& node, std::string_view name) {
  auto& attributes = *node.mutable_attribute();
  for (int i = attributes.size() - 1; i >= 0; --i)
    if (attributes[i].name() == name) attributes.DeleteSubrange(i, 1);
}

bool is_onnx(const Node& node, std::string_view op) {
  return node.op_type() == op && (node.domain().empty() || node.domain() == "ai.onnx");
}

Node make_node(const std::string& op, const std::string& name, std::span<const std::string> inputs,
               const std::string& output) {
  Node node;
  node.set_op_type(op);
  node.set_name(name);
  for (const auto& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

Tensor floats_of(std::span<const float> values, Shape shape) {
  Tensor tensor(DType::f32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}

}  // namespace colonnade::quantize
