// SPDX-License-Identifier: Apache-2.0
// Models of If and Loop, and what is said when they are refused.
#pragma once

#include "evaluate.hpp"

namespace colonnade::onnx_import::testing::control {

inline constexpr int kBool = onnx::TensorProto::BOOL, kInt64 = onnx::TensorProto::INT64,
                     kFloat = onnx::TensorProto::FLOAT;

inline Tensor boolean(bool value) {
  Tensor tensor(DType::boolean, {});
  tensor.values<bool>()[0] = value;
  return tensor;
}

inline onnx::TensorProto bool_tensor(const std::string& name, bool value) {
  return raw_tensor<char>(name, kBool, {}, {static_cast<char>(value)});
}

/// The body of a Loop: iteration number, condition and states come in; the condition goes on.
inline ModelBuilder loop_body(const Names& states, const std::optional<Shape>& shape = Shape{-1}) {
  ModelBuilder body(0);
  body.input("i", {}, kInt64).input("go", {}, kBool);
  for (const auto& state : states) {
    body.input(state, shape.value_or(Shape{}));
    if (!shape)
      body.proto.mutable_graph()->mutable_input()->rbegin()->mutable_type()->mutable_tensor_type()->clear_shape();
  }
  body.node("Identity", {"go"}, {"go_on"}).output("go_on", kBool);
  return body;
}

inline const onnx::GraphProto& graph_of(const ModelBuilder& model) { return model.proto.graph(); }

inline std::string error_of(const ModelBuilder& model, ErrorCode code = ErrorCode::invalid_model) {
  try {
    model.import_graph();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "the model is accepted";
  return "";
}

inline void expect_error(const ModelBuilder& model, const std::string& text,
                         ErrorCode code = ErrorCode::invalid_model) {
  const std::string message = error_of(model, code);
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

inline const Node& node_with_body(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (!bodies_of(node.op).empty()) return node;
  }
  throw std::runtime_error("no node has a body");
}

inline ModelBuilder if_model(const ModelBuilder& then_branch, const ModelBuilder& else_branch) {
  ModelBuilder model;
  model.input("c", {}, kBool).input("x", {2}).output("y");
  model.node("If", {"c"}, {"y"},
             {attribute("then_branch", graph_of(then_branch)), attribute("else_branch", graph_of(else_branch))});
  return model;
}

inline ModelBuilder loop_model(const ModelBuilder& body, const Shape& state = {2}) {
  ModelBuilder model;
  model.input("n", {}, kInt64).input("s", state).output("last").output("all");
  model.node("Loop", {"n", "", "s"}, {"last", "all"}, {attribute("body", graph_of(body))});
  return model;
}

/// Paddle's exports declare scalars where an iteration, here any but the first, makes vectors of one element.
inline ModelBuilder vectors_declared_as_scalars() {
  const auto say_scalars = [](ModelBuilder& model) {
    for (auto& output : *model.proto.mutable_graph()->mutable_output())
      output.mutable_type()->mutable_tensor_type()->mutable_shape();
  };
  ModelBuilder same(0), more(0), body = loop_body({"a"}, Shape{});
  same.node("Identity", {"a"}, {"same"}).output("same");
  more.constant(float_tensor("one", {1}, {1})).node("Add", {"a", "one"}, {"more"}).output("more");
  say_scalars(same);
  say_scalars(more);
  body.constant(int_tensor("zero", {}, {0})).node("Equal", {"i", "zero"}, {"is_first"});
  body.node("If", {"is_first"}, {"b"},
            {attribute("then_branch", graph_of(same)), attribute("else_branch", graph_of(more))});
  body.node("Identity", {"i"}, {"slice"}).output("b");
  say_scalars(body);
  body.output("slice", kInt64);
  ModelBuilder model = loop_model(body, {});
  model.proto.mutable_graph()->mutable_output(1)->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
  return model;
}

}  // namespace colonnade::onnx_import::testing::control
