// SPDX-License-Identifier: Apache-2.0
// Small models and ways to damage them.
#pragma once

#include <functional>

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::hostile {

/// x [1, 2, 4, 4] -> Conv 3x3 -> y, to be damaged.
inline ModelBuilder conv_model() {
  ModelBuilder model;
  model.input("x", {1, 2, 4, 4}).output("y");
  model.constant(float_tensor("w", {2, 2, 3, 3}, std::vector<float>(36, 0.5f)));
  model.node("Conv", {"x", "w"}, {"y"},
             {attribute("pads", Ints{1, 1, 1, 1}), attribute("strides", Ints{1, 1}), attribute("dilations", Ints{1, 1}),
              attribute("kernel_shape", Ints{3, 3})});
  return model;
}

inline onnx::NodeProto& conv_node(ModelBuilder& model) { return *model.proto.mutable_graph()->mutable_node(0); }
inline onnx::TensorProto& weight(ModelBuilder& model) { return *model.proto.mutable_graph()->mutable_initializer(0); }

inline void replace(ModelBuilder& model, const onnx::AttributeProto& changed) {
  auto& node = conv_node(model);
  for (auto& each : *node.mutable_attribute()) {
    if (each.name() != changed.name()) continue;
    each = changed;
    return;
  }
  *node.add_attribute() = changed;
}

struct Case {
  const char* name;
  ErrorCode code;
  std::function<std::string()> bytes;
};
inline void PrintTo(const Case& hostile, std::ostream* stream) { *stream << hostile.name; }

inline Case damaged(const char* name, ErrorCode code, void (*damage)(ModelBuilder&)) {
  return {name, code, [damage] {
            ModelBuilder model = conv_model();
            damage(model);
            return model.bytes();
          }};
}

/// One node on x [2, 3]; w is a matrix, i a list of two integers.
inline Case node_case(const char* name, ErrorCode code, const std::string& op, const Names& inputs,
                      const std::vector<onnx::AttributeProto>& attributes = {}, std::int64_t opset = 17,
                      const std::string& domain = "") {
  return {name, code, [=] {
            ModelBuilder model(opset, 3);
            model.input("x", {2, 3}).output("y", 0);
            model.constant(float_tensor("w", {3, 2}, {1, 2, 3, 4, 5, 6})).constant(int_tensor("i", {2}, {0, 1}));
            model.node(op, inputs, {"y"}, attributes, domain);
            return model.bytes();
          }};
}

inline constexpr ErrorCode kInvalid = ErrorCode::invalid_model;
inline constexpr ErrorCode kUnsupported = ErrorCode::unsupported;

/// A tree of two leaves, with its node damaged.
std::string tree_model(const std::function<void(onnx::NodeProto&)>& damage);
/// Attributes that are wrong for their operator.
std::vector<Case> attribute_cases();
std::vector<Case> tree_cases();

}  // namespace colonnade::onnx_import::testing::hostile
