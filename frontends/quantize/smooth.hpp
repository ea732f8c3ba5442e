// SPDX-License-Identifier: Apache-2.0
// Moves what makes activations hard to round into weights, which are rounded by channel.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "choose.hpp"
#include "quantize.hpp"

namespace colonnade::quantize {

/// A constant that scales or shifts a tensor's channels, where the tensor is made.
struct Place {
  int node = 0;
  int input = 0;
};

/// A tensor that a norm's scale and shift make, and that nothing but products reads, a channel along its last axis.
struct Norm {
  std::string tensor = {};
  std::int64_t channels = 0;
  std::vector<Place> places = {};     ///< whose constants are divided
  std::vector<Product> readers = {};  ///< whose weights are multiplied
};

std::vector<Norm> find_norms(const Network& network);

/// What the readers of a norm see of a channel over all samples: its largest magnitude and its mean square.
struct Channels {
  std::vector<float> largest;
  std::vector<double> squares;
};

/// By channel, what to divide the norm by and to multiply the weights by; empty where that rounds no less. A factor is
/// largest^a / weight^(1 - a), of the largest magnitudes, after Xiao et al., SmoothQuant: Accurate and Efficient
/// Post-Training Quantization for Large Language Models, 2023. The exponent is the one of a few whose outputs have the
/// least noise by estimate. `weights` are the readers', [channels, outputs] each.
std::vector<float> smoothing(const Channels& channels, const std::vector<Tensor>& weights);

/// Smoothes each norm for which that pays; the network computes the same but for rounding. Returns the nodes of the
/// products that read them. Runs all samples where there is such a norm.
std::unordered_set<int> smooth(Network& network, const Samples& samples, const Settings& settings);

}  // namespace colonnade::quantize
