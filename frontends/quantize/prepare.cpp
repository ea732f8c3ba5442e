// SPDX-License-Identifier: Apache-2.0
#include "prepare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "choose.hpp"
#include "probe.hpp"

namespace colonnade::quantize {
namespace {

constexpr std::array<std::string_view, 9> kLeftAlone = {
    "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli",
    "Expand",       "Tile",          "ConstantOfShape"};

/// Nodes that read nothing but constants, by the main graph's order.
std::vector<bool> constant_nodes(const Network& network) {
  std::vector<bool> found;
  const auto is_known = [&](const std::string& tensor) {
    if (tensor.empty() || network.is_constant(tensor)) return true;
    const auto made = network.producer.find(tensor);
    return made != network.producer.end() && found[static_cast<std::size_t>(made->second)];
  };
  for (const Node& node : network.graph().node()) {
    bool known = is_onnx(node, node.op_type()) && node.output_size() > 0 &&
                 std::find(kLeftAlone.begin(), kLeftAlone.end(), node.op_type()) == kLeftAlone.end();
    for (const auto& input : node.input()) known = known && is_known(input);
    for (const auto& output : node.output()) known = known && !network.outputs.contains(output);
    for (const auto& attribute : node.attribute())
      known = known && !attribute.has_g() && attribute.graphs_size() == 0 && !attribute.has_sparse_tensor();
    found.push_back(known);
  }
  return found;
}

/// y * factors + terms by output channel.
struct Affine {
  std::vector<double> factors, terms;
};

std::vector<double> numbers(const Network& network, const std::string& constant, std::int64_t count) {
  const Tensor tensor = network.constant_value(constant);
  const auto values = tensor.values<float>();
  std::vector<double> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<double>(values[values.size() == 1 ? 0 : i]);
  return result;
}

/// One number, or one for each output channel and along their axis.
bool is_by_channel(const Network& network, const Product& product, const std::string& tensor) {
  if (!network.is_float_constant(tensor)) return false;
  const auto& dims = network.constant_message(tensor).dims();
  const std::int64_t count = element_count(Shape(dims.begin(), dims.end()));
  if (count == 1) return dims.size() <= 1;
  const int from_end = product.x_axis < 0 ? 1 : network.constant_message(product.weights).dims_size() - 1;
  return count == product.outputs && dims.size() >= from_end && dims[dims.size() - from_end] == count;
}

std::optional<Affine> normalisation(const Network& network, const Product& product, const Node& node) {
  if (!is_onnx(node, "BatchNormalization") || node.input_size() != 5 || integer_of(node, "training_mode", 0) != 0)
    return std::nullopt;
  for (int i = 1; i < 5; ++i)
    if (!network.is_float_constant(node.input(i), product.outputs)) return std::nullopt;
  Affine affine{numbers(network, node.input(1), product.outputs), numbers(network, node.input(2), product.outputs)};
  const std::vector<double> means = numbers(network, node.input(3), product.outputs);
  const std::vector<double> variances = numbers(network, node.input(4), product.outputs);
  const double epsilon = static_cast<double>(float_of(node, "epsilon", 1e-5F));
  for (std::size_t i = 0; i < means.size(); ++i) {
    affine.factors[i] /= std::sqrt(variances[i] + epsilon);
    affine.terms[i] -= means[i] * affine.factors[i];
  }
  return affine;
}

std::optional<Affine> affine_of(const Network& network, const Product& product, const Node& node) {
  if (auto found = normalisation(network, product, node)) return found;
  const bool adds = is_onnx(node, "Add"), multiplies = is_onnx(node, "Mul");
  if (!adds && !multiplies) return std::nullopt;
  const int constant = network.is_constant(node.input(1)) ? 1 : 0;
  if (!is_by_channel(network, product, node.input(constant))) return std::nullopt;
  const std::vector<double> values = numbers(network, node.input(constant), product.outputs);
  const std::vector<double> ones(values.size(), 1), zeros(values.size(), 0);
  return adds ? Affine{ones, values} : Affine{values, zeros};
}

/// Whether the bias is an input of the product's own node, where the affine's terms can go.
bool takes_affine(const Product& product) { return product.bias_node == product.node && product.bias_input >= 0; }

void fold_into(Network& network, const Product& product, const Affine& affine) {
  Tensor weights = network.constant_value(product.weights);
  std::size_t inner = 1;
  const Shape shape = weights.shape();
  for (std::size_t d = static_cast<std::size_t>(product.output_axis) + 1; d < shape.size(); ++d)
    inner *= static_cast<std::size_t>(shape[d]);
  const auto a_group = static_cast<std::size_t>(shape[static_cast<std::size_t>(product.output_axis)]);
  const std::size_t group = static_cast<std::size_t>(weights.size()) / static_cast<std::size_t>(product.groups);
  const auto values = weights.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t of_transposed = product.input_axis == 0 ? i / std::max<std::size_t>(group, 1) * a_group : 0;
    const std::size_t output = i / inner % a_group + of_transposed;
    values[i] = static_cast<float>(static_cast<double>(values[i]) * affine.factors[output]);
  }
  std::vector<double> bias(static_cast<std::size_t>(product.outputs));
  if (!product.bias.empty()) bias = numbers(network, product.bias, product.outputs);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * affine.factors[i] + affine.terms[i];
  const Tensor terms = floats_of(std::vector<float>(bias.begin(), bias.end()), {product.outputs});
  Node& node = *network.graph().mutable_node(product.node);
  node.set_input(1, network.add_constant(product.weights + "_folded", weights));
  while (node.input_size() <= product.bias_input) node.add_input("");
  node.set_input(product.bias_input, network.add_constant(product.weights + "_folded_bias", terms));
}

void remove_nodes(Network& network, const std::vector<bool>& removed) {
  onnx::GraphProto left;
  for (int i = 0; i < network.graph().node_size(); ++i)
    if (!removed[static_cast<std::size_t>(i)]) left.add_node()->Swap(network.graph().mutable_node(i));
  left.mutable_node()->Swap(network.graph().mutable_node());
  drop_unused_constants(network);
}

}  // namespace

