// SPDX-License-Identifier: Apache-2.0
#include "quantize.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "choose.hpp"
#include "measure.hpp"
#include "opset.hpp"
#include "prepare.hpp"
#include "probe.hpp"
#include "smooth.hpp"
#include "weights.hpp"
#include "write.hpp"

namespace colonnade::quantize {
namespace {

constexpr float kShareable = 0.5F;  ///< of the whole range: what a tensor must fill of it to be stored by it

using Nodes = std::unordered_set<int>;

/// The products by how exact they are alone, the worst first.
std::vector<std::size_t> worst_first(const std::vector<double>& sqnr) {
  std::vector<std::size_t> order(sqnr.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sqnr[a] < sqnr[b]; });
  return order;
}

class Quantizer {
 public:
  Quantizer(const std::string& path, const Samples& samples, const Settings& settings)
      : network_(read_network(path)), samples_(samples), settings_(settings) {
    check();
    raise_opset(network_);
    fold_constants(network_);
    fold_affine(network_);
    products_ = find_products(network_);
    find_kept();
    if (products_.empty() || asked_.size() == products_.size())
      throw Error(ErrorCode::unsupported,
                  fmt::format("'{}' has no layer to quantise: no Conv, ConvTranspose, Gemm or MatMul with constant "
                              "float32 weights in its main graph{}",
                              path, asked_.empty() ? "" : " besides those to keep"));
  }

  Result weights_only() {
    const bool four_bits = settings_.integers == Integers::weights4;
    std::vector<Product> wanted;
    Result result;
    for (const Product& product : products_) {
      Layer layer = layer_of(product);
      layer.quantised = !asked_.contains(product.node);
      layer.reason = layer.quantised ? "" : "asked for";
      layer.sqnr = sqnr_of_weights(product, four_bits);
      if (layer.quantised) wanted.push_back(product);
      result.layers.push_back(layer);
    }
    result.model = bytes_of(write_weights_only(network_, wanted, four_bits, settings_.accuracy_level).model);
    return result;
  }

  Result activations_too() {
    if (samples_.count == 0) throw Error(ErrorCode::invalid_input, "there are no samples to calibrate with");
    const Nodes smoothed = smooth(network_, samples_, settings_);
    products_ = find_products(network_);
    scheme_ = choose(network_, products_, {});
    measure_ranges();
    correct_biases();
    const std::vector<double> alone = sqnr_alone(network_, scheme_, products_, calibration_, samples_, settings_);
    Result result;
    const Nodes kept = choose_kept(alone, result.sqnr);
    result.model = bytes_of(write(kept).model);
    for (std::size_t i = 0; i < products_.size(); ++i) {
      Layer layer = layer_of(products_[i]);
      const Range range = ranges_.at(scheme_.same_as(products_[i].x));
      layer.low = range.low, layer.high = range.high;
      layer.sqnr = alone[i];
      layer.quantised = !kept.contains(products_[i].node);
      layer.smoothed = smoothed.contains(products_[i].node);
      if (!layer.quantised) layer.reason = reason_of(products_[i]);
      result.layers.push_back(layer);
    }
    return result;
  }

 private:
  void check() const {
    for (const Node& node : network_.graph().node())
      if (is_onnx(node, "QuantizeLinear") || is_onnx(node, "DequantizeLinear"))
        throw Error(ErrorCode::unsupported,
                    fmt::format("node '{}': the model is quantised already ({})", name_of_node(node), node.op_type()));
    for (const std::string& wanted : settings_.keep) {
      const auto& nodes = network_.graph().node();
      if (std::none_of(nodes.begin(), nodes.end(), [&](const Node& node) { return name_of_node(node) == wanted; }))
        throw Error(ErrorCode::invalid_argument, fmt::format("there is no node '{}' to keep", wanted));
    }
  }

  /// A node to keep that is no product, or was folded into one, is kept by the products that it belongs to.
  void find_kept() {
    for (const Product& product : products_) {
      const std::string& name = name_of_node(network_.node(product.node));
      if (std::find(settings_.keep.begin(), settings_.keep.end(), name) != settings_.keep.end())
        asked_.insert(product.node);
    }
    for (int i = 0; i < network_.graph().node_size(); ++i) {
      const std::string& name = name_of_node(network_.node(i));
      if (std::find(settings_.keep.begin(), settings_.keep.end(), name) != settings_.keep.end()) kept_nodes_.insert(i);
    }
  }

  Layer layer_of(const Product& product) const {
    const Node& node = network_.node(product.node);
    return {.node = name_of_node(node), .op = node.op_type()};
  }

