// SPDX-License-Identifier: Apache-2.0
// Puts QuantizeLinear and DequantizeLinear into a network.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "choose.hpp"
#include "histogram.hpp"

namespace colonnade::quantize {

/// What calibration says: bytes of stored tensors, and what to add to the biases, by node of a product.
struct Calibration {
  std::unordered_map<std::string, Bytes> bytes;
  std::unordered_map<int, std::vector<double>> corrections;
};

/// Weights and bias of a product as constants with DequantizeLinear in front: what its node reads instead.
struct WrittenProduct {
  std::string weights, bias;  ///< bias "": none
  std::vector<Node> nodes;
};
/// Biases of a Conv or Gemm are int32 with the scales of inputs times weights; scales of weights grow where a bias
/// would not fit. Those behind a MatMul stay float32.
WrittenProduct write_product(Network& network, const Product& product, Bytes x, const std::vector<double>& correction);
/// The same with weights alone: the bias stays as it is.
WrittenProduct write_weights(Network& network, const Product& product);

/// QuantizeLinear and DequantizeLinear behind a tensor; the output of the second is returned.
std::string write_bytes(Network& network, const std::string& tensor, Bytes bytes, std::vector<Node>& nodes);

/// The whole network in bytes, as the scheme says.
Network write_network(const Network& network, const Scheme& scheme, const std::vector<Product>& products,
                      const Calibration& calibration);

/// Weights of a MatMul or Gemm as [K, N].
Tensor matrix_of(const Network& network, const Product& product);
/// Whether a product's weights can be of four bits: those of a matrix.
inline bool takes_nibbles(const Product& product) { return product.x_axis == -1; }

/// The weights alone: DequantizeLinear of bytes in front of products, or MatMulNBits in the place of those that are
/// MatMul or Gemm with four bits.
Network write_weights_only(const Network& network, const std::vector<Product>& products, bool four_bits,
                           std::int64_t accuracy_level);

}  // namespace colonnade::quantize
