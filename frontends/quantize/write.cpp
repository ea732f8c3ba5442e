// SPDX-License-Identifier: Apache-2.0
#include "write.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "weights.hpp"

namespace colonnade::quantize {
namespace {

constexpr double kLargestBias = 1 << 30;

template <class T>
Tensor tensor_of(DType dtype, Shape shape, std::span<const T> values) {
  Tensor tensor(dtype, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.values<T>().begin());
  return tensor;
}

Shape shape_of_scales(const ByteWeights& weights) {
  return weights.axis < 0 ? Shape{} : Shape{static_cast<std::int64_t>(weights.scales.size())};
}

/// DequantizeLinear of new constants.
std::string write_constant(Network& network, const std::string& name, const Tensor& values,
                           std::span<const float> scales, const Shape& shape, int axis, std::vector<Node>& nodes) {
  const std::array<std::string, 3> inputs = {network.add_constant(name + "_quantized", values),
                                             network.add_constant(name + "_scale", floats_of(scales, shape)),
                                             network.add_constant(name + "_zero_point", Tensor(values.dtype(), shape))};
  Node node = make_node("DequantizeLinear", network.fresh_name(name + "_DequantizeLinear"), inputs,
                        network.fresh_name(name + "_dequantized"));
  if (!shape.empty()) set_integer(node, "axis", axis);
  nodes.push_back(node);
  return node.output(0);
}

std::vector<double> bias_of(const Network& network, const Product& product, const std::vector<double>& correction) {
  std::vector<double> bias = correction;
  if (product.bias.empty()) return bias;
  bias.resize(static_cast<std::size_t>(product.outputs));
  const Tensor given = network.constant_value(product.bias);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += static_cast<double>(given.values<float>()[i]);
  return bias;
}

/// By output channel, the scale of the weights: the same for all where they have one.
float scale_of(const ByteWeights& weights, std::size_t output) {
  return weights.scales[output % weights.scales.size()];
}

std::string write_bias(Network& network, const std::string& name, std::span<const double> bias, Bytes x,
                       const ByteWeights& weights, std::vector<Node>& nodes) {
  std::vector<float> scales;
  std::vector<std::int32_t> integers;
  for (std::size_t i = 0; i < bias.size(); ++i) {
    scales.push_back(x.scale * scale_of(weights, i));
    integers.push_back(static_cast<std::int32_t>(
        std::clamp(std::nearbyint(bias[i] / static_cast<double>(scales.back())), -kLargestBias, kLargestBias)));
  }
  const Shape shape{static_cast<std::int64_t>(bias.size())};
  return write_constant(network, name, tensor_of<std::int32_t>(DType::i32, shape, integers), scales, shape, 0, nodes);
}

/// The node reads other tensors, by input.
void replace_inputs(Node& node, const std::unordered_map<std::string, std::string>& by) {
  for (auto& input : *node.mutable_input())
    if (const auto found = by.find(input); found != by.end()) input = found->second;
}

void set_input(Node& node, int index, const std::string& tensor) {
  while (node.input_size() <= index) node.add_input("");
  node.set_input(index, tensor);
}

/// Puts a network's nodes one after another, with more between them.
class Writer {
 public:
  Writer(const Network& network, const Scheme& scheme, const std::vector<Product>& products,
         const Calibration& calibration)
      : from_(network), to_(network), scheme_(scheme), calibration_(calibration) {
    to_.graph().clear_node();
    for (const Product& product : products) by_node_[product.node] = &product;
    for (const Product& product : products)
      if (product.bias_node != product.node) by_bias_node_[product.bias_node] = &product;
    stored_.insert(scheme.stored.begin(), scheme.stored.end());
  }

  Network run() {
    for (const std::string& tensor : scheme_.stored)
      if (!from_.producer.contains(tensor)) store(tensor);
    for (int i = 0; i < from_.graph().node_size(); ++i) add(i);
    drop_unused_constants(to_);
    return std::move(to_);
  }

 private:
  void push(std::vector<Node> nodes) {
    for (Node& node : nodes) to_.graph().add_node()->Swap(&node);
  }

  void store(const std::string& tensor) {
    std::vector<Node> nodes;
    dequantised_[tensor] = write_bytes(to_, tensor, calibration_.bytes.at(scheme_.same_as(tensor)), nodes);
    push(std::move(nodes));
  }

  bool is_quantised(int node) const { return scheme_.quantised[static_cast<std::size_t>(node)]; }

