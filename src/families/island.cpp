// SPDX-License-Identifier: Apache-2.0
// Operators on whole tensors: oneDNN where it has the primitive, else the reference.
#include <cstring>

#include "base/tensor_memory.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/onednn.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/base/copy.hpp"
#include "reference/reference.hpp"

namespace colonnade {
namespace {

class OneDnnOp final : public RowOp {
 public:
  OneDnnOp(const LowerContext& context, std::unique_ptr<OneDnnPrimitive> primitive)
      : primitive_(std::move(primitive)), inputs_(context.node.inputs), outputs_(context.node.outputs) {}

  void run(const StepContext& step) const override {
    const void* inputs[kMaxOperands];
    void* outputs[kMaxOperands];
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      inputs[i] = inputs_[i] == kAbsent ? nullptr : whole(step, inputs_[i]);
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      outputs[i] = outputs_[i] == kAbsent ? nullptr : whole(step, outputs_[i]);
    primitive_->run(inputs, outputs);
  }

  std::string_view kernel() const override { return primitive_->implementation(); }
  static constexpr std::size_t kMaxOperands = 16;

 private:
  std::unique_ptr<OneDnnPrimitive> primitive_;
  std::vector<ValueId> inputs_, outputs_;
};

class ReferenceOp final : public RowOp {
 public:
  explicit ReferenceOp(const LowerContext& context) : node_(context.node) {
    for (const ValueId id : node_.inputs) {
      types_.push_back(id == kAbsent ? ValueType{} : context.graph.value(id).type);
      const bool constant = id != kAbsent && context.graph.value(id).constant;
      constants_.push_back(constant ? context.graph.value(id).constant->tensor() : nullptr);
    }
    for (const ValueId id : node_.outputs)
      outputs_.push_back(id == kAbsent ? ValueType{} : context.graph.value(id).type);
  }

  void run(const StepContext& step) const override {
    std::vector<std::shared_ptr<const Tensor>> borrowed(node_.inputs.size());
    std::vector<const Tensor*> inputs(node_.inputs.size(), nullptr);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (node_.inputs[i] == kAbsent) continue;
      if (constants_[i]) {
        inputs[i] = constants_[i].get();
        continue;
      }
      borrowed[i] = TensorMemory::borrow(types_[i].dtype, types_[i].static_shape(), whole(step, node_.inputs[i]));
      inputs[i] = borrowed[i].get();
    }
    const std::vector<Tensor> results = reference::evaluate(node_, inputs);
    for (std::size_t i = 0; i < results.size() && i < node_.outputs.size(); ++i) {
      if (node_.outputs[i] == kAbsent) continue;
      if (results[i].dtype() != outputs_[i].dtype || results[i].shape() != outputs_[i].static_shape())
        fail(ErrorCode::internal, "node '{}' ({}): the reference made another shape than planned", node_.name,
             node_.origin);
      if (results[i].size() > 0)
        kernels::copy_memory(whole(step, node_.outputs[i]), results[i].data(), results[i].byte_size());
    }
  }

  std::string_view kernel() const override { return "reference"; }

 private:
  Node node_;
  std::vector<ValueType> types_, outputs_;
  std::vector<std::shared_ptr<const Tensor>> constants_;
};

void check_plannable(const LowerContext& context) {
  for (const auto& ids : {context.node.inputs, context.node.outputs})
    for (const ValueId id : ids) {
      if (id == kAbsent) continue;
      const Value& value = context.graph.value(id);
      if (!value.type.is_static())
        fail(ErrorCode::unsupported, "node '{}' ({}): the shape of '{}' depends on data", context.node.name,
             context.node.origin, value.name);
      if (value.type.dtype == DType::string && !value.constant)
        fail(ErrorCode::unsupported, "node '{}' ({}): string tensor '{}' cannot be computed", context.node.name,
             context.node.origin, value.name);
    }
}

Match match(const Candidate&) { return take(); }

Effort effort(const Chosen& node, const Rates& rates) {
  constexpr double kPerElement = 25;  // an element costs this many of a function
  constexpr double kLanes = 16;
  return {rates.seconds(Work::function, kPerElement * larger_side(node), 1) +
          rates.seconds(Work::contraction, flop_of(node.graph, node.node), kLanes)};
}

/// By oneDNN where it has the primitive, else by the reference; recorded in context.islands.
std::unique_ptr<RowOp> lower(const LowerContext& context) {
  check_plannable(context);
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i)
    if (context.has_input(i) && context.input(i).constant) context.taken[i] = true;
  std::unique_ptr<OneDnnPrimitive> primitive;
  if (context.node.inputs.size() <= OneDnnOp::kMaxOperands && context.node.outputs.size() <= OneDnnOp::kMaxOperands)
    primitive = make_onednn_primitive(context.graph, context.node);
  context.islands.push_back(
      {context.node.name, name_of(context.node.op), primitive ? "onednn" : "reference", context.choice.reason});
  if (primitive) return std::make_unique<OneDnnOp>(context, std::move(primitive));
  return std::make_unique<ReferenceOp>(context);
}

}  // namespace

constinit const Family families::island = {.name = "island",
                                           .scope = Scope::island,
                                           .border = Border::none,
                                           .types = kAllTypes,
                                           .match = match,
                                           .units = one_unit,
                                           .effort = effort,
                                           .weights_bytes = no_bytes,
                                           .workspace_bytes = no_bytes,
                                           .window = no_window,
                                           .chunks = no_chunks,
                                           .placements = no_placements,
                                           .tell = nothing_told,
                                           .lower = lower};

}  // namespace colonnade
