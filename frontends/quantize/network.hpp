// SPDX-License-Identifier: Apache-2.0
// The messages of a model while it is changed.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade::quantize {

using Node = onnx::NodeProto;

/// A model, and where the tensors of its main graph are made and used. Who adds, removes or reconnects nodes calls
/// `index` before the maps are read again.
struct Network {
  onnx::ModelProto model;
  std::unordered_map<std::string, int> producer;            ///< node by tensor
  std::unordered_map<std::string, std::vector<int>> users;  ///< nodes by tensor; a body's captures are its node's
  std::unordered_map<std::string, int> constant;            ///< initializer by tensor
  std::unordered_set<std::string> outputs;                  ///< of the graph, and what bodies capture

  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  const onnx::GraphProto& graph() const { return model.graph(); }
  const Node& node(int index) const { return model.graph().node(index); }
  void index();

  bool is_constant(const std::string& tensor) const { return constant.contains(tensor); }
  /// The only node that uses a tensor which is no output; -1 where there is none or there are several.
  int only_user(const std::string& tensor) const;
  const onnx::TensorProto& constant_message(const std::string& tensor) const {
    return model.graph().initializer(constant.at(tensor));
  }
  Tensor constant_value(const std::string& tensor) const;
  /// Whether it is a constant of float32, and of so many elements where that is not negative.
  bool is_float_constant(const std::string& tensor, std::int64_t elements = -1) const;

  /// A constant under this name, or another one like it where that is taken; returns the name.
  std::string add_constant(const std::string& name, const Tensor& value);
  std::string fresh_name(const std::string& name);
  std::int64_t opset() const;

 private:
  std::unordered_set<std::string> names_;
};

/// Reads a model with its external data, as the engine does, whose checks it passes. Throws as Model::load does.
Network read_network(const std::string& path);
/// Throws Error{unsupported} for what no ONNX file can hold in one piece.
std::string bytes_of(const onnx::ModelProto& model);
/// The constants that no node uses any more are dropped.
void drop_unused_constants(Network& network);

/// A node's name, or its first output where it has none.
const std::string& name_of_node(const Node& node);
const onnx::AttributeProto* attribute_of(const Node& node, std::string_view name);
std::int64_t integer_of(const Node& node, std::string_view name, std::int64_t otherwise);
float float_of(const Node& node, std::string_view name, float otherwise);
std::string text_of(const Node& node, std::string_view name, std::string_view otherwise);
std::vector<std::int64_t> integers_of(const Node& node, std::string_view name);
void set_integer(Node& node, const std::string& name, std::int64_t value);
void remove_attribute(Node& node, std::string_view name);
bool is_onnx(const Node& node, std::string_view op);

Node make_node(const std::string& op, const std::string& name, std::span<const std::string> inputs,
               const std::string& output);
Tensor floats_of(std::span<const float> values, Shape shape);

}  // namespace colonnade::quantize