void fold_constants(Network& network) {
  const std::vector<bool> folded = constant_nodes(network);
  Network apart;
  *apart.model.mutable_opset_import() = network.model.opset_import();
  apart.model.set_ir_version(network.model.ir_version());
  apart.graph().set_name("constants");
  *apart.graph().mutable_initializer() = network.graph().initializer();
  std::vector<std::string> wanted;
  for (int i = 0; i < network.graph().node_size(); ++i) {
    if (!folded[static_cast<std::size_t>(i)]) continue;
    *apart.graph().add_node() = network.node(i);
    for (const auto& output : network.node(i).output()) {
      const auto users = network.users.find(output);
      if (output.empty() || users == network.users.end()) continue;
      const auto stays = [&](int user) { return !folded[static_cast<std::size_t>(user)]; };
      if (std::any_of(users->second.begin(), users->second.end(), stays)) wanted.push_back(output);
    }
  }
  if (wanted.empty()) return;
  drop_unused_constants(apart);
  const std::vector<Tensor> values = Probe(apart, wanted, 1).run({});
  for (std::size_t i = 0; i < wanted.size(); ++i)
    network.graph().add_initializer()->ParseFromString(values[i].to_onnx(wanted[i]));
  remove_nodes(network, folded);
}

void fold_affine(Network& network) {
  bool changed = true;
  while (changed) {
    changed = false;
    std::vector<bool> removed(static_cast<std::size_t>(network.graph().node_size()));
    for (const Product& product : find_products(network)) {
      const int next = network.only_user(network.node(product.node).output(0));
      if (next < 0 || !takes_affine(product)) continue;
      const auto affine = affine_of(network, product, network.node(next));
      if (!affine) continue;
      fold_into(network, product, *affine);
      network.graph().mutable_node(product.node)->set_output(0, network.node(next).output(0));
      removed[static_cast<std::size_t>(next)] = true;
      changed = true;
    }
    remove_nodes(network, removed);
  }
}

}  // namespace colonnade::quantize
