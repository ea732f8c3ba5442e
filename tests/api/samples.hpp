// SPDX-License-Identifier: Apache-2.0
// Models of samples of one shape, whose number is open.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "colonnade/colonnade.hpp"
#include "onnx/builder.hpp"

namespace colonnade::test {

using onnx_import::testing::attribute;
using onnx_import::testing::float_tensor;
using onnx_import::testing::int_tensor;
using onnx_import::testing::ModelBuilder;
using onnx_import::testing::Names;
using onnx_import::testing::raw_tensor;

/// A model of samples of one shape, layer by layer.
class Samples {
 public:
  explicit Samples(Shape sample, std::uint32_t seed = 1) : sample_(std::move(sample)), random_(seed) {
    Shape shape{-1};
    shape.insert(shape.end(), sample_.begin(), sample_.end());
    model_.import("com.microsoft", 1).input("x", shape);
  }

  const Shape& sample() const { return sample_; }
  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::string weights(const Shape& shape) {
    const std::int64_t count = element_count(shape);
    const float bound = 1.7f / std::sqrt(static_cast<float>(count / std::max<std::int64_t>(1, shape[0])));
    std::uniform_real_distribution<float> element(-bound, bound);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = element(random_);
    return keep(float_tensor(fresh(), shape, values));
  }
  std::string ints(const Ints& values) { return keep(int_tensor(fresh(), {std::ssize(values)}, values)); }

