// SPDX-License-Identifier: Apache-2.0
// The intermediate representation: a list of nodes in topological order over a table of values. A plain value: copy,
// compare, print, verify. Constants are shared, never copied.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/interval.hpp"
#include "graph/constant.hpp"
#include "graph/operators.hpp"

namespace colonnade {

using ValueId = std::int32_t;
inline constexpr ValueId kAbsent = -1;  ///< an optional input that is not given

/// Type of a value as far as it is known. No shape: the rank is unknown; a dimension of -1 is unknown. Of a sequence,
/// optional or map, `containers` says so, outermost first, and the rest describes the tensors within.
struct ValueType {
  DType dtype = DType::undefined;
  std::optional<Shape> shape;
  std::vector<Container> containers = {};
  bool operator==(const ValueType&) const = default;

  bool is_tensor() const { return containers.empty(); }

  /// Every dimension is known.
  bool is_static() const;
  /// The known shape; throws Error{internal} when not static.
  const Shape& static_shape() const;
};

struct Value {
  std::string name;  ///< ONNX name; unique within the graph
  ValueType type;
  std::vector<std::string> dim_names;        ///< symbols of open dimensions of graph inputs and outputs, else empty
  std::shared_ptr<const Constant> constant;  ///< set for constants
};

/// One application of an operator.
struct Node {
  Operator op;
  std::vector<ValueId> inputs;   ///< kAbsent for an optional input that is not given
  std::vector<ValueId> outputs;  ///< kAbsent for an output nobody asked for
  std::string name;              ///< the ONNX node it came from, for messages; "" never: importer makes one up
  std::string origin;            ///< ONNX operator it came from, "Conv", "ai.onnx.ml::Scaler"

  ValueId input(std::size_t index) const { return index < inputs.size() ? inputs[index] : kAbsent; }
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;      ///< topological order
  std::vector<ValueId> inputs;  ///< without constants
  std::vector<ValueId> outputs;
  /// Samples that lie beside each other: the size of the open first dimension that inputs share, 1 where they share
  /// none. What fixes bits is chosen by the shape of one sample (of_sample).
  std::int64_t samples = 1;
  /// Its inputs' shapes are known, and all that follows from them is settled: it need not be bound to them.
  bool is_settled = false;
  /// It was bound from open dimensions: what follows from them is of no use to other sizes.
  bool has_other_sizes = false;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }

  /// Adds a value; an empty or taken name is made unique.
  ValueId add_value(std::string name_hint, ValueType type = {});
  /// For who adds many and knows in less than a walk over all values whether a name is taken.
  ValueId add_value(std::string name_hint, ValueType type, const std::function<bool(const std::string&)>& taken);
  bool has_value(std::string_view its_name) const;
  ValueId add_constant(std::string name_hint, Tensor tensor);
  ValueId add_constant(std::string name_hint, std::shared_ptr<const Constant> constant);
  ValueId add_ints(std::string name_hint, const Ints& values);  ///< a 1-D int64 constant
};

/// A 1-D int64 tensor.
Tensor tensor_of(const Ints& ints);

/// Elements of a constant integer input (int32 or int64) as int64; nothing when absent or not constant.
std::optional<Ints> constant_ints(const Graph& graph, const Node& node, std::size_t input);
/// The one element (or all elements) of a constant float input; nothing when absent or not constant.
std::optional<std::vector<float>> constant_floats(const Graph& graph, const Node& node, std::size_t input);

/// Per value: the nodes that read it (once per reading input), in order.
std::vector<std::vector<std::int32_t>> consumers_of(const Graph& graph);

/// axis in [0, rank); throws Error{invalid_model} naming the node.
std::int64_t normalize_axis(std::int64_t axis, std::int64_t rank, const Node& node);

/// Shape rule: types of all outputs of `node` from its inputs' types and constants. Throws Error{invalid_model} naming
/// node, operator, expected and found when the inputs contradict the operator. What cannot be known stays unknown.
std::vector<ValueType> infer_types(const Graph& graph, const Node& node);

/// What a node says about the ranks of its inputs: a Transpose knows that of its own. Passes rely on it.
void learn_ranks(Graph& graph, const Node& node);

/// Runs infer_types over all nodes in order and stores the results; an output whose recorded type contradicts
/// throws. Declared shapes of graph outputs are refined, never trusted over inference.
void infer_types(Graph& graph);

/// Of a count of pixels, rows or elements of a value: those of one sample. All where samples do not divide them.
std::int64_t of_sample(const Graph& graph, std::int64_t count);

/// Replaces open dimensions of the graph's inputs by the given shapes (in input order), counts samples, infers again.
/// Throws Error{invalid_argument} when a shape contradicts the declared one, and when the same symbol gets two sizes.
Graph bind_shapes(const Graph& graph, std::span<const Shape> input_shapes);

/// Explicit pads (begins, then ends) of a windowed operator on the given spatial input sizes, auto_pad resolved.
Ints resolve_pads(const Conv& conv, std::span<const std::int64_t> spatial);
Ints resolve_pads(const Pool& pool, std::span<const std::int64_t> spatial);
Ints resolve_pads(const ConvTranspose& conv, std::span<const std::int64_t> spatial);

/// Rows view of a tensor as columns stream it: images x rows x width x channels, channels innermost.
/// rank 4 [N, H, W, C] as it is; rank 3 [N, S, C] has width 1; rank 2 [R, C] is one image of R rows of width 1; rank 1
/// one row; rank 0 one element; rank above 4 folds the inner axes 2..rank-2 into the width.
struct RowShape {
  std::int64_t images = 1, rows = 1, width = 1, channels = 1;
  std::int64_t row_elements() const { return width * channels; }
  bool operator==(const RowShape&) const = default;
};
RowShape row_shape(const Shape& shape);

/// Access map: the input rows (of input `input`, see row_shape) that output rows `rows` need, clipped to the tensor;
/// nothing: all of them (or the operator does not work by rows). Inputs that are read whole by design (weights,
/// constants, one value per image and channel) answer nothing as well. For a Transpose between channels-first and
/// channels-last (rank 4) the interval counts rows of the image (H) on either side.
std::optional<Interval> access_rows(const Graph& graph, const Node& node, std::size_t input, Interval rows);
/// The same of each of the first rows by itself; empty: nothing is known of one of them, or there are none.
std::vector<Interval> access_each_row(const Graph& graph, const Node& node, std::size_t input, std::int64_t rows);

/// Floating-point operations of the node (a fused multiply-add counts two); static shapes only.
double flop_of(const Graph& graph, const Node& node);
/// Bytes of a value with a static type (packed storage of its elements).
std::int64_t bytes_of(const Value& value);
/// [.., rows, heads, columns] as [.., heads, rows, columns] and back, where `inside`.
Shape heads_swapped(Shape shape, bool inside);

/// Throws Error{internal} when the graph breaks an invariant: order, ranges, one producer a value, types that inference
/// contradicts, constants whose tensor and type disagree.
void verify(const Graph& graph);

/// One line a node: `%12 f32[1,56,56,64] = Conv(%10, %w3, %b3) kernel=3x3 ... # node-name`.
std::string to_text(const Graph& graph);
std::string to_text(const ValueType& type);

/// Drops nodes whose outputs nobody reads, then values nobody mentions; ids are renumbered.
void remove_dead(Graph& graph);

}  // namespace colonnade
