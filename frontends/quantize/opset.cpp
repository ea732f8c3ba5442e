// SPDX-License-Identifier: Apache-2.0
#include "opset.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace colonnade::quantize {
namespace {

constexpr std::int64_t kOldest = 7;

/// A graph, the main one or a body, whose nodes are written anew.
class Raiser {
 public:
  Raiser(Network& names, onnx::GraphProto& graph, std::int64_t from) : names_(names), graph_(graph), from_(from) {}

  void run() {
    onnx::GraphProto before;
    before.mutable_node()->Swap(graph_.mutable_node());
    for (Node& node : *before.mutable_node()) {
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) Raiser(names_, *attribute.mutable_g(), from_).run();
        for (auto& body : *attribute.mutable_graphs()) Raiser(names_, body, from_).run();
      }
      if (is_onnx(node, node.op_type())) raise(node);
      graph_.add_node()->Swap(&node);
    }
  }

 private:
  void raise(Node& node) {
    const std::string& op = node.op_type();
    if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum") integers_to_input(node, "axes", 1);
    if (op == "Split") integers_to_input(node, "split", 1);
    if (op == "Softmax" || op == "LogSoftmax" || op == "Hardmax") raise_softmax(node);
    if (from_ < 12 && op == "Dropout") raise_dropout(node);
    if (from_ < 11 && op == "Clip") raise_clip(node);
    if (from_ < 11 && op == "Pad") raise_pad(node);
    if (from_ < 11 && op == "Scatter") node.set_op_type("ScatterElements");
    if (from_ < 11 && (op == "Upsample" || op == "Resize")) raise_resize(node);
    if (from_ < 10 && op == "Slice")
      for (const auto& [name, at] : {std::pair{"starts", 1}, {"ends", 2}, {"axes", 3}})
        integers_to_input(node, name, at);
    if (from_ < 10 && op == "TopK") {
      add_input(node, 1, tensor_of({integer_of(node, "k", 1)}));
      remove_attribute(node, "k");
    }
    if (from_ < 9 && op == "BatchNormalization") remove_attribute(node, "spatial");
  }

  static Tensor tensor_of(const std::vector<std::int64_t>& values) {
    Tensor tensor(DType::i64, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), tensor.values<std::int64_t>().begin());
    return tensor;
  }

  void add_input(Node& node, int index, const Tensor& value) {
    const std::string name = names_.fresh_name(fmt::format("{}_{}", node.output(0), index));
    graph_.add_initializer()->ParseFromString(value.to_onnx(name));
    while (node.input_size() <= index) node.add_input("");
    node.set_input(index, name);
  }

  void integers_to_input(Node& node, std::string_view name, int index) {
    if (attribute_of(node, name) == nullptr) return;
    add_input(node, index, tensor_of(integers_of(node, name)));
    remove_attribute(node, name);
  }

  /// Without a mask it does nothing.
  static void raise_dropout(Node& node) {
    remove_attribute(node, "ratio");
    if (node.output_size() == 1) node.set_op_type("Identity");
  }

  void raise_clip(Node& node) {
    for (const auto& [name, at] : {std::pair{"min", 1}, {"max", 2}}) {
      if (attribute_of(node, name) == nullptr) continue;
      add_input(node, at, floats_of(std::array{float_of(node, name, 0)}, {}));
      remove_attribute(node, name);
    }
  }

  void raise_pad(Node& node) {
    integers_to_input(node, "pads", 1);
    add_input(node, 2, floats_of(std::array{float_of(node, "value", 0)}, {}));
    remove_attribute(node, "value");
  }

  /// Resize of opset 10 and Upsample take the element at or before a point, from corner to corner.
  void raise_resize(Node& node) {
    if (const auto* scales = attribute_of(node, "scales")) {
      const std::vector<float> values(scales->floats().begin(), scales->floats().end());
      add_input(node, 1, floats_of(values, {static_cast<std::int64_t>(values.size())}));
      remove_attribute(node, "scales");
    }
    node.set_op_type("Resize");
    node.add_input(node.input(1));
    node.set_input(1, "");
    for (const auto& [name, text] :
         {std::pair{"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}}) {
      auto* attribute = node.add_attribute();
      attribute->set_name(name);
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(text);
    }
  }

  /// Over all axes from one on, as one.
  void raise_softmax(Node& node) {
    const std::int64_t axis = integer_of(node, "axis", 1);
    set_integer(node, "axis", -1);
    if (axis == -1) return;
    const std::string x = node.input(0), y = node.output(0);
    const std::string shape = names_.fresh_name(y + "_shape"), flat = names_.fresh_name(y + "_flat"),
                      result = names_.fresh_name(y + "_result");
    *graph_.add_node() = make_node("Shape", names_.fresh_name(shape), std::array{x}, shape);
    Node flatten = make_node("Flatten", names_.fresh_name(flat), std::array{x}, flat);
    set_integer(flatten, "axis", axis);
    *graph_.add_node() = flatten;
    node.set_input(0, flat);
    node.set_output(0, result);
    graph_.add_node()->Swap(&node);
    node = make_node("Reshape", names_.fresh_name(y), std::array{result, shape}, y);
  }

  Network& names_;
  onnx::GraphProto& graph_;
  std::int64_t from_;
};

}  // namespace

void raise_opset(Network& network) {
  const std::int64_t from = network.opset();
  if (from < kOldest)
    throw Error(ErrorCode::unsupported, fmt::format("the model is of opset {}, expected {} or newer", from, kOldest));
  if (from >= kOpset) return;
  Raiser(network, network.graph(), from).run();
  for (auto& import : *network.model.mutable_opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") import.set_version(kOpset);
  network.model.set_ir_version(std::max<std::int64_t>(network.model.ir_version(), 7));
  network.index();
}

}  // namespace colonnade::quantize