  std::string node(const std::string& op, Names inputs, const std::vector<onnx::AttributeProto>& attributes = {},
                   const std::string& domain = "") {
    const std::string name = fresh();
    model_.node(op, inputs, {name}, attributes, domain);
    return name;
  }
  std::string conv(const std::string& x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t stride = 1, std::int64_t groups = 1) {
    const std::int64_t pad = kernel / 2;
    return node("Conv", {x, weights({out, in / groups, kernel, kernel}), weights({out})},
                {attribute("pads", Ints{pad, pad, pad, pad}), attribute("strides", Ints{stride, stride}),
                 attribute("group", groups)});
  }
  std::string gemm(const std::string& x, std::int64_t in, std::int64_t out) {
    return node("Gemm", {x, weights({out, in}), weights({out})}, {attribute("transB", 1)});
  }
  std::string matmul(const std::string& x, std::int64_t in, std::int64_t out) {
    return node("Add", {node("MatMul", {x, weights({in, out})}), weights({out})});
  }
  /// Times int8 weights with a scale an output.
  std::string narrow(const std::string& x, std::int64_t in, std::int64_t out) {
    std::vector<std::int8_t> numbers(static_cast<std::size_t>(in * out));
    for (std::int8_t& number : numbers) number = static_cast<std::int8_t>(static_cast<int>(pick(255)) - 127);
    std::vector<float> scales(static_cast<std::size_t>(out));
    for (float& scale : scales) scale = 0.0005f * static_cast<float>(1 + pick(20));
    const std::string stored = keep(raw_tensor(fresh(), onnx::TensorProto::INT8, {in, out}, numbers)),
                      scale = keep(float_tensor(fresh(), {out}, scales));
    return node("MatMul", {x, node("DequantizeLinear", {stored, scale}, {attribute("axis", 1)})});
  }
  /// Times weights of four bits, the inputs rounded to bytes.
  std::string by_bytes(const std::string& x, std::int64_t in, std::int64_t out) {
    const auto [stored, scale] = four_bits(out, in / 32, {out, in / 32, 16});
    return node("MatMulNBits", {x, stored, scale},
                {attribute("K", in), attribute("N", out), attribute("bits", 4), attribute("block_size", 32),
                 attribute("accuracy_level", 4)},
                "com.microsoft");
  }
  /// Two of six experts, of floats or, with a level of accuracy, of four bits.
  std::string experts(const std::string& x, std::int64_t width, int accuracy_level = -1) {
    constexpr std::int64_t kCount = 6, kInner = 64;
    const std::string router = reshape(matmul(x, width, kCount), {-1, kCount});
    std::vector<onnx::AttributeProto> attributes{attribute("k", 2), attribute("normalize_routing_weights", 1),
                                                 attribute("activation_type", "swiglu"), attribute("swiglu_fusion", 1)};
    if (accuracy_level < 0)
      return node("MoE", {x, router, weights({kCount, 2 * kInner, width}), "", weights({kCount, width, kInner})},
                  attributes, "com.microsoft");
    for (const auto& [name, value] : {std::pair{"block_size", 32}, {"accuracy_level", accuracy_level}})
      attributes.push_back(attribute(name, value));
    const auto [first, first_scale] = four_bits(kCount * 2 * kInner, width / 32, {kCount, 2 * kInner, width / 2});
    const auto [second, second_scale] = four_bits(kCount * width, kInner / 32, {kCount, width, kInner / 2});
    return node("QMoE", {x, router, first, first_scale, "", second, second_scale}, attributes, "com.microsoft");
  }
  std::string reshape(const std::string& x, const Ints& shape) { return node("Reshape", {x, ints(shape)}); }
  std::string transpose(const std::string& x, const Ints& perm) {
    return node("Transpose", {x}, {attribute("perm", perm)});
  }
  /// Attention of `heads` heads over [N, steps, width].
  std::string attention(const std::string& x, std::int64_t steps, std::int64_t width, std::int64_t heads) {
    const auto split = [&](const std::string& y) {
      return transpose(reshape(y, {-1, steps, heads, width / heads}), {0, 2, 1, 3});
    };
    const std::string q = split(matmul(x, width, width)), k = split(matmul(x, width, width)),
                      v = split(matmul(x, width, width));
    const std::string scores =
        node("Mul", {node("MatMul", {q, transpose(k, {0, 1, 3, 2})}), keep(float_tensor(fresh(), {}, {0.25f}))});
    const std::string mixed = node("MatMul", {node("Softmax", {scores}, {attribute("axis", -1)}), v});
    return matmul(reshape(transpose(mixed, {0, 2, 1, 3}), {-1, steps, width}), width, width);
  }
  /// Of [N, steps, width]: [steps, N, hidden] of `op`, batch first again.
  std::string recurrent(const std::string& op, const std::string& x, std::int64_t width, std::int64_t hidden) {
    const std::int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
    const std::string y =
        node(op, {transpose(x, {1, 0, 2}), weights({1, gates * hidden, width}), weights({1, gates * hidden, hidden})},
             {attribute("hidden_size", hidden)});
    return transpose(node("Squeeze", {y, ints({1})}), {1, 0, 2});
  }
  void output(const std::string& name, int type = onnx::TensorProto::FLOAT) { model_.output(name, type); }
  std::string bytes() const { return model_.bytes(); }

 private:
  std::string fresh() { return "v" + std::to_string(++count_); }
  std::string keep(const onnx::TensorProto& tensor) {
    model_.constant(tensor);
    return tensor.name();
  }
  /// Numbers of four bits in bytes of a shape, and the scales of blocks of 32.
  std::pair<std::string, std::string> four_bits(std::int64_t rows, std::int64_t blocks, const Shape& shape) {
    std::vector<std::uint8_t> numbers(static_cast<std::size_t>(rows * blocks * 16));
    for (std::uint8_t& two : numbers) two = static_cast<std::uint8_t>(pick(256));
    std::vector<float> scales(static_cast<std::size_t>(rows * blocks));
    for (float& scale : scales) scale = 0.002f * static_cast<float>(1 + pick(20));
    return {keep(raw_tensor(fresh(), onnx::TensorProto::UINT8, shape, numbers)),
            keep(float_tensor(fresh(), {rows * blocks}, scales))};
  }

  Shape sample_;
  ModelBuilder model_;
  std::mt19937 random_;
  int count_ = 0;
};

}  // namespace colonnade::test
