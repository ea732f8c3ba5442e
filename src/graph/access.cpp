// SPDX-License-Identifier: Apache-2.0
// Access maps. Every rule answers for one image: an operator that mixes images does not work by rows.
#include <algorithm>

#include "graph/parameters.hpp"
#include "graph/resize_coordinates.hpp"
#include "graph/shape_rules.hpp"
#include "graph/windows.hpp"

namespace colonnade {
namespace {

using Rows = std::optional<Interval>;

constexpr std::int64_t kTapRows = 256;  // rows whose taps are computed at a time

/// Axis that holds the rows; nothing where there is but one row.
std::optional<std::int64_t> row_axis(const Shape& shape) {
  if (shape.size() < 2) return std::nullopt;
  return shape.size() == 2 ? 0 : 1;
}

/// What was found out for one row and holds for all.
struct Known {
  std::optional<WindowAxis> window;   ///< over the rows
  std::optional<std::int64_t> shift;  ///< row r of the output is row r + shift of the input, where it has that
  std::int64_t input_rows = 0;        ///< where there is a shift
};

/// One question: which rows of input `input` (type `from`) do the rows `rows` of the output (type `to`) need?
struct Question {
  const Graph& graph;
  const Node& node;
  std::size_t input;
  Interval rows;
  const Shape& from;
  const Shape& to;
  Known& known;

