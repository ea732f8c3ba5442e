// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "probe.hpp"
#include "quantize.hpp"

namespace colonnade::quantize {
namespace {

constexpr std::size_t kTensorsARun = 16;

/// Tensors of float32 that nodes make.
std::vector<LayerError> layers_of(Network& network, const Options& options) {
  std::vector<LayerError> made, floats;
  std::vector<std::string> names;
  for (const Node& node : network.graph().node())
    for (const std::string& tensor : node.output())
      if (!tensor.empty()) {
        made.push_back({name_of_node(node), node.op_type(), tensor});
        names.push_back(tensor);
      }
  const Probe probe(network, names, options);
  const std::span<const TensorInfo> infos = probe.model().outputs();
  for (std::size_t i = 0; i < made.size(); ++i)
    if (infos[i].dtype == DType::f32 && infos[i].containers.empty()) floats.push_back(std::move(made[i]));
  return floats;
}

void compare(const Tensor& found, const Tensor& expected, LayerError& layer) {
  const std::span<const float> actual = found.values<float>(), wanted = expected.values<float>();
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double value = static_cast<double>(wanted[i]), error = std::abs(static_cast<double>(actual[i]) - value);
    if (!std::isfinite(error)) continue;
    layer.largest_value = std::max(layer.largest_value, std::abs(value));
    layer.largest = std::max(layer.largest, error);
    sum += error;
    ++count;
  }
  layer.mean = sum / static_cast<double>(std::max<std::size_t>(count, 1));
}

}  // namespace

std::vector<LayerError> layer_errors(const std::string& path, std::span<const Tensor> inputs, const Options& options,
                                     const Options& expected) {
  Network network = read_network(path);
  std::vector<LayerError> layers = layers_of(network, options);
  for (std::size_t first = 0; first < layers.size(); first += kTensorsARun) {
    const std::size_t end = std::min(first + kTensorsARun, layers.size());
    std::vector<std::string> names;
    for (std::size_t i = first; i < end; ++i) names.push_back(layers[i].tensor);
    const std::vector<Tensor> found = Probe(network, names, options).run(inputs);
    const std::vector<Tensor> wanted = Probe(network, names, expected).run(inputs);
    for (std::size_t i = first; i < end; ++i) compare(found[i - first], wanted[i - first], layers[i]);
  }
  return layers;
}

}  // namespace colonnade::quantize
