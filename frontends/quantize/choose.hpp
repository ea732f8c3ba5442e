// SPDX-License-Identifier: Apache-2.0
// Which nodes work on bytes, and which tensors are stored as bytes between them.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "network.hpp"

namespace colonnade::quantize {

/// A node that multiplies an activation by constant float32 weights.
struct Product {
  int node = 0;
  std::string x = {}, weights = {};
  std::string bias = {};  ///< a constant of one number an output channel; "" for none
  int bias_node = 0;      ///< that adds it: the node itself, or an Add behind a MatMul
  int bias_input = -1;    ///< of that node; where it has no bias yet: where one may stand, -1 for nowhere
  int output_axis = 0;    ///< of the weights
  int input_axis = 1;
  std::int64_t groups = 1;
  std::int64_t outputs = 0;  ///< channels
  int x_axis = 1;            ///< channels of x; -1: the last
};

/// All products of the main graph, in its order.
std::vector<Product> find_products(const Network& network);

struct Scheme {
  /// By node: works on bytes. A node that follows another one (an activation that is a clipping, a bias) is computed
  /// within it, so that nothing is rounded between.
  std::vector<bool> quantised;
  std::vector<int> host;            ///< by node: what it follows, or itself
  std::vector<std::string> stored;  ///< activations that are bytes, each once, in the order of their first use
  /// By tensor: another one whose bytes stand for the same numbers; followed to its end by `same_as`.
  std::unordered_map<std::string, std::string> same;
  std::vector<int> concats;  ///< quantised ones, whose inputs and output may have one scale

  const std::string& same_as(const std::string& tensor) const;
  void unite(const std::string& a, const std::string& b);
};

/// Products are quantised except those to keep (by node), and between them what does no harm in bytes: a node whose
/// inputs all come from quantised nodes and whose output one uses. So the sums that flow through a transformer, and
/// what is behind the last product, stay float32.
Scheme choose(const Network& network, const std::vector<Product>& products, const std::unordered_set<int>& keep);

/// The last products: no other one depends on what they make.
std::vector<Product> last_products(const Network& network, const std::vector<Product>& products);

}  // namespace colonnade::quantize
