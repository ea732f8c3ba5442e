// SPDX-License-Identifier: Apache-2.0
#include "families/onednn.hpp"

#include <algorithm>
#include <dnnl.hpp>

#include "families/onednn_primitive.hpp"

namespace colonnade {
namespace {

using namespace onednn;

/// Scratch is no part of the limit on memory.
constexpr std::size_t kMostScratchBytes = std::size_t{512} << 20;

struct Maker {
  const Graph& graph;
  const Node& node;

  const Value& input(std::size_t index) const { return graph.value(node.inputs[index]); }
  const Shape& shape(std::size_t index) const { return input(index).type.static_shape(); }
  const Shape& output() const { return graph.value(node.outputs[0]).type.static_shape(); }
  Primitive::Operand operand(int argument, std::size_t index, const MemoryDesc& desc) const {
    const auto constant = input(index).constant ? input(index).constant->tensor() : nullptr;
    return {argument, index, desc, constant};
  }

  template <class Primitive_, class Desc>
  std::unique_ptr<OneDnnPrimitive> finish(const Desc& desc, std::vector<Primitive::Operand> operands,
                                          MemoryDesc destination) const {
    const MemoryDesc scratch = desc.scratchpad_desc();
    if (scratch.get_size() > kMostScratchBytes) return nullptr;
    return std::make_unique<Primitive>(Primitive_(desc), desc.impl_info_str(), std::move(operands),
                                       std::move(destination), scratch);
  }
};

std::unique_ptr<OneDnnPrimitive> make(const MatMul& op, const Maker& maker) {
  if (op.heads_inside_a || op.heads_inside_b || op.heads_inside_out) return nullptr;
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
  const dnnl::matmul::primitive_desc desc(engine(), a, b, c, with_scratch());
#else
  const dnnl::matmul::primitive_desc desc({a, b, c}, with_scratch(), engine());
#endif
  return maker.finish<dnnl::matmul>(desc, {maker.operand(DNNL_ARG_SRC, 0, a), maker.operand(DNNL_ARG_WEIGHTS, 1, b)},
                                    c);
}

std::unique_ptr<OneDnnPrimitive> make(const Reduce& op, const Maker& maker) {
  const auto axes = constant_ints(maker.graph, maker.node, 1);
  if (!axes || axes->empty()) return nullptr;
  dnnl::algorithm algorithm = dnnl::algorithm::undef;
  switch (op.kind) {
    case ReduceKind::sum: algorithm = dnnl::algorithm::reduction_sum; break;
    case ReduceKind::mean: algorithm = dnnl::algorithm::reduction_mean; break;
    case ReduceKind::max: algorithm = dnnl::algorithm::reduction_max; break;
    case ReduceKind::min: algorithm = dnnl::algorithm::reduction_min; break;
    case ReduceKind::prod:
    case ReduceKind::l1:
    case ReduceKind::l2:
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp:
    case ReduceKind::sum_square: return nullptr;
  }
  Shape kept = maker.shape(0);
  for (const std::int64_t axis : *axes)
    kept[static_cast<std::size_t>(normalize_axis(axis, static_cast<std::int64_t>(kept.size()), maker.node))] = 1;
  if (kept == maker.shape(0)) return nullptr;
  const MemoryDesc source = dense(maker.shape(0)), destination = dense(kept);
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::reduction::primitive_desc desc(engine(), algorithm, source, destination, 0.0f, 0.0f, with_scratch());
#else
  const dnnl::reduction::primitive_desc desc({algorithm, source, destination, 0.0f, 0.0f}, with_scratch(), engine());
#endif
  return maker.finish<dnnl::reduction>(desc, {maker.operand(DNNL_ARG_SRC, 0, source)}, destination);
}

/// Local response normalisation with channels as the second axis.
std::unique_ptr<OneDnnPrimitive> make(const Lrn& op, const Maker& maker) {
  const Shape& in = maker.shape(0);
  if (in.size() < 3 || in.size() > 5 || op.axis != 1 || op.size % 2 == 0) return nullptr;
  const MemoryDesc tensor = dense(in);
  constexpr auto kInference = dnnl::prop_kind::forward_inference;
  constexpr auto kAcross = dnnl::algorithm::lrn_across_channels;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::lrn_forward::primitive_desc desc(engine(), kInference, kAcross, tensor, tensor, op.size, op.alpha,
                                               op.beta, op.bias, with_scratch());
#else
  const dnnl::lrn_forward::primitive_desc desc({kInference, kAcross, tensor, op.size, op.alpha, op.beta, op.bias},
                                               with_scratch(), engine());
#endif
  return maker.finish<dnnl::lrn_forward>(desc, {maker.operand(DNNL_ARG_SRC, 0, tensor)}, tensor);
}

template <class Op>
std::unique_ptr<OneDnnPrimitive> make(const Op&, const Maker&) {
  return nullptr;
}

/// oneDNN counts in 32 bits in places: a matrix of 2^32 rows is one of none to it.
constexpr std::int64_t kMostElements = std::numeric_limits<std::int32_t>::max();

bool is_countable(const Value& value) {
  return value.type.is_static() && element_count(value.type.static_shape()) <= kMostElements;
}

bool is_usable(const Value& value) {
  if (value.type.dtype != DType::f32 || !is_countable(value)) return false;
  for (const std::int64_t dim : value.type.static_shape())
    if (dim == 0) return false;
  return !value.type.static_shape().empty();
}

}  // namespace

std::unique_ptr<OneDnnPrimitive> make_onednn_primitive(const Graph& graph, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty() || node.inputs[0] == kAbsent) return nullptr;
  if (!is_usable(graph.value(node.inputs[0])) || !is_usable(graph.value(node.outputs[0]))) return nullptr;
  for (const ValueId input : node.inputs)
    if (input != kAbsent && !is_countable(graph.value(input))) return nullptr;
  const OneThread threads;
  try {
    return std::visit([&](const auto& op) { return make(op, Maker{graph, node}); }, node.op);
  } catch (const dnnl::error&) {
    return nullptr;
  }
}

}  // namespace colonnade
