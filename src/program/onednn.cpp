// SPDX-License-Identifier: Apache-2.0
#include "program/onednn.hpp"

#include <dnnl.hpp>
#include <unordered_map>

#include "plan/kernel_choice.hpp"

namespace colonnade {
namespace {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using MemoryDesc = dnnl::memory::desc;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Dims row_major(const Shape& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

MemoryDesc dense(const Shape& shape) { return {shape, Type::f32, row_major(shape)}; }

/// A created primitive and the operands it takes: (argument, index of a node input or, for DNNL_ARG_DST, output 0).
class Primitive final : public OneDnnPrimitive {
 public:
  struct Operand {
    int argument;
    std::size_t input;
    MemoryDesc desc;
    std::shared_ptr<const Tensor> constant;
  };

  Primitive(dnnl::primitive primitive, std::string implementation, std::vector<Operand> operands,
            MemoryDesc destination)
      : primitive_(std::move(primitive)),
        implementation_("onednn:" + std::move(implementation)),
        operands_(std::move(operands)),
        destination_(std::move(destination)) {}

  void run(const void* const* inputs, void* const* outputs) const override {
    dnnl::stream stream(engine());
    std::unordered_map<int, dnnl::memory> arguments;
    for (const Operand& operand : operands_) {
      const void* data = operand.constant ? operand.constant->data() : inputs[operand.input];
      arguments.emplace(operand.argument, dnnl::memory(operand.desc, engine(), const_cast<void*>(data)));
    }
    arguments.emplace(DNNL_ARG_DST, dnnl::memory(destination_, engine(), outputs[0]));
    primitive_.execute(stream, arguments);
    stream.wait();
  }

  std::string_view implementation() const override { return implementation_; }

 private:
  dnnl::primitive primitive_;
  std::string implementation_;
  std::vector<Operand> operands_;
  MemoryDesc destination_;
};

struct Maker {
  const Graph& graph;
  const Node& node;

  const Value& input(std::size_t index) const { return graph.value(node.inputs[index]); }
  const Shape& shape(std::size_t index) const { return input(index).type.static_shape(); }
  const Shape& output() const { return graph.value(node.outputs[0]).type.static_shape(); }
  Primitive::Operand operand(int argument, std::size_t index, MemoryDesc desc) const {
    return {argument, index, std::move(desc), input(index).constant ? input(index).constant->tensor() : nullptr};
  }

  template <class Primitive_, class Desc>
  std::unique_ptr<OneDnnPrimitive> finish(const Desc& desc, std::vector<Primitive::Operand> operands,
                                          MemoryDesc destination) const {
    return std::make_unique<Primitive>(Primitive_(desc), desc.impl_info_str(), std::move(operands),
                                       std::move(destination));
  }
};

std::unique_ptr<OneDnnPrimitive> make(const MatMul& op, const Maker& maker) {
  if (op.epilogue.residual || op.epilogue.prelu_slope || op.epilogue.activation.kind != UnaryKind::identity)
    return nullptr;
  if (maker.node.input(2) != kAbsent) return nullptr;
  const std::size_t rank = maker.output().size();
  if (rank < 2 || maker.shape(0).size() < 2 || maker.shape(1).size() < 2 || rank > 6) return nullptr;
  const auto operand = [&](std::size_t index, bool transpose) {
    Shape shape(rank - maker.shape(index).size(), 1);
    shape.insert(shape.end(), maker.shape(index).begin(), maker.shape(index).end());
    Dims strides = row_major(shape);
    if (transpose) {
      std::swap(shape[rank - 1], shape[rank - 2]);
      std::swap(strides[rank - 1], strides[rank - 2]);
    }
    return MemoryDesc(shape, Type::f32, strides);
  };
  const MemoryDesc a = operand(0, op.transpose_a), b = operand(1, op.transpose_b), c = dense(maker.output());
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc desc(engine(), a, b, c);
#else
  const dnnl::matmul::primitive_desc desc({a, b, c}, engine());
#endif
  return maker.finish<dnnl::matmul>(desc, {maker.operand(DNNL_ARG_SRC, 0, a), maker.operand(DNNL_ARG_WEIGHTS, 1, b)},
                                    c);
}

std::unique_ptr<OneDnnPrimitive> make(const Transpose& op, const Maker& maker) {
  const Shape& in = maker.shape(0);
  if (in.empty() || in.size() > 6) return nullptr;
  const Dims out_strides = row_major(maker.output());
  Dims strides(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) strides[static_cast<std::size_t>(op.perm[i])] = out_strides[i];
  const MemoryDesc source = dense(in), destination(in, Type::f32, strides);
  const dnnl::reorder::primitive_desc desc(engine(), source, engine(), destination);
  return maker.finish<dnnl::reorder>(desc, {maker.operand(DNNL_ARG_SRC, 0, source)}, destination);
}

std::unique_ptr<OneDnnPrimitive> make(const Softmax& op, const Maker& maker) {
  const MemoryDesc tensor = dense(maker.shape(0));
  const auto axis =
      static_cast<int>(normalize_axis(op.axis, static_cast<std::int64_t>(maker.shape(0).size()), maker.node));
#if DNNL_VERSION_MAJOR >= 3
  const auto algorithm = op.log ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const dnnl::softmax_forward::primitive_desc desc(engine(), dnnl::prop_kind::forward_inference, algorithm, tensor,
                                                   tensor, axis);
  return maker.finish<dnnl::softmax_forward>(desc, {maker.operand(DNNL_ARG_SRC, 0, tensor)}, tensor);
#else
  if (op.log) {
    const dnnl::logsoftmax_forward::primitive_desc desc({dnnl::prop_kind::forward_inference, tensor, axis}, engine());
    return maker.finish<dnnl::logsoftmax_forward>(desc, {maker.operand(DNNL_ARG_SRC, 0, tensor)}, tensor);
  }
  const dnnl::softmax_forward::primitive_desc desc({dnnl::prop_kind::forward_inference, tensor, axis}, engine());
  return maker.finish<dnnl::softmax_forward>(desc, {maker.operand(DNNL_ARG_SRC, 0, tensor)}, tensor);
#endif
}

std::unique_ptr<OneDnnPrimitive> make(const Reduce& op, const Maker& maker) {
  const auto axes = constant_ints(maker.graph, maker.node, 1);
  if (!axes || axes->empty()) return nullptr;
  dnnl::algorithm algorithm;
  switch (op.kind) {
    case ReduceKind::sum: algorithm = dnnl::algorithm::reduction_sum; break;
    case ReduceKind::mean: algorithm = dnnl::algorithm::reduction_mean; break;
    case ReduceKind::max: algorithm = dnnl::algorithm::reduction_max; break;
    case ReduceKind::min: algorithm = dnnl::algorithm::reduction_min; break;
    default: return nullptr;
  }
  Shape kept = maker.shape(0);
  for (const std::int64_t axis : *axes)
    kept[static_cast<std::size_t>(normalize_axis(axis, static_cast<std::int64_t>(kept.size()), maker.node))] = 1;
  if (kept == maker.shape(0)) return nullptr;
  const MemoryDesc source = dense(maker.shape(0)), destination = dense(kept);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::reduction::primitive_desc desc(engine(), algorithm, source, destination, 0.0f, 0.0f);
#else
  const dnnl::reduction::primitive_desc desc({algorithm, source, destination, 0.0f, 0.0f}, engine());
#endif
  return maker.finish<dnnl::reduction>(desc, {maker.operand(DNNL_ARG_SRC, 0, source)}, destination);
}

/// Convolutions that the row kernels do not take: three spatial axes, or computed weights. Channels-last.
std::unique_ptr<OneDnnPrimitive> make(const Conv& op, const Maker& maker) {
  if (op.epilogue.residual || op.epilogue.prelu_slope || op.epilogue.activation.kind != UnaryKind::identity)
    return nullptr;
  const Shape& in = maker.shape(0);
  const Shape& weight = maker.shape(1);
  const std::size_t spatial = in.size() - 2;
  if (spatial < 1 || spatial > 3) return nullptr;
  const auto channels_first = [&](const Shape& shape) {
    const Dims last = row_major(shape);
    Shape dims{shape.front(), shape.back()};
    Dims strides{last.front(), last.back()};
    dims.insert(dims.end(), shape.begin() + 1, shape.end() - 1);
    strides.insert(strides.end(), last.begin() + 1, last.end() - 1);
    return MemoryDesc(dims, Type::f32, strides);
  };
  Shape weight_shape = weight;
  if (op.groups > 1) {
    weight_shape[0] /= op.groups;
    weight_shape.insert(weight_shape.begin(), op.groups);
  }
  const MemoryDesc source = channels_first(in), weights = dense(weight_shape),
                   destination = channels_first(maker.output());
  const Ints pads = resolve_pads(op, std::span(in).subspan(1, spatial));
  const Dims begins(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial)),
      ends(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  Dims dilations = op.dilations;
  for (auto& dilation : dilations) --dilation;
  const bool bias = maker.node.input(2) != kAbsent;
  const MemoryDesc bias_desc = bias ? dense(maker.shape(2)) : MemoryDesc();
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_forward::primitive_desc desc(engine(), kInference, kDirect, source, weights, bias_desc,
                                                       destination, op.strides, dilations, begins, ends);
#else
  const dnnl::convolution_forward::primitive_desc desc(
      {kInference, kDirect, source, weights, bias_desc, destination, op.strides, dilations, begins, ends}, engine());
#endif
  std::vector<Primitive::Operand> operands{maker.operand(DNNL_ARG_SRC, 0, source),
                                           maker.operand(DNNL_ARG_WEIGHTS, 1, weights)};
  if (bias) operands.push_back(maker.operand(DNNL_ARG_BIAS, 2, bias_desc));
  return maker.finish<dnnl::convolution_forward>(desc, std::move(operands), destination);
}

template <class Op>
std::unique_ptr<OneDnnPrimitive> make(const Op&, const Maker&) {
  return nullptr;
}

bool is_usable(const Value& value) {
  if (value.type.dtype != DType::f32 || !value.type.is_static()) return false;
  for (const std::int64_t dim : value.type.static_shape())
    if (dim == 0) return false;
  return !value.type.static_shape().empty();
}

}  // namespace

std::unique_ptr<OneDnnPrimitive> make_onednn_primitive(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty() || node.inputs[0] == kAbsent) return nullptr;
  if (!is_usable(graph.value(node.inputs[0])) || !is_usable(graph.value(node.outputs[0]))) return nullptr;
  try {
    return std::visit([&](const auto& op) { return make(op, Maker{graph, node}); }, node.op);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace colonnade
