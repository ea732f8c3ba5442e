// SPDX-License-Identifier: Apache-2.0
// The core operators: attributes as plain structs, in one closed variant. What ONNX keeps in inputs since its newest
// opsets (axes, shapes, pads, slice bounds, scales) is an input here too. Unless an operator says otherwise, tensors
// broadcast and count axes as in ONNX.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "colonnade/colonnade.hpp"
#include "graph/bytes.hpp"
#include "graph/elementwise.hpp"
#include "graph/opaque.hpp"
#include "graph/sums.hpp"

namespace colonnade {

/// inputs x, axes (int64, absent or empty: all axes, or none with noop_with_empty_axes).
struct Reduce {
  ReduceKind kind = ReduceKind::sum;
  bool keepdims = true;
  bool noop_with_empty_axes = false;
  bool operator==(const Reduce&) const = default;
};

struct ArgReduce {
  bool max = true;
  std::int64_t axis = 0;
  bool keepdims = true;
  bool select_last_index = false;
  bool operator==(const ArgReduce&) const = default;
};

struct Softmax {
  std::int64_t axis = -1;
  bool log = false;
  bool operator==(const Softmax&) const = default;
};
/// 1 at the (first) largest element along the axis, else 0.
struct Hardmax {
  std::int64_t axis = -1;
  bool operator==(const Hardmax&) const = default;
};
/// inputs x, scale, bias, mean, variance; channels along `axis`.
struct BatchNorm {
  float epsilon = 1e-5f;
  std::int64_t axis = 1;
  bool operator==(const BatchNorm&) const = default;
};
/// inputs x, scale, bias; statistics over all axes but 0 and the channel `axis`.
struct InstanceNorm {
  float epsilon = 1e-5f;
  std::int64_t axis = 1;
  bool operator==(const InstanceNorm&) const = default;
};
/// inputs x, scale, bias or absent; statistics over axes [axis, rank).
struct LayerNorm {
  float epsilon = 1e-5f;
  std::int64_t axis = -1;
  bool rms = false;
  bool operator==(const LayerNorm&) const = default;
};
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4f, beta = 0.75f, bias = 1;
  std::int64_t axis = 1;
  bool operator==(const Lrn&) const = default;
};

enum class ResizeMode : std::uint8_t { nearest, linear, cubic };
enum class CoordinateMode : std::uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_crop_and_resize
};
enum class NearestMode : std::uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
enum class AspectPolicy : std::uint8_t { stretch, not_larger, not_smaller };
/// inputs x, roi or absent, scales or absent, sizes or absent (exactly one of the last two). `axes` empty: all.
struct Resize {
  ResizeMode mode = ResizeMode::nearest;
  CoordinateMode coordinates = CoordinateMode::half_pixel;
  NearestMode nearest = NearestMode::round_prefer_floor;
  AspectPolicy aspect = AspectPolicy::stretch;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
  float extrapolation = 0;
  Ints axes;
  bool operator==(const Resize&) const = default;
};

/// inputs x, shape.
struct Reshape {
  bool allow_zero = false;
  bool operator==(const Reshape&) const = default;
};
struct Flatten {
  std::int64_t axis = 1;
  bool operator==(const Flatten&) const = default;
};
/// inputs x, axes (absent for Squeeze: all of size 1).
struct Squeeze {
  bool operator==(const Squeeze&) const = default;
};
struct Unsqueeze {
  bool operator==(const Unsqueeze&) const = default;
};
struct Transpose {
  Ints perm;
  bool operator==(const Transpose&) const = default;
};  // empty: reversed
struct Concat {
  std::int64_t axis = 0;
  bool operator==(const Concat&) const = default;
};
/// inputs x, starts, ends, axes or absent, steps or absent.
struct Slice {
  bool operator==(const Slice&) const = default;
};
/// inputs x, sizes or absent (equal parts, the last smaller).
struct Split {
  std::int64_t axis = 0;
  bool operator==(const Split&) const = default;
};
enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
/// inputs x, pads, value or absent, axes or absent. Negative pads crop.
struct Pad {
  PadMode mode = PadMode::constant;
  bool operator==(const Pad&) const = default;
};
/// inputs x, shape.
struct Expand {
  bool operator==(const Expand&) const = default;
};
/// inputs x, repeats.
struct Tile {
  bool operator==(const Tile&) const = default;
};
struct Gather {
  std::int64_t axis = 0;
  bool operator==(const Gather&) const = default;
};
struct GatherElements {
  std::int64_t axis = 0;
  bool operator==(const GatherElements&) const = default;
};
struct GatherNd {
  std::int64_t batch_dims = 0;
  bool operator==(const GatherNd&) const = default;
};
enum class ScatterMode : std::uint8_t { replace, add, mul, min, max };
struct ScatterNd {
  ScatterMode mode = ScatterMode::replace;
  bool operator==(const ScatterNd&) const = default;
};
struct ScatterElements {
  std::int64_t axis = 0;
  ScatterMode mode = ScatterMode::replace;
  bool operator==(const ScatterElements&) const = default;
};
/// Channels along `axis` (1, or the last), the two spatial axes are the other ones after 0. `crd`: column-row-depth
/// order.
struct DepthToSpace {
  std::int64_t block = 1;
  bool crd = false;
  std::int64_t axis = 1;
  bool operator==(const DepthToSpace&) const = default;
};
struct SpaceToDepth {
  std::int64_t block = 1;
  std::int64_t axis = 1;
  bool operator==(const SpaceToDepth&) const = default;
};