  /// A node in float32 reads what a node in float32 made as it is.
  std::unordered_map<std::string, std::string> read_by(int index) const {
    std::unordered_map<std::string, std::string> by;
    for (const auto& input : from_.node(index).input()) {
      const auto found = dequantised_.find(input);
      if (found == dequantised_.end()) continue;
      const auto made = from_.producer.find(input);
      const bool made_of_bytes = made != from_.producer.end() && is_quantised(made->second);
      if (is_quantised(index) || made_of_bytes) by.insert(*found);
    }
    return by;
  }

  std::vector<double> correction_of(int product) const {
    const auto found = calibration_.corrections.find(product);
    return found == calibration_.corrections.end() ? std::vector<double>{} : found->second;
  }

  void add(int index) {
    Node node = from_.node(index);
    const auto by = read_by(index);
    const auto product = by_node_.find(index);
    if (product != by_node_.end() && is_quantised(index)) {
      const Bytes x = calibration_.bytes.at(scheme_.same_as(product->second->x));
      WrittenProduct written = write_product(to_, *product->second, x, correction_of(index));
      push(std::move(written.nodes));
      node.set_input(1, written.weights);
      if (!written.bias.empty()) set_input(node, 2, written.bias);
    }
    if (const auto host = by_bias_node_.find(index); host != by_bias_node_.end() && is_quantised(index))
      correct_bias(node, *host->second);
    replace_inputs(node, by);
    push({node});
    for (const auto& output : from_.node(index).output())
      if (stored_.contains(output)) store(output);
  }

  void correct_bias(Node& node, const Product& product) {
    const std::vector<double> correction = correction_of(product.node);
    if (correction.empty()) return;
    const std::vector<double> bias = bias_of(from_, product, correction);
    const Tensor value = floats_of(std::vector<float>(bias.begin(), bias.end()), {product.outputs});
    node.set_input(product.bias_input, to_.add_constant(product.bias + "_corrected", value));
  }

  const Network& from_;
  Network to_;
  const Scheme& scheme_;
  const Calibration& calibration_;
  std::unordered_map<int, const Product*> by_node_, by_bias_node_;
  std::unordered_set<std::string> stored_;
  std::unordered_map<std::string, std::string> dequantised_;  ///< by stored tensor
};

}  // namespace

WrittenProduct write_product(Network& network, const Product& product, Bytes x, const std::vector<double>& correction) {
  const bool own_bias = product.bias_node == product.node && product.bias_input >= 0;
  const std::vector<double> bias = own_bias ? bias_of(network, product, correction) : std::vector<double>{};
  std::vector<float> least;
  for (const double b : bias)
    least.push_back(static_cast<float>(std::abs(b) / static_cast<double>(x.scale) / kLargestBias));
  const ByteWeights bytes = bytes_of_weights(network.constant_value(product.weights), product, least);
  WrittenProduct written;
  written.weights = write_constant(network, product.weights, bytes.values, bytes.scales, shape_of_scales(bytes),
                                   bytes.axis, written.nodes);
  const std::string name = product.bias.empty() ? product.weights + "_bias" : product.bias;
  if (!bias.empty()) written.bias = write_bias(network, name, bias, x, bytes, written.nodes);
  return written;
}

WrittenProduct write_weights(Network& network, const Product& product) {
  const ByteWeights bytes = bytes_of_weights(network.constant_value(product.weights), product, {});
  WrittenProduct written;
  written.weights = write_constant(network, product.weights, bytes.values, bytes.scales, shape_of_scales(bytes),
                                   bytes.axis, written.nodes);
  return written;
}

std::string write_bytes(Network& network, const std::string& tensor, Bytes bytes, std::vector<Node>& nodes) {
  const std::string scale = network.add_constant(tensor + "_scale", floats_of(std::array{bytes.scale}, {}));
  const std::string zero =
      network.add_constant(tensor + "_zero_point", tensor_of<std::uint8_t>(DType::u8, {}, std::array{bytes.zero}));
  const std::string quantised = network.fresh_name(tensor + "_quantized");
  const std::string dequantised = network.fresh_name(tensor + "_dequantized");
  nodes.push_back(make_node("QuantizeLinear", network.fresh_name(tensor + "_QuantizeLinear"),
                            std::array{tensor, scale, zero}, quantised));
  nodes.push_back(make_node("DequantizeLinear", network.fresh_name(tensor + "_DequantizeLinear"),
                            std::array{quantised, scale, zero}, dequantised));
  return dequantised;
}

Network write_network(const Network& network, const Scheme& scheme, const std::vector<Product>& products,
                      const Calibration& calibration) {
  return Writer(network, scheme, products, calibration).run();
}

}  // namespace colonnade::quantize
