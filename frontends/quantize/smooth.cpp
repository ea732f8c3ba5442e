// SPDX-License-Identifier: Apache-2.0
#include "smooth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "probe.hpp"
#include "write.hpp"

namespace colonnade::quantize {
namespace {

constexpr std::array<double, 3> kExponents = {0.25, 0.5, 0.75};
constexpr double kStepsOfWeights = 254, kStepsOfActivations = 255;
constexpr double kWorthIt = 0.9;  ///< of the noise without: what it must fall to

/// One number for each of so many channels along the last axis.
bool is_by_last_axis(const Network& network, const std::string& tensor, std::int64_t channels) {
  if (!network.is_float_constant(tensor, channels)) return false;
  const auto& dims = network.constant_message(tensor).dims();
  return !dims.empty() && dims[dims.size() - 1] == channels;
}

/// The input of a Mul or Add that is such a constant; -1 for none.
int constant_input(const Network& network, const Node& node, std::int64_t channels) {
  if (node.input_size() != 2) return -1;
  for (int i = 0; i < 2; ++i)
    if (is_by_last_axis(network, node.input(i), channels) && !network.is_constant(node.input(1 - i))) return i;
  return -1;
}

bool is_norm(const Node& node) {
  return is_onnx(node, "LayerNormalization") || is_onnx(node, "RMSNormalization") ||
         is_onnx(node, "SimplifiedLayerNormalization");
}

/// Over the last axis: the scale has no other one.
std::vector<Place> places_of_norm(const Network& network, int index, std::int64_t channels) {
  const Node& node = network.node(index);
  std::vector<Place> places;
  for (int i = 1; i < node.input_size(); ++i) {
    if (node.input(i).empty()) continue;
    if (!is_by_last_axis(network, node.input(i), channels)) return {};
    places.push_back({index, i});
  }
  return places;
}

/// Of a norm in single nodes: scaled by a Mul, perhaps shifted by an Add behind it.
std::vector<Place> places_of_steps(const Network& network, int index, std::int64_t channels) {
  const Node& node = network.node(index);
  const int constant = constant_input(network, node, channels);
  if (constant < 0) return {};
  if (is_onnx(node, "Mul")) return {{index, constant}};
  const std::string& scaled = node.input(1 - constant);
  const auto producer = network.producer.find(scaled);
  if (!is_onnx(node, "Add") || producer == network.producer.end() || network.only_user(scaled) != index) return {};
  const Node& scale = network.node(producer->second);
  const int factor = is_onnx(scale, "Mul") ? constant_input(network, scale, channels) : -1;
  if (factor < 0) return {};
  return {{producer->second, factor}, {index, constant}};
}

std::vector<Place> places_of(const Network& network, const std::string& tensor, std::int64_t channels) {
  const auto producer = network.producer.find(tensor);
  if (producer == network.producer.end() || network.outputs.contains(tensor)) return {};
  const Node& node = network.node(producer->second);
  if (node.output(0) != tensor) return {};
  return is_norm(node) ? places_of_norm(network, producer->second, channels)
                       : places_of_steps(network, producer->second, channels);
}

std::int64_t channels_read(const Network& network, const Product& product) {
  return network.constant_message(product.weights).dims(product.input_axis);
}

float largest_of_row(const std::vector<Tensor>& weights, std::size_t row) {
  float largest = 0;
  for (const Tensor& matrix : weights) {
    const auto columns = static_cast<std::size_t>(matrix.shape()[1]);
    for (const float value : matrix.values<float>().subspan(row * columns, columns))
      largest = std::max(largest, std::abs(value));
  }
  return largest;
}

std::vector<float> factors_of(const Channels& channels, const std::vector<Tensor>& weights, double exponent) {
  std::vector<float> factors(channels.largest.size(), 1);
  for (std::size_t c = 0; c < factors.size(); ++c) {
    const double x = static_cast<double>(channels.largest[c]), w = static_cast<double>(largest_of_row(weights, c));
    if (x < 1e-20 || w < 1e-20) continue;
    factors[c] = static_cast<float>(std::pow(x, exponent) / std::pow(w, 1 - exponent));
  }
  return factors;
}

/// Of a matrix' outputs, in all: each operand's roundings, a twelfth of its squared step, times the other's squares.
/// The activations' step is that of bytes over the largest channel, a weight's that of its output.
double noise_of(const Channels& channels, const Tensor& matrix, std::span<const float> factors, double step) {
  const auto rows = static_cast<std::size_t>(matrix.shape()[0]), columns = static_cast<std::size_t>(matrix.shape()[1]);
  std::vector<double> squares(columns), largest(columns);
  double of_inputs = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const double factor = static_cast<double>(factors[r]);
    of_inputs += channels.squares[r] / (factor * factor);
    const auto row = matrix.values<float>().subspan(r * columns, columns);
    for (std::size_t c = 0; c < columns; ++c) {
      const double value = std::abs(static_cast<double>(row[c]) * factor);
      squares[c] += value * value;
      largest[c] = std::max(largest[c], value);
    }
  }
  double noise = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    const double of_weight = 2 * largest[c] / kStepsOfWeights;
    noise += step * step * squares[c] + of_weight * of_weight * of_inputs;
  }
  return noise / 12;
}

