// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "choose.hpp"

namespace colonnade::quantize {
namespace {

Shape shape_of(const Network& network, const std::string& constant) {
  const auto& dims = network.constant_message(constant).dims();
  return {dims.begin(), dims.end()};
}

std::string input_of(const Node& node, int index) { return index < node.input_size() ? node.input(index) : ""; }

/// A product whose bias is an input of its own.
bool take_bias(const Network& network, Product& product) {
  product.bias_node = product.node;
  product.bias_input = 2;
  product.bias = input_of(network.node(product.node), 2);
  return product.bias.empty() || network.is_float_constant(product.bias, product.outputs);
}

std::optional<Product> convolution(const Network& network, Product product, bool transposed) {
  const Node& node = network.node(product.node);
  const Shape shape = shape_of(network, product.weights);
  if (shape.size() < 3) return std::nullopt;
  product.groups = integer_of(node, "group", 1);
  product.output_axis = transposed ? 1 : 0;
  product.input_axis = transposed ? 0 : 1;
  product.outputs = transposed ? shape[1] * product.groups : shape[0];
  if (!take_bias(network, product)) return std::nullopt;
  return product;
}

std::optional<Product> gemm(const Network& network, Product product) {
  const Node& node = network.node(product.node);
  const Shape shape = shape_of(network, product.weights);
  const bool plain = integer_of(node, "transA", 0) == 0 && float_of(node, "alpha", 1) == 1.0F &&
                     float_of(node, "beta", 1) == 1.0F && shape.size() == 2;
  if (!plain) return std::nullopt;
  product.output_axis = integer_of(node, "transB", 0) != 0 ? 0 : 1;
  product.input_axis = 1 - product.output_axis;
  product.outputs = shape[static_cast<std::size_t>(product.output_axis)];
  product.x_axis = -1;
  if (!take_bias(network, product)) return std::nullopt;
  return product;
}

/// Of a MatMul the bias is a constant that the next node adds.
std::optional<Product> matmul(const Network& network, Product product) {
  const Shape shape = shape_of(network, product.weights);
  if (shape.size() != 2) return std::nullopt;
  product.output_axis = 1;
  product.input_axis = 0;
  product.outputs = shape[1];
  product.x_axis = -1;
  const int next = network.only_user(network.node(product.node).output(0));
  if (next < 0 || !is_onnx(network.node(next), "Add")) return product;
  for (int i = 0; i < 2; ++i) {
    const std::string& bias = network.node(next).input(i);
    if (!network.is_float_constant(bias, product.outputs) || shape_of(network, bias).back() != product.outputs)
      continue;
    product.bias = bias;
    product.bias_node = next;
    product.bias_input = i;
  }
  return product;
}

}  // namespace

std::vector<Product> find_products(const Network& network) {
  std::vector<Product> products;
  for (int i = 0; i < network.graph().node_size(); ++i) {
    const Node& node = network.node(i);
    if (node.input_size() < 2 || network.is_constant(node.input(0)) || !network.is_float_constant(node.input(1)))
      continue;
    const Product start{.node = i, .x = node.input(0), .weights = node.input(1)};
    const auto found = is_onnx(node, "Conv")            ? convolution(network, start, false)
                       : is_onnx(node, "ConvTranspose") ? convolution(network, start, true)
                       : is_onnx(node, "Gemm")          ? gemm(network, start)
                       : is_onnx(node, "MatMul")        ? matmul(network, start)
                                                        : std::nullopt;
    if (found && found->outputs > 0) products.push_back(*found);
  }
  return products;
}

std::vector<Product> last_products(const Network& network, const std::vector<Product>& products) {
  std::vector<bool> leads(static_cast<std::size_t>(network.graph().node_size()));
  std::unordered_set<int> by_node;
  for (const Product& product : products) by_node.insert(product.node);
  for (int i = network.graph().node_size() - 1; i >= 0; --i) {
    for (const auto& output : network.node(i).output()) {
      const auto users = network.users.find(output);
      if (output.empty() || users == network.users.end()) continue;
      for (const int user : users->second)
        if (leads[static_cast<std::size_t>(user)] || by_node.contains(user)) leads[static_cast<std::size_t>(i)] = true;
    }
  }
  std::vector<Product> last;
  std::copy_if(products.begin(), products.end(), std::back_inserter(last),
               [&](const Product& product) { return !leads[static_cast<std::size_t>(product.node)]; });
  return last;
}

}  // namespace colonnade::quantize