/// The dimensions [start, end) of the input's shape as int64.
struct ShapeOf {
  std::int64_t start = 0;
  std::optional<std::int64_t> end;
  bool operator==(const ShapeOf&) const = default;
};
struct SizeOf {
  bool operator==(const SizeOf&) const = default;
};
/// inputs shape, value (one element). The output has value's type.
struct Fill {
  bool operator==(const Fill&) const = default;
};
/// inputs start, limit, delta.
struct Range {
  bool operator==(const Range&) const = default;
};
/// inputs indices, depth, values [off, on].
struct OneHot {
  std::int64_t axis = -1;
  bool operator==(const OneHot&) const = default;
};
/// inputs x, k; outputs values, indices.
struct TopK {
  std::int64_t axis = -1;
  bool largest = true;
  bool sorted = true;
  bool operator==(const TopK&) const = default;
};
/// inputs x, axis.
struct CumSum {
  bool exclusive = false;
  bool reverse = false;
  bool operator==(const CumSum&) const = default;
};
struct NonZero {
  bool operator==(const NonZero&) const = default;
};
struct Trilu {
  bool upper = true;
  bool operator==(const Trilu&) const = default;
};
struct Einsum {
  std::string equation;
  bool operator==(const Einsum&) const = default;
};

enum class Direction : std::uint8_t { forward, reverse, bidirectional };
/// As ONNX LSTM, GRU and RNN with layout 0: inputs x [S, B, I], w, r, bias, sequence_lens, initial_h, then for LSTM
/// initial_c and peepholes; absent ones allowed. outputs y [S, D, B, H], y_h, and for LSTM y_c.
enum class RecurrentKind : std::uint8_t { rnn, gru, lstm };
struct Recurrent {
  RecurrentKind kind = RecurrentKind::lstm;
  Direction direction = Direction::forward;
  std::int64_t hidden_size = 0;
  std::vector<std::string> activations;  // ONNX names; empty: the defaults
  std::vector<float> activation_alpha, activation_beta;
  float clip = 0;  // 0: none
  bool input_forget = false;
  bool linear_before_reset = false;
  bool operator==(const Recurrent&) const = default;
};

/// inputs x [N, C, H, W] (channels first), grid [N, Ho, Wo, 2].
struct GridSample {
  ResizeMode mode = ResizeMode::linear;
  enum class Padding : std::uint8_t { zeros, border, reflection } padding = Padding::zeros;
  bool align_corners = false;
  bool operator==(const GridSample&) const = default;
};

