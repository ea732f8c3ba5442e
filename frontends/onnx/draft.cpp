// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/draft.hpp"

#include "frontends/onnx/build.hpp"
#include "frontends/onnx/draft_messages.hpp"

namespace colonnade::onnx_import {
namespace {

/// From this version of the format on initializers need be no inputs, and those that are can be replaced.
constexpr std::int64_t kOverridableIr = 4;
constexpr int kMostRounds = 16;

template <class Messages, class Drop>
void drop_if(Messages& messages, Drop drop) {
  int kept = 0;
  for (int i = 0; i < messages.size(); ++i)
    if (!drop(messages.Get(i))) messages.SwapElements(kept++, i);
  messages.DeleteSubrange(kept, messages.size() - kept);
}

void set_sizes(onnx::TypeProto& type, const std::map<std::string, std::int64_t>& sizes) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return;
  for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    const auto size = sizes.find(dim.dim_param());
    if (dim.has_dim_param() && size != sizes.end()) dim.set_dim_value(size->second);
  }
}

/// Since then every model says which operators it means, and initializers need be no inputs.
void raise_format(onnx::ModelProto& model) {
  if (model.ir_version() >= kOverridableIr) return;
  model.set_ir_version(kOverridableIr);
  if (model.opset_import_size() == 0) model.add_opset_import()->set_version(1);
  std::unordered_set<std::string> constants;
  for (const auto& initializer : model.graph().initializer()) constants.insert(initializer.name());
  drop_if(*model.mutable_graph()->mutable_input(),
          [&](const onnx::ValueInfoProto& info) { return constants.contains(info.name()); });
}

/// What was said of values that are no more.
void drop_unknown_values(onnx::GraphProto& graph) {
  std::unordered_set<std::string> known;
  for (const auto& node : graph.node())
    for (const auto& output : node.output()) known.insert(output);
  drop_if(*graph.mutable_value_info(), [&](const onnx::ValueInfoProto& info) { return !known.contains(info.name()); });
  for (const auto& input : graph.input()) known.insert(input.name());
  for (const auto& initializer : graph.initializer()) known.insert(initializer.name());
  drop_if(*graph.mutable_quantization_annotation(),
          [&](const onnx::TensorAnnotation& note) { return !known.contains(note.tensor_name()); });
}

}  // namespace

Draft::Draft(std::unique_ptr<Messages> messages) : messages_(std::move(messages)) { raise_format(messages_->model); }
Draft::Draft(Draft&&) noexcept = default;
Draft::~Draft() = default;

std::unordered_set<std::string> Draft::Messages::overridable() const {
  std::unordered_set<std::string> inputs, both;
  for (const auto& input : model.graph().input()) inputs.insert(input.name());
  for (const auto& initializer : model.graph().initializer())
    if (inputs.contains(initializer.name())) both.insert(initializer.name());
  return both;
}

Graph Draft::graph() const {
  onnx::ModelProto copy = messages_->model;
  const auto open = messages_->overridable();
  drop_if(*copy.mutable_graph()->mutable_initializer(),
          [&](const onnx::TensorProto& proto) { return open.contains(proto.name()); });
  return build_graph(copy, messages_->external, *messages_->operators);
}

void Draft::set_dimensions(const std::map<std::string, std::int64_t>& sizes) {
  if (sizes.empty()) return;
  onnx::GraphProto& graph = *messages_->model.mutable_graph();
  for (auto* infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (auto& info : *infos) set_sizes(*info.mutable_type(), sizes);
}

void Draft::learn(const Graph& graph) {
  for (const Value& value : graph.values) {
    messages_->types[value.name] = value.type;
    if (value.constant) messages_->constants[value.name] = value.constant;
  }
  for (const auto& proto : messages_->model.graph().sparse_initializer())
    messages_->constants.erase(proto.values().name());
}

void Draft::simplify() {
  DraftNodes nodes(*messages_);
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = merge_equal(nodes);
    for (int index = 0; index < nodes.count(); ++index) {
      for (const auto rule : {drop_without_effect, merge_moves, fold_affine_back}) {
        if (!nodes.alive(index)) break;
        changed = rule(nodes, index) || changed;
      }
    }
    if (!changed) break;
  }
  nodes.finish();
  drop_unknown_values(*messages_->model.mutable_graph());
}

std::size_t Draft::node_count() const { return static_cast<std::size_t>(messages_->model.graph().node_size()); }

}  // namespace colonnade::onnx_import
