// SPDX-License-Identifier: Apache-2.0
// How far integers are from float32, by runs of the engine.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "probe.hpp"
#include "write.hpp"

namespace colonnade::quantize {

/// SQNR in dB of each product's output, with that product alone in bytes: the float32 network, and beside each product
/// one that reads bytes, whose difference is summed within the graph.
std::vector<double> sqnr_alone(const Network& network, const Scheme& scheme, const std::vector<Product>& products,
                               const Calibration& calibration, const Samples& samples, const Settings& settings);

/// Compares whole networks with a float32 one by what their last products make.
class Comparison {
 public:
  /// Of at most `kSamples` samples, evenly spread.
  static constexpr std::size_t kSamples = 8;
  Comparison(Network& network, const std::vector<Product>& products, const Samples& samples, const Settings& settings);
  /// dB, of the product that is worst.
  double sqnr_of(Network& other);

 private:
  const Samples& samples_;
  int threads_;
  std::vector<std::string> outputs_;
  Probe exact_;
};

}  // namespace colonnade::quantize