  std::int64_t axis() const { return *row_axis(from); }
  std::int64_t input_rows() const { return at(from, axis()); }
  std::int64_t rank() const { return rank_of(from); }
  std::int64_t normal(std::int64_t given) const { return normalize_axis(given, rank(), node); }
  bool along_channels(std::int64_t given) const { return normal(given) == rank() - 1; }
  /// The axis is neither the images nor the rows.
  bool inside_row(std::int64_t normal_axis) const { return normal_axis > axis(); }
  Interval clipped(Interval wanted) const {
    const Interval inside = intersect(wanted, {0, input_rows()});
    return inside.empty() ? Interval{} : inside;
  }
  Interval same() const { return shifted(0); }
  Interval shifted(std::int64_t shift) const {
    known.shift = shift;
    known.input_rows = input_rows();
    return clipped({rows.begin + shift, rows.end + shift});
  }
};

/// Same rows for an operand that runs along with the output: as many images and as many rows.
Rows elementwise(const Question& q) {
  if (q.from.size() != q.to.size()) return std::nullopt;
  for (std::int64_t axis = 0; axis <= q.axis(); ++axis) {
    if (at(q.from, axis) != at(q.to, axis)) return std::nullopt;
  }
  return q.same();
}

bool is_residual(const FusedEpilogue& epilogue, const Question& q) {
  return epilogue.residual && q.input + 1 == q.node.inputs.size();
}

Shape spatial_of(const Shape& shape) { return Shape(shape.begin() + 1, shape.end() - 1); }

/// The window over the rows. The operator's kernel sizes are taken from the weight where the attribute is left out.
template <class Window>
const WindowAxis& row_window(const Window& op, const Question& q) {
  if (q.known.window) return *q.known.window;
  Window full = op;
  if constexpr (!std::is_same_v<Window, Pool>) {
    if (full.kernel.empty()) {
      const Shape& weight = q.graph.value(q.node.input(1)).type.static_shape();
      full.kernel.assign(weight.begin() + 2, weight.end());
    }
  }
  return q.known.window.emplace(window_axes(full, spatial_of(q.from)).front());
}

Rows access(const Unary&, const Question& q) { return elementwise(q); }
Rows access(const Binary&, const Question& q) { return elementwise(q); }
Rows access(const Select&, const Question& q) { return elementwise(q); }
Rows access(const Cast&, const Question& q) { return elementwise(q); }

Rows access(const Conv& op, const Question& q) {
  if (is_residual(op.epilogue, q)) return elementwise(q);
  if (q.input != 0) return std::nullopt;
  return q.clipped(window_rows(row_window(op, q), q.rows));
}

Rows access(const ConvTranspose& op, const Question& q) {
  if (is_residual(op.epilogue, q)) return elementwise(q);
  if (q.input != 0) return std::nullopt;
  return q.clipped(transposed_window_rows(row_window(op, q), q.rows));
}

Rows access(const Pool& op, const Question& q) { return q.clipped(window_rows(row_window(op, q), q.rows)); }

Rows access(const MatMul& op, const Question& q) {
  if (is_residual(op.epilogue, q)) return elementwise(q);
  const Value& b = q.graph.value(q.node.input(1));
  const bool whole_b = b.constant != nullptr || b.type.shape->size() == 2;
  if (q.input != 0 || op.transpose_a || !whole_b) return std::nullopt;
  return elementwise(q);
}

Rows access(const Reduce& op, const Question& q) {
  const auto axes = constant_ints(q.graph, q.node, 1);
  if (q.input != 0 || !op.keepdims) return std::nullopt;
  if (!axes && q.node.input(1) != kAbsent) return std::nullopt;
  if (!axes || axes->empty()) return op.noop_with_empty_axes ? Rows(q.same()) : std::nullopt;
  const bool inside =
      std::all_of(axes->begin(), axes->end(), [&](std::int64_t axis) { return q.inside_row(q.normal(axis)); });
  return inside ? Rows(q.same()) : std::nullopt;
}

Rows along_channels(std::int64_t axis, const Question& q) {
  return q.input == 0 && q.along_channels(axis) ? Rows(q.same()) : std::nullopt;
}
Rows access(const Softmax& op, const Question& q) { return along_channels(op.axis, q); }
Rows access(const BatchNorm&, const Question& q) { return q.input == 0 ? Rows(q.same()) : std::nullopt; }
Rows access(const LayerNorm& op, const Question& q) { return along_channels(op.axis, q); }
Rows access(const Lrn& op, const Question& q) { return along_channels(op.axis, q); }

Interval touched_by(const ResizeTaps& taps) {
  Interval touched;
  for (std::size_t tap = 0; tap < taps.indices.size(); ++tap) {
    const bool outside = !taps.outside.empty() && taps.outside[tap / static_cast<std::size_t>(taps.taps)];
    if (!outside && taps.weights[tap] != 0) touched = hull(touched, {taps.indices[tap], taps.indices[tap] + 1});
  }
  return touched;
}

Rows access(const Resize& op, const Question& q) {
  const auto axes = resize_axes(q.graph, q.node);
  if (!axes || q.input != 0 || (q.axis() > 0 && !axes->front().is_identity())) return std::nullopt;
  const ResizeAxis& axis = (*axes)[static_cast<std::size_t>(q.axis())];
  if (axis.is_identity()) return q.same();
  Interval touched;
  for (std::int64_t begin = q.rows.begin; begin < q.rows.end; begin += kTapRows) {
    const Interval block = intersect(q.rows, {begin, begin + kTapRows});
    touched = hull(touched, touched_by(resize_taps(op, axis, block)));
  }
  return touched;
}

/// Between channels-first and channels-last the interval counts rows of the image (H) on either side.
Rows access(const Transpose& op, const Question& q) {
  const bool to_last = op.perm == Ints{0, 2, 3, 1};
  const bool to_first = op.perm == Ints{0, 3, 1, 2};
  return to_last || to_first ? Rows(q.rows) : std::nullopt;
}

/// Rows of the output, counted as the access maps do.
std::int64_t output_rows(const Node& node, const Shape& shape) {
  const auto* transpose = std::get_if<Transpose>(&node.op);
  if (transpose != nullptr && transpose->perm == Ints{0, 3, 1, 2}) return shape[2];
  return row_shape(shape).rows;
}

Rows access(const Concat& op, const Question& q) {
  const std::int64_t axis = q.normal(op.axis);
  if (q.inside_row(axis)) return q.same();
  if (axis != q.axis()) return std::nullopt;
  std::int64_t first = 0;
  for (std::size_t before = 0; before < q.input; ++before) {
    const ValueType& type = q.graph.value(q.node.input(before)).type;
    if (!type.is_static()) return std::nullopt;
    first += at(*type.shape, axis);
  }
  return q.clipped({q.rows.begin - first, q.rows.end - first});
}

Rows access(const Slice&, const Question& q) {
  const auto starts = constant_ints(q.graph, q.node, 1);
  const auto ends = constant_ints(q.graph, q.node, 2);
  const bool constant_axes = q.node.input(3) == kAbsent || constant_ints(q.graph, q.node, 3);
  const bool constant_steps = q.node.input(4) == kAbsent || constant_ints(q.graph, q.node, 4);
  if (q.input != 0 || !starts || !ends || !constant_axes || !constant_steps) return std::nullopt;
  const auto axes = constant_ints(q.graph, q.node, 3);
  const auto steps = constant_ints(q.graph, q.node, 4);
  std::int64_t shift = 0;
  for (std::size_t index = 0; index < starts->size(); ++index) {
    const std::int64_t axis = axes ? q.normal((*axes)[index]) : static_cast<std::int64_t>(index);
    const SliceRange range =
        slice_range(at(q.from, axis), (*starts)[index], (*ends)[index], steps ? (*steps)[index] : 1);
    const bool all = range == SliceRange{0, 1, at(q.from, axis)};
    if (range.step != 1 || (axis < q.axis() && !all)) return std::nullopt;
    if (axis == q.axis()) shift += range.first;
  }
  return q.shifted(shift);
}

Interval padded_rows(PadMode mode, Interval shifted, std::int64_t size) {
  if (mode == PadMode::edge) {
    return {std::clamp<std::int64_t>(shifted.begin, 0, size - 1),
            std::clamp<std::int64_t>(shifted.end - 1, 0, size - 1) + 1};
  }
  if (mode == PadMode::reflect && shifted.size() >= 2 * size) return {0, size};
  Interval touched = intersect(shifted, {0, size});
  if (mode == PadMode::constant) return touched.empty() ? Interval{} : touched;
  for (std::int64_t row = shifted.begin; row < shifted.end; ++row) {
    const std::int64_t source = padded_source(mode, row, size);
    touched = hull(touched, {source, source + 1});
  }
  return touched;
}

Rows access(const Pad& op, const Question& q) {
  const auto pads = axis_pads(q.graph, q.node, q.rank());
  if (q.input != 0 || !pads || op.mode == PadMode::wrap || q.input_rows() == 0) return std::nullopt;
  for (std::int64_t axis = 0; axis < q.rank(); ++axis) {
    const bool padded = at(pads->begins, axis) != 0 || at(pads->ends, axis) != 0;
    const bool crops = at(pads->begins, axis) < 0 || at(pads->ends, axis) < 0;
    if (axis < q.axis() && padded) return std::nullopt;
    if (axis == q.axis() && crops && op.mode != PadMode::constant) return std::nullopt;
  }
  const std::int64_t begin = at(pads->begins, q.axis());
  return padded_rows(op.mode, {q.rows.begin - begin, q.rows.end - begin}, q.input_rows());
}

Rows access(const DepthToSpace& op, const Question& q) {
  if (!q.along_channels(op.axis)) return std::nullopt;
  return q.clipped({q.rows.begin / op.block, (q.rows.end - 1) / op.block + 1});
}
Rows access(const SpaceToDepth& op, const Question& q) {
  if (!q.along_channels(op.axis)) return std::nullopt;
  return q.clipped({q.rows.begin * op.block, q.rows.end * op.block});
}

Rows access(const ArgReduce&, const Question&) { return std::nullopt; }
Rows access(const Hardmax&, const Question&) { return std::nullopt; }
Rows access(const InstanceNorm&, const Question&) { return std::nullopt; }
Rows access(const Reshape&, const Question&) { return std::nullopt; }
Rows access(const Flatten&, const Question&) { return std::nullopt; }
Rows access(const Squeeze&, const Question&) { return std::nullopt; }
Rows access(const Unsqueeze&, const Question&) { return std::nullopt; }
Rows access(const Split&, const Question&) { return std::nullopt; }
Rows access(const Expand&, const Question&) { return std::nullopt; }
Rows access(const Tile&, const Question&) { return std::nullopt; }
Rows access(const Gather& op, const Question& q) {
  const auto& indices = q.graph.value(q.node.input(1)).type.shape;
  return q.from.size() > 1 && indices && indices->size() == 1 ? along_channels(op.axis, q) : std::nullopt;
}
Rows access(const GatherElements&, const Question&) { return std::nullopt; }
Rows access(const GatherNd&, const Question&) { return std::nullopt; }
Rows access(const ScatterNd&, const Question&) { return std::nullopt; }
Rows access(const ScatterElements&, const Question&) { return std::nullopt; }
Rows access(const ShapeOf&, const Question&) { return std::nullopt; }
Rows access(const SizeOf&, const Question&) { return std::nullopt; }
Rows access(const Fill&, const Question&) { return std::nullopt; }
Rows access(const Range&, const Question&) { return std::nullopt; }
Rows access(const OneHot&, const Question&) { return std::nullopt; }
Rows access(const TopK&, const Question&) { return std::nullopt; }
Rows access(const CumSum&, const Question&) { return std::nullopt; }
Rows access(const NonZero&, const Question&) { return std::nullopt; }
Rows access(const Trilu&, const Question&) { return std::nullopt; }
Rows access(const Einsum&, const Question&) { return std::nullopt; }
Rows access(const Recurrent&, const Question&) { return std::nullopt; }
Rows access(const GridSample&, const Question&) { return std::nullopt; }
Rows access(const TreeEnsemble&, const Question&) { return std::nullopt; }
Rows access(const Quantize&, const Question& q) { return q.input == 0 ? elementwise(q) : std::nullopt; }
Rows access(const Dequantize& op, const Question& q) {
  return q.input == 0 && op.block == 0 ? elementwise(q) : std::nullopt;
}
Rows access(const ByteScale&, const Question&) { return std::nullopt; }
Rows access(const Lookup&, const Question& q) { return q.input == 0 ? elementwise(q) : std::nullopt; }
Rows access(const ByteConv& op, const Question& q) { return access(op.window, q); }
Rows access(const ByteMatMul&, const Question& q) { return q.input == 0 ? elementwise(q) : std::nullopt; }
Rows access(const IntegerMatMul&, const Question&) { return std::nullopt; }
Rows access(const ByteBinary&, const Question& q) { return elementwise(q); }
Rows access(const ByteAverage& op, const Question& q) { return access(op.window, q); }
Rows access(const Attention&, const Question&) { return std::nullopt; }
Rows access(const If&, const Question&) { return std::nullopt; }
Rows access(const Loop&, const Question&) { return std::nullopt; }
Rows access(const Scan&, const Question&) { return std::nullopt; }
Rows access(const Opaque&, const Question&) { return std::nullopt; }

Rows answer(const Graph& graph, const Node& node, std::size_t input, Interval rows, Known& known) {
  if (node.input(input) == kAbsent || node.outputs.empty() || node.outputs.front() == kAbsent) return std::nullopt;
  const Value& value = graph.value(node.input(input));
  const ValueType& output = graph.value(node.outputs.front()).type;
  if (value.constant || !value.type.is_static() || !output.is_static() || !row_axis(*value.type.shape))
    return std::nullopt;
  const Interval inside = intersect(rows, {0, output_rows(node, *output.shape)});
  const Question question{graph, node, input, inside, *value.type.shape, *output.shape, known};
  const Rows needed = std::visit([&](const auto& op) { return access(op, question); }, node.op);
  return needed && inside.empty() ? Interval{} : needed;
}

}  // namespace

std::int64_t padded_source(PadMode mode, std::int64_t i, std::int64_t size) {
  if (mode == PadMode::constant) return i < 0 || i >= size ? -1 : i;
  if (mode == PadMode::edge || size == 1) return std::clamp<std::int64_t>(i, 0, size - 1);
  const std::int64_t period = 2 * (size - 1);
  const std::int64_t phase = ((i % period) + period) % period;
  return phase < size ? phase : period - phase;
}

RowShape row_shape(const Shape& shape) {
  RowShape result;
  if (shape.empty()) return result;
  result.channels = shape.back();
  if (shape.size() == 2) result.rows = shape.front();
  if (shape.size() < 3) return result;
  result.images = shape[0];
  result.rows = shape[1];
  result.width = element_count(std::span<const std::int64_t>(shape).subspan(2, shape.size() - 3));
  return result;
}

std::optional<Interval> access_rows(const Graph& graph, const Node& node, std::size_t input, Interval rows) {
  Known known;
  return answer(graph, node, input, rows, known);
}

std::vector<Interval> access_each_row(const Graph& graph, const Node& node, std::size_t input, std::int64_t rows) {
  Known known;
  std::vector<Interval> each;
  each.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    if (known.shift) {
      const Interval needed = intersect({row + *known.shift, row + *known.shift + 1}, {0, known.input_rows});
      each.push_back(needed.empty() ? Interval{} : needed);
      continue;
    }
    const Rows needed = answer(graph, node, input, {row, row + 1}, known);
    if (!needed) return {};
    each.push_back(*needed);
  }
  return each;
}

}  // namespace colonnade