double noise_of(const Channels& channels, const std::vector<Tensor>& weights, std::span<const float> factors) {
  double largest = 0;
  for (std::size_t c = 0; c < factors.size(); ++c)
    largest = std::max(largest, static_cast<double>(channels.largest[c] / factors[c]));
  double noise = 0;
  for (const Tensor& matrix : weights) noise += noise_of(channels, matrix, factors, 2 * largest / kStepsOfActivations);
  return noise;
}

void divide(Network& network, const Place& place, std::span<const float> factors) {
  Node& node = *network.graph().mutable_node(place.node);
  Tensor values = network.constant_value(node.input(place.input));
  for (std::size_t c = 0; c < factors.size(); ++c) values.values<float>()[c] /= factors[c];
  node.set_input(place.input, network.add_constant(node.input(place.input) + "_smooth", values));
}

void multiply(Network& network, const Product& product, std::span<const float> factors) {
  Tensor weights = network.constant_value(product.weights);
  const auto columns = static_cast<std::size_t>(weights.shape()[1]);
  const auto values = weights.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] *= factors[product.input_axis == 0 ? i / columns : i % columns];
  network.graph().mutable_node(product.node)->set_input(1, network.add_constant(product.weights + "_smooth", weights));
}

Channels channels_of(const Statistics& statistics) {
  Channels channels{statistics.largest, statistics.squares};
  const auto count = static_cast<double>(std::max<std::uint64_t>(statistics.elements_a_channel, 1));
  for (double& square : channels.squares) square /= count;
  return channels;
}

}  // namespace

std::vector<Norm> find_norms(const Network& network) {
  const std::vector<Product> products = find_products(network);
  std::vector<Norm> norms;
  for (const Product& product : products) {
    if (product.x_axis != -1) continue;
    auto norm = std::ranges::find(norms, product.x, &Norm::tensor);
    if (norm == norms.end())
      norm = norms.insert(norm, {.tensor = product.x, .channels = channels_read(network, product)});
    norm->readers.push_back(product);
  }
  std::erase_if(norms, [&](Norm& norm) {
    norm.places = places_of(network, norm.tensor, norm.channels);
    const auto reads_all = [&](const Product& product) { return channels_read(network, product) == norm.channels; };
    return norm.places.empty() || network.users.at(norm.tensor).size() != norm.readers.size() ||
           !std::ranges::all_of(norm.readers, reads_all);
  });
  return norms;
}

std::vector<float> smoothing(const Channels& channels, const std::vector<Tensor>& weights) {
  const std::vector<float> ones(channels.largest.size(), 1);
  double least = kWorthIt * noise_of(channels, weights, ones);
  std::vector<float> best;
  for (const double exponent : kExponents) {
    std::vector<float> factors = factors_of(channels, weights, exponent);
    const double noise = noise_of(channels, weights, factors);
    if (!(noise < least)) continue;
    least = noise;
    best = std::move(factors);
  }
  return best;
}

std::unordered_set<int> smooth(Network& network, const Samples& samples, const Settings& settings) {
  const std::vector<Norm> norms = find_norms(network);
  Wanted wanted;
  for (const Norm& norm : norms) wanted[norm.tensor] = -1;
  AllStatistics statistics = calibrate(network, wanted, samples, settings, "norms");
  std::unordered_set<int> smoothed;
  for (const Norm& norm : norms) {
    const Statistics& found = statistics[norm.tensor];
    if (static_cast<std::int64_t>(found.largest.size()) != norm.channels || !found.histogram.is_finite()) continue;
    std::vector<Tensor> weights;
    for (const Product& reader : norm.readers) weights.push_back(matrix_of(network, reader));
    const std::vector<float> factors = smoothing(channels_of(found), weights);
    if (factors.empty()) continue;
    for (const Place& place : norm.places) divide(network, place, factors);
    for (const Product& reader : norm.readers) {
      multiply(network, reader, factors);
      smoothed.insert(reader.node);
    }
  }
  drop_unused_constants(network);
  return smoothed;
}

}  // namespace colonnade::quantize