  double sqnr_of_weights(const Product& product, bool four_bits) const {
    if (four_bits && takes_nibbles(product)) {
      const Tensor weights = matrix_of(network_, product);
      return sqnr(weights.values<float>(), floats_of(nibbles_of(weights), weights.shape()[0]).values<float>());
    }
    const Tensor weights = network_.constant_value(product.weights);
    return sqnr(weights.values<float>(), floats_of(bytes_of_weights(weights, product, {})).values<float>());
  }

  void measure_ranges() {
    Wanted wanted;
    for (const std::string& tensor : scheme_.stored) wanted[tensor] = kNoChannels;
    for (const Product& product : products_) wanted[product.x] = product.x_axis;
    statistics_ = calibrate(network_, wanted, samples_, settings_, "ranges");
    for (const std::string& tensor : scheme_.stored) {
      const Range range = range_of(statistics_[tensor].histogram, settings_.method);
      const auto [at, is_new] = ranges_.emplace(scheme_.same_as(tensor), range);
      if (!is_new) at->second = together(at->second, range);
    }
    for (const int node : scheme_.concats) share(network_.node(node));
    for (const auto& [tensor, range] : ranges_) calibration_.bytes[tensor] = bytes_for(range);
  }

  /// A concatenation copies bytes where all its tensors have one scale; none does that fills little of the range.
  void share(const Node& node) {
    std::vector<std::string> tensors(node.input().begin(), node.input().end());
    tensors.push_back(node.output(0));
    Range all;
    for (const std::string& tensor : tensors) all = together(all, ranges_.at(scheme_.same_as(tensor)));
    for (const std::string& tensor : tensors) {
      const Range range = ranges_.at(scheme_.same_as(tensor));
      if (range.high - range.low < kShareable * (all.high - all.low)) return;
    }
    for (const std::string& tensor : tensors) {
      ranges_.erase(scheme_.same_as(tensor));
      scheme_.unite(tensor, node.output(0));
    }
    ranges_[scheme_.same_as(node.output(0))] = all;
  }

  void correct_biases() {
    for (const Product& product : products_) {
      const std::vector<double> means = statistics_[product.x].means();
      if (product.bias_input < 0 || means.empty()) continue;
      const Tensor weights = network_.constant_value(product.weights);
      const Tensor after = floats_of(bytes_of_weights(weights, product, {}));
      if (auto missing = missing_means(weights, after, product, means); !missing.empty())
        calibration_.corrections[product.node] = std::move(missing);
    }
  }

  Network write(const Nodes& kept) {
    Scheme scheme = choose(network_, products_, kept);
    scheme.same = scheme_.same;
    return write_network(network_, scheme, products_, calibration_);
  }

  /// Those asked for and not finite, and of the others the worst until the outputs are near enough.
  Nodes choose_kept(const std::vector<double>& alone, double& reached) {
    Comparison comparison(network_, products_, samples_, settings_);
    const std::vector<std::size_t> order = worst_first(alone);
    Nodes always = kept_nodes_;
    for (const Product& product : products_)
      if (!statistics_[product.x].histogram.is_finite()) always.insert(product.node);
    const auto with_worst = [&](std::size_t count) {
      Nodes kept = always;
      for (std::size_t i = 0; i < count; ++i) kept.insert(products_[order[i]].node);
      return kept;
    };
    const auto sqnr_with = [&](std::size_t count) {
      Network written = write(with_worst(count));
      return comparison.sqnr_of(written);
    };
    reached = sqnr_with(0);
    if (reached >= settings_.least_sqnr) return always;
    std::size_t low = 0, high = std::max<std::size_t>(products_.size() / 3, 1);
    const double best = sqnr_with(high);
    const double wanted = std::min(settings_.least_sqnr, best - 0.5);
    if (best <= reached) return always;
    reached = best;
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      const double found = sqnr_with(middle);
      (found >= wanted ? high : low) = middle;
      if (found >= wanted) reached = found;
    }
    return with_worst(high);
  }

  std::string reason_of(const Product& product) {
    if (kept_nodes_.contains(product.node)) return "asked for";
    return statistics_[product.x].histogram.is_finite() ? "outputs too far from float32" : "input not finite";
  }

  Network network_;
  const Samples& samples_;
  const Settings& settings_;
  std::vector<Product> products_;
  Nodes asked_;       ///< products
  Nodes kept_nodes_;  ///< any nodes
  Scheme scheme_;
  AllStatistics statistics_;
  std::unordered_map<std::string, Range> ranges_;
  Calibration calibration_;
};

}  // namespace

Result quantize(const std::string& path, const Samples& samples, const Settings& settings) {
  Quantizer quantizer(path, samples, settings);
  return settings.integers == Integers::all ? quantizer.activations_too() : quantizer.weights_only();
}

}  // namespace colonnade::quantize
