// SPDX-License-Identifier: Apache-2.0
// Shape rules: one overload of `infer` an operator, over a view of the node that words its errors.
#pragma once

#include <fmt/core.h>

#include "graph/graph.hpp"

namespace colonnade {

inline constexpr std::int64_t kUnknownDim = -1;
/// No model that means well has more axes; shapes made from untrusted lengths stay below it.
inline constexpr std::int64_t kMaxRank = 64;
/// Largest dimension of any tensor.
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;

class RuleContext {
 public:
  RuleContext(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  bool has(std::size_t input) const { return node_.input(input) != kAbsent; }
  std::size_t input_count() const { return node_.inputs.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  /// Type of the input; an absent one has no dtype and no shape.
  const ValueType& type(std::size_t input) const;
  DType dtype(std::size_t input) const { return type(input).dtype; }
  const std::optional<Shape>& shape(std::size_t input) const { return type(input).shape; }
  std::optional<Ints> ints(std::size_t input) const { return constant_ints(graph_, node_, input); }
  std::optional<std::vector<float>> floats(std::size_t input) const { return constant_floats(graph_, node_, input); }
  std::int64_t axis(std::int64_t axis, std::int64_t rank) const { return normalize_axis(axis, rank, node_); }
  /// "input 'x'" for messages.
  std::string text(std::size_t input) const;

  /// The first `required` inputs are there, and there are at most `maximum`.
  void inputs(std::size_t required, std::size_t maximum) const;
  void rank(std::size_t input, std::size_t expected) const;
  void rank_at_least(std::size_t input, std::size_t least) const;
  /// Dimension `axis` of the input, where known, is `expected`, where known.
  void dim(std::size_t input, std::size_t axis, std::int64_t expected, std::string_view what) const;
  /// The input, where given, is a vector of `expected` elements.
  void vector(std::size_t input, std::int64_t expected, std::string_view what) const;
  /// The input has one of the types of the other, as far as known; returns the known one.
  DType same_dtype(std::size_t input, std::size_t other) const;
  void dtype_is(std::size_t input, DType expected) const;
  void integer(std::size_t input) const;
  void floating(std::size_t input) const;

  /// Length of a 1-D input as a rank: nothing when unknown.
  std::optional<std::int64_t> length_as_rank(std::size_t input) const;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    refuse(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const;

  const Graph& graph_;
  const Node& node_;
};

using Types = std::vector<ValueType>;

inline bool dims_agree(std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; }
inline std::int64_t known_dim(std::int64_t a, std::int64_t b) { return a >= 0 ? a : b; }
inline Shape unknown_shape(std::int64_t rank) { return Shape(static_cast<std::size_t>(rank), kUnknownDim); }
inline std::int64_t rank_of(const Shape& shape) { return static_cast<std::int64_t>(shape.size()); }
/// Dimension at `axis`, which is in range.
inline std::int64_t& at(Shape& shape, std::int64_t axis) { return shape[static_cast<std::size_t>(axis)]; }
inline std::int64_t at(const Shape& shape, std::int64_t axis) { return shape[static_cast<std::size_t>(axis)]; }
/// Product of dimensions; unknown when one is.
std::int64_t product_of(std::span<const std::int64_t> dims);

/// ONNX (numpy) broadcasting; throws when known dimensions contradict.
std::optional<Shape> broadcast(const RuleContext& ctx, const std::optional<Shape>& a, const std::optional<Shape>& b);
/// What is true of both types; nothing when they have nothing in common. An optional may be given where its element is
/// expected and the other way round.
std::optional<ValueType> common_type(const ValueType& a, const ValueType& b);
/// Normalised, distinct axes.
Ints normalized_axes(const RuleContext& ctx, const Ints& axes, std::int64_t rank);

/// Product of the sizes of all axes an einsum runs over; the inputs' shapes must be static.
double einsum_points(const Einsum& op, const RuleContext& ctx);

Types infer(const Unary&, const RuleContext&);
Types infer(const Binary&, const RuleContext&);
Types infer(const Select&, const RuleContext&);
Types infer(const Cast&, const RuleContext&);
Types infer(const Conv&, const RuleContext&);
Types infer(const ConvTranspose&, const RuleContext&);
Types infer(const MatMul&, const RuleContext&);
Types infer(const Pool&, const RuleContext&);
Types infer(const Reduce&, const RuleContext&);
Types infer(const ArgReduce&, const RuleContext&);
Types infer(const Softmax&, const RuleContext&);
Types infer(const Hardmax&, const RuleContext&);
Types infer(const BatchNorm&, const RuleContext&);
Types infer(const InstanceNorm&, const RuleContext&);
Types infer(const LayerNorm&, const RuleContext&);
Types infer(const Lrn&, const RuleContext&);
Types infer(const Resize&, const RuleContext&);
Types infer(const Reshape&, const RuleContext&);
Types infer(const Flatten&, const RuleContext&);
Types infer(const Squeeze&, const RuleContext&);
Types infer(const Unsqueeze&, const RuleContext&);
Types infer(const Transpose&, const RuleContext&);
Types infer(const Concat&, const RuleContext&);
Types infer(const Slice&, const RuleContext&);
Types infer(const Split&, const RuleContext&);
Types infer(const Pad&, const RuleContext&);
Types infer(const Expand&, const RuleContext&);
Types infer(const Tile&, const RuleContext&);
Types infer(const Gather&, const RuleContext&);
Types infer(const GatherElements&, const RuleContext&);
Types infer(const GatherNd&, const RuleContext&);
Types infer(const ScatterNd&, const RuleContext&);
Types infer(const ScatterElements&, const RuleContext&);
Types infer(const DepthToSpace&, const RuleContext&);
Types infer(const SpaceToDepth&, const RuleContext&);
Types infer(const ShapeOf&, const RuleContext&);
Types infer(const SizeOf&, const RuleContext&);
Types infer(const Fill&, const RuleContext&);
Types infer(const Range&, const RuleContext&);
Types infer(const OneHot&, const RuleContext&);
Types infer(const TopK&, const RuleContext&);
Types infer(const CumSum&, const RuleContext&);
Types infer(const NonZero&, const RuleContext&);
Types infer(const Trilu&, const RuleContext&);
Types infer(const Einsum&, const RuleContext&);
Types infer(const Recurrent&, const RuleContext&);
Types infer(const GridSample&, const RuleContext&);
Types infer(const TreeEnsemble&, const RuleContext&);
Types infer(const Quantize&, const RuleContext&);
Types infer(const Dequantize&, const RuleContext&);
Types infer(const ByteScale&, const RuleContext&);
Types infer(const Lookup&, const RuleContext&);
Types infer(const ByteConv&, const RuleContext&);
Types infer(const ByteMatMul&, const RuleContext&);
Types infer(const IntegerMatMul&, const RuleContext&);
Types infer(const ByteBinary&, const RuleContext&);
Types infer(const ByteAverage&, const RuleContext&);
Types infer(const Attention&, const RuleContext&);
Types infer(const If&, const RuleContext&);
Types infer(const Loop&, const RuleContext&);
Types infer(const Scan&, const RuleContext&);
Types infer(const Opaque&, const RuleContext&);

}  // namespace colonnade
