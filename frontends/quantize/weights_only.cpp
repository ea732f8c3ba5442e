// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "weights.hpp"
#include "write.hpp"

namespace colonnade::quantize {
namespace {

constexpr const char* kMicrosoft = "com.microsoft";

void import_microsoft(onnx::ModelProto& model) {
  for (const auto& import : model.opset_import())
    if (import.domain() == kMicrosoft) return;
  auto* import = model.add_opset_import();
  import->set_domain(kMicrosoft);
  import->set_version(1);
}

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor result(DType::f32, {columns, rows});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      result.values<float>()[static_cast<std::size_t>(c * rows + r)] =
          matrix.values<float>()[static_cast<std::size_t>(r * columns + c)];
  return result;
}

/// MatMulNBits, and an Add where a Gemm has a bias.
std::vector<Node> write_nibbles(Network& network, const Product& product, std::int64_t accuracy_level) {
  const Node& before = network.node(product.node);
  const NibbleWeights nibbles = nibbles_of(matrix_of(network, product));
  const std::string bias = product.bias_node == product.node ? product.bias : "";
  const std::string output = before.output(0);
  const std::string sum = bias.empty() ? output : network.fresh_name(output + "_product");
  const std::array<std::string, 3> inputs = {product.x,
                                             network.add_constant(product.weights + "_quantized", nibbles.packed),
                                             network.add_constant(product.weights + "_scale", nibbles.scales)};
  Node node = make_node("MatMulNBits", name_of_node(before), inputs, sum);
  node.set_domain(kMicrosoft);
  set_integer(node, "K", element_count(network.constant_value(product.weights).shape()) / product.outputs);
  set_integer(node, "N", product.outputs);
  set_integer(node, "bits", 4);
  set_integer(node, "block_size", NibbleWeights::kBlock);
  set_integer(node, "accuracy_level", accuracy_level);
  std::vector<Node> nodes{node};
  if (!bias.empty())
    nodes.push_back(make_node("Add", network.fresh_name(output + "_bias"), std::array{sum, bias}, output));
  return nodes;
}

}  // namespace

Tensor matrix_of(const Network& network, const Product& product) {
  Tensor weights = network.constant_value(product.weights);
  return product.output_axis == 1 ? weights : transposed(weights);
}

Network write_weights_only(const Network& network, const std::vector<Product>& products, bool four_bits,
                           std::int64_t accuracy_level) {
  Network written = network;
  std::unordered_map<int, const Product*> by_node;
  for (const Product& product : products) by_node[product.node] = &product;
  onnx::GraphProto nodes;
  for (int i = 0; i < network.graph().node_size(); ++i) {
    const auto product = by_node.find(i);
    Node node = network.node(i);
    if (product != by_node.end() && four_bits && takes_nibbles(*product->second)) {
      for (Node& each : write_nibbles(written, *product->second, accuracy_level)) nodes.add_node()->Swap(&each);
      import_microsoft(written.model);
      continue;
    }
    if (product != by_node.end()) {
      WrittenProduct weights = write_weights(written, *product->second);
      for (Node& each : weights.nodes) nodes.add_node()->Swap(&each);
      node.set_input(1, weights.weights);
    }
    nodes.add_node()->Swap(&node);
  }
  written.graph().mutable_node()->Swap(nodes.mutable_node());
  drop_unused_constants(written);
  return written;
}

}  // namespace colonnade::quantize
