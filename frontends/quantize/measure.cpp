// SPDX-License-Identifier: Apache-2.0
#include "measure.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <limits>

#include "weights.hpp"

namespace colonnade::quantize {
namespace {

/// A node behind all others; returns its output.
std::string append(Network& network, const std::string& op, std::span<const std::string> inputs,
                   const std::string& output) {
  const std::string name = network.fresh_name(output);
  *network.graph().add_node() = make_node(op, name, inputs, name);
  return name;
}

std::string append_sum_of_squares(Network& network, const std::string& x, const std::string& name) {
  const std::string squares = append(network, "Mul", std::array{x, x}, name + "_squares");
  const std::string sum = append(network, "ReduceSum", std::array{squares}, name + "_sum");
  set_integer(*network.graph().mutable_node(network.graph().node_size() - 1), "keepdims", 0);
  return sum;
}

/// The product once more, of bytes; returns its output.
std::string append_shadow(Network& network, const Product& product, Bytes x, const std::string& x_dequantised,
                          const std::vector<double>& correction) {
  WrittenProduct written = write_product(network, product, x, correction);
  for (Node& node : written.nodes) network.graph().add_node()->Swap(&node);
  Node node = network.node(product.node);
  node.set_name(network.fresh_name(name_of_node(node) + "_shadow"));
  node.set_input(0, x_dequantised);
  node.set_input(1, written.weights);
  while (!written.bias.empty() && node.input_size() < 3) node.add_input("");
  if (!written.bias.empty()) node.set_input(2, written.bias);
  node.set_output(0, network.fresh_name(node.output(0) + "_shadow"));
  *network.graph().add_node() = node;
  return node.output(0);
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

const std::string& output_of(const Network& network, const Product& product) {
  return network.node(product.bias_node).output(0);
}

}  // namespace

std::vector<double> sqnr_alone(const Network& network, const Scheme& scheme, const std::vector<Product>& products,
                               const Calibration& calibration, const Samples& samples, const Settings& settings) {
  Network shadowed = network;
  std::unordered_map<std::string, std::string> dequantised;
  std::vector<std::string> outputs;
  for (const Product& product : products) {
    const Bytes bytes = calibration.bytes.at(scheme.same_as(product.x));
    std::string& x = dequantised[product.x];
    if (x.empty()) {
      std::vector<Node> nodes;
      x = write_bytes(shadowed, product.x, bytes, nodes);
      for (Node& node : nodes) shadowed.graph().add_node()->Swap(&node);
    }
    const auto correction = calibration.corrections.find(product.node);
    const std::string y = network.node(product.node).output(0);
    const std::string shadow = append_shadow(
        shadowed, product, bytes, x,
        correction == calibration.corrections.end() || product.bias_node != product.node ? std::vector<double>{}
                                                                                         : correction->second);
    const std::string difference = append(shadowed, "Sub", std::array{y, shadow}, y + "_difference");
    outputs.push_back(append_sum_of_squares(shadowed, y, y + "_signal"));
    outputs.push_back(append_sum_of_squares(shadowed, difference, y + "_noise"));
  }
  Probe probe(shadowed, outputs, settings.threads);
  std::vector<double> sums(outputs.size());
  for (std::size_t s = 0; s < samples.count; ++s) {
    const std::vector<Tensor> found = probe.run(samples.at(s));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += static_cast<double>(found[i].values<float>()[0]);
    if (settings.progress) settings.progress("layers", static_cast<double>(s + 1) / static_cast<double>(samples.count));
  }
  std::vector<double> result;
  for (std::size_t i = 0; i < products.size(); ++i) result.push_back(sqnr(sums[2 * i], sums[2 * i + 1]));
  return result;
}

Comparison::Comparison(Network& network, const std::vector<Product>& products, const Samples& samples,
                       const Settings& settings)
    : samples_(samples),
      threads_(settings.threads),
      outputs_([&] {
        std::vector<std::string> names;
        for (const Product& product : last_products(network, products)) names.push_back(output_of(network, product));
        return names;
      }()),
      exact_(network, outputs_, settings.threads) {}

double Comparison::sqnr_of(Network& other) {
  Probe probe(other, outputs_, threads_);
  std::vector<double> signal(outputs_.size()), noise(outputs_.size());
  const std::size_t count = std::min(samples_.count, kSamples);
  for (std::size_t s = 0; s < count; ++s) {
    const std::vector<Tensor> inputs = samples_.at(s * samples_.count / count);
    const std::vector<Tensor> exact = exact_.run(inputs), found = probe.run(inputs);
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(exact[o].size()); ++i) {
        const double e = static_cast<double>(exact[o].values<float>()[i]);
        const double d = e - static_cast<double>(found[o].values<float>()[i]);
        signal[o] += e * e, noise[o] += d * d;
      }
    }
  }
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t o = 0; o < outputs_.size(); ++o) worst = std::min(worst, sqnr(signal[o], noise[o]));
  return worst;
}

Gain measure_gain(const std::string& path, const std::string& quantised, std::span<const Tensor> inputs, int threads) {
  constexpr std::size_t kLeast = 7, kMost = 101;
  constexpr auto kLongEnough = std::chrono::seconds(2);
  using Clock = std::chrono::steady_clock;
  Options options;
  options.threads = threads;
  options.duel = false;
  const std::array<Model, 2> models = {Model::load(path, options),
                                       Model::from_bytes(std::as_bytes(std::span(quantised)), options)};
  std::array<Session, 2> sessions = {Session(models[0]), Session(models[1])};
  std::array<std::vector<double>, 2> times;
  const std::vector<TensorView> views(inputs.begin(), inputs.end());
  for (Session& session : sessions) session.run(views);
  const auto start = Clock::now();
  while (times[0].size() < kLeast || (times[0].size() < kMost && Clock::now() - start < kLongEnough)) {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const auto begin = Clock::now();
      sessions[i].run(views);
      times[i].push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
  }
  return {median(times[0]), median(times[1]), sessions[0].stats().threads};
}

}  // namespace colonnade::quantize