/// ai.onnx.ml tree ensembles. x [N, features]. A classifier has outputs labels [N] int64 and scores
/// [N, classes]; a regressor one output [N, targets]. Nodes are stored tree by tree, roots first in `roots`; children
/// are indices into `nodes`; a leaf has feature -1 and its weights in leaf_weights [first_weight, last_weight).
struct TreeEnsemble {
  enum class Mode : std::uint8_t { leq, lt, gte, gt, eq, neq, leaf };
  enum class Post : std::uint8_t { none, softmax, logistic, softmax_zero, probit };
  enum class Aggregate : std::uint8_t { sum, average, min, max };
  struct TreeNode {
    std::int32_t feature = -1;
    double value = 0;
    Mode mode = Mode::leaf;
    bool missing_tracks_true = false;
    std::int32_t if_true = 0, if_false = 0;
    std::int32_t first_weight = 0, last_weight = 0;
    bool operator==(const TreeNode&) const = default;
  };
  struct Weight {
    std::int32_t target = 0;
    double value = 0;
    bool operator==(const Weight&) const = default;
  };
  bool classifier = false;
  std::vector<TreeNode> nodes;
  std::vector<std::int32_t> roots;
  std::vector<Weight> leaf_weights;
  std::vector<double> base_values;
  DType scores = DType::f32;      // their type
  Ints labels;                    // classifier: int64 labels, one a class
  std::int64_t target_count = 1;  // classes or targets
  Post post = Post::none;
  Aggregate aggregate = Aggregate::sum;
  bool binary_case = false;  // all weights name the first class of two: one score stands for both
  bool operator==(const TreeEnsemble&) const = default;
};

/// A graph within a node. Constants that it uses of the graphs around it are its own; whatever else it captures is an
/// input of it, after the ones its operator gives it.
using Body = std::shared_ptr<const struct Graph>;

/// inputs condition (one boolean), then what the branches capture: the inputs of both bodies. Outputs: theirs.
struct If {
  Body then_branch, else_branch;
  bool operator==(const If&) const = default;
};
/// inputs trip count or absent, condition or absent, `states` states, then captures. Body inputs: iteration number
/// (int64) and condition of one element, states, captures; outputs: condition, states, then one slice of each scan
/// output. Outputs: the final states, then the stacked slices.
struct Loop {
  Body body;
  std::int64_t states = 0;
  bool operator==(const Loop&) const = default;
};
/// inputs `states` states, `scans` tensors to walk along, then captures. Body inputs: states, a slice of each tensor,
/// captures; outputs: states, then slices to stack. Axes and directions (1: reversed) by tensor; none: 0.
struct Scan {
  Body body;
  std::int64_t states = 0, scans = 0;
  Ints input_axes, input_reversed, output_axes, output_reversed;
  bool operator==(const Scan&) const = default;
};

using AnyOperator =
    std::variant<Unary, Binary, Select, Cast, Conv, ConvTranspose, MatMul, Pool, Reduce, ArgReduce, Softmax, Hardmax,
                 BatchNorm, InstanceNorm, LayerNorm, Lrn, Resize, Reshape, Flatten, Squeeze, Unsqueeze, Transpose,
                 Concat, Slice, Split, Pad, Expand, Tile, Gather, GatherElements, GatherNd, ScatterNd, ScatterElements,
                 DepthToSpace, SpaceToDepth, ShapeOf, SizeOf, Fill, Range, OneHot, TopK, CumSum, NonZero, Trilu, Einsum,
                 Recurrent, GridSample, TreeEnsemble, Quantize, Dequantize, ByteScale, Lookup, ByteConv, ByteMatMul,
                 IntegerMatMul, ByteBinary, ByteAverage, Attention, If, Loop, Scan, Opaque>;

/// One of them. What a variant of so many alternatives does when it is copied, moved, compared or destroyed is compiled
/// once, not wherever a node is.
struct Operator : AnyOperator {
  Operator() noexcept;
  template <class Alternative>
  requires(!std::is_base_of_v<AnyOperator, std::remove_cvref_t<Alternative>>)
      Operator(Alternative&& alternative)  // NOLINT(google-explicit-constructor): an operator is any of them
      : AnyOperator(std::in_place_type<std::remove_cvref_t<Alternative>>, std::forward<Alternative>(alternative)) {}
  Operator(const Operator& other);
  Operator(Operator&& other) noexcept;
  Operator& operator=(const Operator& other);
  Operator& operator=(Operator&& other) noexcept;
  ~Operator();
  bool operator==(const Operator& other) const;
};

/// The graphs within an operator.
std::vector<Body> bodies_of(const Operator& op);
std::vector<Body*> bodies_in(Operator& op);

/// "Conv", "Relu", "Add", ...: the operator's name in printed graphs; Unary and Binary are named by their kind.
std::string name_of(const Operator& op);
/// Attributes as text: "kernel=3x3 strides=2x2 pads=1,1,1,1".
std::string attributes_of(const Operator& op);

}  // namespace colonnade
