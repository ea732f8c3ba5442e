// SPDX-License-Identifier: Apache-2.0
// Scales and shifts by channel, folded into the product that makes what they change.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/draft_messages.hpp"

namespace colonnade::onnx_import {
namespace {

using Numbers = std::vector<double>;

constexpr std::int64_t kBroadcasting = 7;      ///< opset from which operators of two values broadcast
constexpr std::int64_t kPlainBatchNorm = 9;    ///< opset from which a BatchNormalization is always one by channel
constexpr std::int64_t kGemmWithoutBias = 11;  ///< opset from which Gemm's third input may be absent

/// y * scale + shift; each of one number, or of one a channel; none: 1 and 0.
struct Scaling {
  Numbers scale, shift;
  std::string input;

  double scale_at(std::int64_t channel) const { return at(scale, channel, 1); }
  double shift_at(std::int64_t channel) const { return at(shift, channel, 0); }
  static double at(const Numbers& numbers, std::int64_t channel, double otherwise) {
    if (numbers.empty()) return otherwise;
    return numbers[numbers.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
};

/// A node that multiplies by constant weights.
struct Product {
  int index = -1;
  std::shared_ptr<const Tensor> weights, bias;  ///< bias: null where there is none
  std::int64_t channels = 0;
  std::int64_t channel_axis = 1;  ///< of the result; -1: the last
  std::int64_t groups = 1;
  enum class Kind { conv, transposed, gemm, matmul } kind = Kind::conv;
  bool is_turned = false;  ///< Gemm's transB
};

bool is_plain_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

std::optional<Product::Kind> kind_of(const DraftNodes& nodes, int index) {
  if (nodes.is(index, "Conv")) return Product::Kind::conv;
  if (nodes.is(index, "ConvTranspose")) return Product::Kind::transposed;
  if (nodes.is(index, "Gemm")) return Product::Kind::gemm;
  if (nodes.is(index, "MatMul")) return Product::Kind::matmul;
  return std::nullopt;
}

/// The channels of the result.
std::int64_t channels_of(const Product& product) {
  const Shape& shape = product.weights->shape();
  switch (product.kind) {
    case Product::Kind::conv: return shape[0];
    case Product::Kind::transposed: return shape[1] * product.groups;
    case Product::Kind::gemm: return shape[product.is_turned ? 0 : 1];
    case Product::Kind::matmul: return shape[1];
  }
  return 0;
}

std::optional<Product> product_at(DraftNodes& nodes, int index) {
  const auto kind = index < 0 ? std::nullopt : kind_of(nodes, index);
  if (!kind) return std::nullopt;
  const auto& node = nodes.node(index);
  if (node.input_size() < 2) return std::nullopt;
  const bool is_conv = *kind == Product::Kind::conv || *kind == Product::Kind::transposed;
  Product product;
  product.index = index;
  product.kind = *kind;
  product.weights = nodes.tensor(node.input(1));
  if (!product.weights || !is_plain_float(product.weights->dtype())) return std::nullopt;
  const std::size_t rank = product.weights->shape().size();
  if (is_conv ? rank < 3 : rank != 2) return std::nullopt;
  product.channel_axis = is_conv ? 1 : -1;
  product.groups = is_conv ? int_of(node, "group", 1) : 1;
  product.is_turned = int_of(node, "transB", 0) != 0;
  if (node.input_size() > 2 && !node.input(2).empty()) {
    product.bias = nodes.tensor(node.input(2));
    if (!product.bias) return std::nullopt;
  }
  product.channels = channels_of(product);
  const std::int64_t biases = product.bias ? product.bias->size() : 0;
  const bool is_by_channel = biases == 0 || biases == product.channels || biases == 1;
  const bool ends_with_channels =
      !product.bias || product.bias->shape().empty() || biases == 1 || product.bias->shape().back() == product.channels;
  return is_by_channel && ends_with_channels ? std::optional(product) : std::nullopt;
}

Numbers numbers_of(const Tensor& tensor) {
  const Tensor wide = tensor.converted(DType::f64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

/// A constant that is one number, or one for each channel along their axis.
std::optional<Numbers> by_channel(DraftNodes& nodes, const std::string& name, const Product& product) {
  const auto tensor = nodes.tensor(name);
  const auto rank = static_cast<std::int64_t>(product.weights->shape().size());
  if (!tensor || tensor->dtype() != product.weights->dtype()) return std::nullopt;
  const auto constant_rank = static_cast<std::int64_t>(tensor->shape().size());
  const bool is_matmul = product.kind == Product::Kind::matmul;
  if (!is_matmul && constant_rank > rank) return std::nullopt;
  const auto result_rank = nodes.rank(nodes.node(product.index).output(0));
  if (is_matmul && (!result_rank || constant_rank > static_cast<std::int64_t>(*result_rank))) return std::nullopt;
  if (tensor->size() == 1) return numbers_of(*tensor);
  if (tensor->size() != product.channels) return std::nullopt;
  const std::int64_t from_end = product.channel_axis < 0 ? 1 : rank - product.channel_axis;
  if (constant_rank < from_end) return std::nullopt;
  if (tensor->shape()[static_cast<std::size_t>(constant_rank - from_end)] != product.channels) return std::nullopt;
  return numbers_of(*tensor);
}

std::optional<Scaling> normalisation(DraftNodes& nodes, int index, const Product& product) {
  const auto& node = nodes.node(index);
  if (nodes.opset() < kPlainBatchNorm || node.input_size() != 5 || int_of(node, "training_mode", 0) != 0)
    return std::nullopt;
  if (node.output_size() > 1 || product.channel_axis < 0) return std::nullopt;
  Numbers parts[4];
  for (int i = 0; i < 4; ++i) {
    const auto tensor = nodes.tensor(node.input(i + 1));
    if (!tensor || tensor->size() != product.channels) return std::nullopt;
    parts[i] = numbers_of(*tensor);
  }
  const auto& [gamma, beta, mean, variance] = parts;
  const double epsilon = static_cast<double>(float_of(node, "epsilon", 1e-5F));
  Scaling scaling{{}, {}, node.input(0)};
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    scaling.scale.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    scaling.shift.push_back(beta[c] - mean[c] * scaling.scale.back());
  }
  return scaling;
}

/// What the node does to the product that makes its input `slot`.
std::optional<Scaling> scaling_of(DraftNodes& nodes, int index, int slot, const Product& product) {
  const auto& node = nodes.node(index);
  if (nodes.is(index, "BatchNormalization")) return slot == 0 ? normalisation(nodes, index, product) : std::nullopt;
  const bool adds = nodes.is(index, "Add"), takes = nodes.is(index, "Sub");
  const bool multiplies = nodes.is(index, "Mul"), divides = nodes.is(index, "Div");
  if ((!adds && !takes && !multiplies && !divides) || nodes.opset() < kBroadcasting) return std::nullopt;
  if (node.input_size() != 2 || (slot == 1 && (takes || divides))) return std::nullopt;
  auto numbers = by_channel(nodes, node.input(1 - slot), product);
  if (!numbers) return std::nullopt;
  for (double& number : *numbers) number = takes ? -number : divides ? 1 / number : number;
  if (std::any_of(numbers->begin(), numbers->end(), [](double number) { return !std::isfinite(number); }))
    return std::nullopt;
  Scaling scaling{{}, {}, node.input(slot)};
  (adds || takes ? scaling.shift : scaling.scale) = std::move(*numbers);
  return scaling;
}

/// The channel of the result that each weight takes part in.
std::int64_t channel_of_weight(const Product& product, std::int64_t weight) {
  const Shape& shape = product.weights->shape();
  std::int64_t kernel = 1;
  for (std::size_t axis = 2; axis < shape.size(); ++axis) kernel *= shape[axis];
  switch (product.kind) {
    case Product::Kind::conv: return weight / (kernel * shape[1]);
    case Product::Kind::transposed: {
      const std::int64_t input = weight / (kernel * shape[1]);
      return input / (shape[0] / product.groups) * shape[1] + weight / kernel % shape[1];
    }
    case Product::Kind::gemm: return product.is_turned ? weight / shape[1] : weight % shape[1];
    case Product::Kind::matmul: return weight % shape[1];
  }
  return 0;
}

Tensor to_tensor(const Numbers& numbers, DType dtype, Shape shape) {
  Tensor wide(DType::f64, std::move(shape));
  std::copy(numbers.begin(), numbers.end(), wide.values<double>().begin());
  return wide.converted(dtype);
}

Tensor scaled_weights(const Product& product, const Scaling& scaling) {
  Numbers weights = numbers_of(*product.weights);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] *= scaling.scale_at(channel_of_weight(product, static_cast<std::int64_t>(i)));
  return to_tensor(weights, product.weights->dtype(), product.weights->shape());
}

Tensor changed_bias(const Product& product, const Scaling& scaling, double beta) {
  const Numbers bias = product.bias ? numbers_of(*product.bias) : Numbers{};
  Numbers changed;
  for (std::int64_t c = 0; c < product.channels; ++c)
    changed.push_back(Scaling::at(bias, c, 0) * beta * scaling.scale_at(c) + scaling.shift_at(c));
  return to_tensor(changed, product.weights->dtype(), {product.channels});
}

/// A product of matrices can take a bias as a Gemm.
bool can_be_gemm(DraftNodes& nodes, const Product& product) {
  const auto rank = nodes.rank(nodes.node(product.index).input(0));
  return rank == std::optional<std::size_t>(2);
}

void set_beta(onnx::NodeProto& node) {
  for (auto& attribute : *node.mutable_attribute())
    if (attribute.name() == "beta") attribute.set_f(1);
}

void apply(DraftNodes& nodes, const Product& product, const Scaling& scaling) {
  auto& node = nodes.node(product.index);
  const bool is_gemm = product.kind == Product::Kind::gemm;
  const double beta = is_gemm ? static_cast<double>(float_of(node, "beta", 1)) : 1;
  const std::string weights = node.input(1), bias = product.bias ? node.input(2) : weights + "/bias";
  if (!scaling.scale.empty())
    nodes.set_input(product.index, 1, nodes.add_constant(weights + "/scaled", scaled_weights(product, scaling)));
  if (!product.bias && scaling.shift.empty()) return;
  if (product.kind == Product::Kind::matmul) node.set_op_type("Gemm");
  nodes.set_input(product.index, 2, nodes.add_constant(bias + "/scaled", changed_bias(product, scaling, beta)));
  if (is_gemm) set_beta(node);
}

}  // namespace

bool fold_affine_back(DraftNodes& nodes, int index) {
  for (int slot = 0; slot < std::min(2, nodes.node(index).input_size()); ++slot) {
    const auto product = product_at(nodes, nodes.only_for(nodes.node(index).input(slot)));
    if (!product) continue;
    const auto scaling = scaling_of(nodes, index, slot, *product);
    if (!scaling) continue;
    const bool needs_bias = !scaling->shift.empty() && !product->bias;
    if (needs_bias && product->kind == Product::Kind::matmul && !can_be_gemm(nodes, *product)) continue;
    if (needs_bias && product->kind == Product::Kind::gemm && nodes.opset() < kGemmWithoutBias) continue;
    apply(nodes, *product, *scaling);
    const std::string output = nodes.node(index).output(0);
    nodes.remove(index);
    nodes.set_output(product->index, output);
    return true;
  }
  return false;
}

}  // namespace colonnade::onnx_import
