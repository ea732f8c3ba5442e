// SPDX-License-Identifier: Apache-2.0
// Graphs of a product with narrow weights.
#pragma once

#include "graph/narrow_weights.hpp"
#include "program/whole.hpp"

namespace colonnade::test {

struct Weights {
  DType type;
  Shape shape;
  std::int64_t block_rows, block_columns;
  bool has_zeros = false;
  bool byte_rows = false;
  Shape as = {};  ///< what the constant looks like; else `shape`
};

inline std::shared_ptr<const Constant> random_constant(DType type, const Shape& shape, unsigned seed, double low,
                                                       double high) {
  return std::make_shared<const Constant>(whole::random_tensor(type, shape, seed, low, high));
}

inline std::shared_ptr<const Constant> narrow_constant(const Weights& weights, unsigned seed) {
  NarrowWeights narrow{.type = weights.type,
                       .block_rows = weights.block_rows,
                       .block_columns = weights.block_columns,
                       .has_zeros = weights.has_zeros,
                       .byte_rows = weights.byte_rows};
  NarrowWeights::Parts parts;
  const bool halves = !narrow.is_scaled();
  const double low = halves ? -1 : reference::lowest_of<double>(weights.type);
  const double high = halves ? 1 : reference::highest_of<double>(weights.type);
  parts.numbers = random_constant(weights.type, weights.shape, seed, low - (halves ? 0 : 0.49), high);
  if (!halves) {
    const Shape blocks{(weights.shape[0] - 1) / weights.block_rows + 1,
                       (weights.shape[1] - 1) / weights.block_columns + 1};
    parts.scales = random_constant(DType::f32, blocks, seed + 1, 0.5 / high, 1 / high);
    const auto zeros = random_constant(weights.type, blocks, seed + 2, low, high);
    narrow.zero = static_cast<float>(reference::load_all<double>(*zeros->tensor())[0]);
    if (weights.has_zeros)
      parts.zeros = std::make_shared<const Constant>(
          reference::tensor_of(DType::f32, blocks, reference::load_all<double>(*zeros->tensor())));
  }
  narrow.parts = [parts] { return parts; };
  return widened(std::move(narrow), weights.as.empty() ? weights.shape : weights.as);
}

/// The product of `rows` rows, with a bias, a ReLU and a residual.
inline Graph product_graph(std::int64_t rows, bool transposed, std::shared_ptr<const Constant> weights) {
  const std::int64_t depth = weights->shape()[transposed ? 1 : 0], outputs = weights->shape()[transposed ? 0 : 1];
  MatMul op{.transpose_b = transposed, .epilogue = {.activation = {UnaryKind::relu}, .residual = true}};
  Graph graph = whole::single(
      op,
      {whole::computed(DType::f32, {rows, depth}), whole::constant(Tensor(DType::f32, weights->shape())),
       whole::constant(whole::random_tensor(DType::f32, {outputs}, 7)), whole::computed(DType::f32, {rows, outputs})},
      1);
  graph.value(graph.nodes[0].inputs[1]).constant = std::move(weights);
  return graph;
}

}  // namespace colonnade::test
