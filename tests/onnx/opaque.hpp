// SPDX-License-Identifier: Apache-2.0
// One opaque operator, imported and evaluated.
#pragma once

#include <cmath>
#include <random>

#include "evaluate.hpp"
#include "numbers.hpp"
#include "reference/elements.hpp"

namespace colonnade::onnx_import::testing::opaque {

using Attributes = std::vector<onnx::AttributeProto>;

/// One node over inputs of any type; an empty tensor of no type stands for an absent input.
struct Subject {
  std::string op;
  std::int64_t opset;
  Attributes attributes = {};
  std::size_t outputs = 1;
  std::string domain = "";

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    ModelBuilder model(opset, domain == "ai.onnx.ml" ? opset : 0);
    if (!domain.empty() && domain != "ai.onnx.ml") model.import(domain, opset);
    Names names, results;
    std::vector<Tensor> given;
    for (const Tensor& input : inputs) {
      names.push_back(input.dtype() == DType::undefined ? "" : "x" + std::to_string(names.size()));
      if (names.back().empty()) continue;
      model.input(names.back(), input.shape(), data_type_of(input.dtype()));
      given.push_back(input);
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      results.push_back("y" + std::to_string(i));
      model.output(results.back(), onnx::TensorProto::UNDEFINED);
    }
    model.node(op, names, results, attributes, domain);
    return evaluate(model, given);
  }
  Tensor one(const std::vector<Tensor>& inputs) const { return run(inputs)[0]; }

  /// The message that refuses; it names the node's operator and holds `part`.
  void refuses(const std::vector<Tensor>& inputs, const std::string& part) const {
    try {
      run(inputs);
      ADD_FAILURE() << op << ": nothing thrown, expected " << part;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(error.code(), ErrorCode::internal) << message;
      EXPECT_NE(message.find(part), std::string::npos) << message;
      EXPECT_NE(message.find(op), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
};

inline Tensor strings(Shape shape, std::vector<std::string> values) {
  Tensor tensor(DType::string, std::move(shape));
  tensor.strings() = std::move(values);
  return tensor;
}
inline Tensor bytes_tensor(const std::string& bytes) {
  Tensor tensor(DType::u8, {static_cast<std::int64_t>(bytes.size())});
  std::copy(bytes.begin(), bytes.end(), tensor.values<std::uint8_t>().begin());
  return tensor;
}
inline Tensor scalar_int(std::int64_t value) { return integers({}, {value}); }
inline const float kNan = std::numeric_limits<float>::quiet_NaN();

// Boxes

}  // namespace colonnade::onnx_import::testing::opaque
