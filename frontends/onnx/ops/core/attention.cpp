// SPDX-License-Identifier: Apache-2.0
// Attention of all kinds and what surrounds it: rotary embeddings, caches, linear attention and its convolution.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/core/window.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {

ValueId turn_heads(Lowering& low, const Values& x_and_angles, const Turn& turn) {
  const Attributes attributes{
      {"pairs", turn.pairs}, {"heads_axis", turn.heads_axis}, {"interleaved", std::int64_t{turn.interleaved}}};
  return low.emit(make_opaque(reference::kRotate, 1, attributes), x_and_angles);
}

namespace {

constexpr std::string_view kPreviewDomain = "ai.onnx.preview";

/// x [N, sequence, heads * size] as [N, sequence, heads, size].
ValueId with_heads(Lowering& low, ValueId x, std::int64_t heads) {
  const std::int64_t width = low.dim(x, 2);
  if (width >= 0 && width % heads != 0) low.invalid("{} heads do not divide a width of {}", heads, width);
  return reshape(low, x, {0, 0, heads, -1});
}

/// x [N, heads, sequence, size]; of rank 3 the heads lie in the last axis and are counted by the attribute.
ValueId split_heads(Lowering& low, ValueId x, std::string_view attribute) {
  const std::int64_t rank = low.rank(x);
  if (rank == 4) return x;
  if (rank != 3) low.invalid("expected inputs of rank 3 or 4, found rank {}", rank);
  return transpose(low, with_heads(low, x, read_heads(low, attribute)), {0, 2, 1, 3});
}

/// A dimension as a vector of one element.
ValueId dim_of(Lowering& low, ValueId x, std::int64_t axis) {
  const std::int64_t known = low.dim(x, axis);
  return known >= 0 ? ints(low, {known}) : low.emit(ShapeOf{.start = axis, .end = axis + 1}, {x});
}

ValueId length_of(Lowering& low, ValueId x, std::int64_t axis) {
  const std::int64_t known = low.dim(x, axis);
  return known >= 0 ? int_scalar(low, known) : squeeze(low, dim_of(low, x, axis), {0});
}

/// 0, 1, ... along an axis.
ValueId positions(Lowering& low, ValueId x, std::int64_t axis) {
  return low.emit(Range{}, {int_scalar(low, 0), length_of(low, x, axis), int_scalar(low, 1)});
}

/// x [N, h, s, d] cut into as many heads as `like` has: neighbouring heads become rows of one, or the other way round.
/// Queries that share a key head meet it in one product so.
ValueId regrouped(Lowering& low, ValueId x, ValueId like) {
  const std::int64_t heads = low.dim(like, 1);
  if (heads > 0) return heads == low.dim(x, 1) ? x : reshape(low, x, {0, heads, -1, 0});
  const ValueId shape = low.emit(Concat{0}, {ints(low, {0}), dim_of(low, like, 1), ints(low, {-1}), ints(low, {0})});
  return low.emit(Reshape{}, {x, shape});
}

void check_heads(const Lowering& low, ValueId query, ValueId key) {
  const std::int64_t queries = low.dim(query, 1), keys = low.dim(key, 1);
  if (queries >= 0 && keys >= 0 && (keys == 0 || queries % keys != 0)) {
    low.invalid("{} key heads do not divide {} query heads", keys, queries);
  }
}

/// query * scale, by default over the square root of its size.
ValueId scaled_query(Lowering& low, ValueId query) {
  const DType dtype = low.dtype(query);
  const std::int64_t size = low.dim(query, 3);
  const auto scale = find_float(low.node(), "scale");
  if (scale || size > 0) {
    const double factor = scale ? static_cast<double>(*scale) : 1 / std::sqrt(static_cast<double>(size));
    return factor == 1 ? query : binary_scalar(low, BinaryKind::mul, query, factor);
  }
  const ValueId root = unary(low, UnaryKind::sqrt, cast(low, length_of(low, query, 3), DType::f32));
  return binary(low, BinaryKind::mul, query, cast(low, unary(low, UnaryKind::reciprocal, root), dtype));
}

/// query times key transposed: [N, query heads, queries, keys].
ValueId scores_of(Lowering& low, ValueId query, ValueId key) {
  const ValueId grouped = regrouped(low, scaled_query(low, query), key);
  return regrouped(low, low.emit(MatMul{.transpose_b = true, .epilogue = {}}, {grouped, key}), query);
}

/// weights [N, query heads, queries, keys] times value.
ValueId weighted_values(Lowering& low, ValueId weights, ValueId value, ValueId query) {
  return regrouped(low, low.emit(MatMul{}, {regrouped(low, weights, value), value}), query);
}

DType read_precision(const Lowering& low, DType fallback) {
  const auto given = find_int(low.node(), "softmax_precision");
  if (!given) return fallback;
  const DType dtype = dtype_of(*given, low.node().label() + ": attribute 'softmax_precision'");
  if (!is_float(dtype)) low.invalid("attribute 'softmax_precision': {} is no real type", name_of(dtype));
  return dtype;
}

/// What is known about which queries and keys may meet.
struct Meeting {
  ValueId query, key;         ///< [N, heads, sequence, size], the key with its past
  ValueId past;               ///< key of the past or absent
  ValueId lengths = kAbsent;  ///< keys that are no padding, one a batch entry
  ValueId allowed = kAbsent;  ///< broadcasts to [N, heads, queries, keys]; absent: all
  ValueId addend = kAbsent;   ///< of the scores
  bool may_bar_rows = false;  ///< a query may be left without any key
};

void allow(Lowering& low, Meeting& meeting, ValueId condition) {
  meeting.allowed =
      meeting.allowed == kAbsent ? condition : binary(low, BinaryKind::logical_and, meeting.allowed, condition);
}

/// Masks may be shorter than the keys since opset 24: what they leave out is barred.
ValueId padded_mask(Lowering& low, ValueId mask, const Meeting& meeting) {
  const std::int64_t rank = low.rank(mask);
  if (rank < 1) return mask;
  const std::int64_t found = low.dim(mask, rank - 1), keys = low.dim(meeting.key, 2);
  if (low.opset() < 24 || (found >= 0 && found == keys)) return mask;
  if (found > keys && keys >= 0) low.invalid("the mask has {} columns, expected at most {}", found, keys);
  const ValueId missing = binary(low, BinaryKind::sub, dim_of(low, meeting.key, 2), dim_of(low, mask, rank - 1));
  const ValueId pads =
      found >= 0 && keys >= 0 ? ints(low, {0, keys - found}) : low.emit(Concat{0}, {ints(low, {0}), missing});
  const double barred = low.dtype(mask) == DType::boolean ? 0 : -std::numeric_limits<double>::infinity();
  return low.emit(Pad{}, {mask, pads, scalar(low, low.dtype(mask), barred), ints(low, {-1})});
}

void apply_mask(Lowering& low, Meeting& meeting) {
  ValueId mask = low.optional_input(3);
  if (mask == kAbsent) return;
  meeting.may_bar_rows = true;
  if (low.dtype(mask) != DType::boolean) mask = cast(low, mask, low.dtype(meeting.query));
  mask = padded_mask(low, mask, meeting);
  if (low.dtype(mask) == DType::boolean) {
    allow(low, meeting, mask);
  } else {
    meeting.addend = mask;
  }
}

/// Positions of the queries among the keys: [queries, 1], or [N, 1, queries, 1] where each batch entry has its own.
ValueId query_positions(Lowering& low, const Meeting& meeting) {
  const ValueId rows = unsqueeze(low, positions(low, meeting.query, 2), {1});
  if (meeting.past != kAbsent) return binary(low, BinaryKind::add, rows, length_of(low, meeting.past, 2));
  if (meeting.lengths == kAbsent) return rows;
  const ValueId before = binary(low, BinaryKind::sub, meeting.lengths, length_of(low, meeting.query, 2));
  return binary(low, BinaryKind::add, rows, unsqueeze(low, before, {1, 2, 3}));
}

/// Causality, windows and padding, which compare positions.
void apply_positions(Lowering& low, Meeting& meeting) {
  const bool causal = low.flag("is_causal");
  const std::int64_t left = low.int_or("left_window_size", -1), right = low.int_or("right_window_size", -1);
  if (left < -1 || right < -1) low.invalid("a window of {} and {} positions is out of range", left, right);
  if (!causal && left < 0 && right < 0 && meeting.lengths == kAbsent) return;
  const ValueId keys = positions(low, meeting.key, 2);
  if (causal || left >= 0 || right >= 0) {
    const ValueId rows = query_positions(low, meeting);
    const auto shifted = [&](std::int64_t by) { return binary(low, BinaryKind::add, rows, int_scalar(low, by)); };
    if (causal) allow(low, meeting, binary(low, BinaryKind::less_or_equal, keys, rows));
    if (left >= 0) allow(low, meeting, binary(low, BinaryKind::greater_or_equal, keys, shifted(-left)));
    if (right >= 0) allow(low, meeting, binary(low, BinaryKind::less_or_equal, keys, shifted(right)));
  }
  if (meeting.lengths != kAbsent) {
    allow(low, meeting, binary(low, BinaryKind::less, keys, unsqueeze(low, meeting.lengths, {1, 2, 3})));
  }
  meeting.may_bar_rows = meeting.may_bar_rows || meeting.lengths != kAbsent || left >= 0 || right >= 0;
}

/// Absent where nothing is barred or added.
ValueId bias_of(Lowering& low, const Meeting& meeting) {
  if (meeting.allowed == kAbsent) return meeting.addend;
  const DType dtype = low.dtype(meeting.query);
  const ValueId open = meeting.addend != kAbsent ? meeting.addend : scalar(low, dtype, 0);
  return select(low, meeting.allowed, open, scalar(low, dtype, -std::numeric_limits<double>::infinity()));
}

/// A query that may meet no key has weights of zero.
ValueId without_barred_rows(Lowering& low, ValueId weights, ValueId bias) {
  const ValueId best = reduce(low, ReduceKind::max, bias, {-1});
  const ValueId barred = binary_scalar(low, BinaryKind::equal, best, -std::numeric_limits<double>::infinity());
  return select(low, barred, scalar(low, low.dtype(weights), 0), weights);
}

/// Key or value with its past before it.
ValueId with_past(Lowering& low, ValueId x, ValueId past) {
  return past == kAbsent ? x : low.emit(Concat{2}, {past, x});
}

Values lower_attention(Lowering& low) {
  const ValueId past_key = low.optional_input(4), past_value = low.optional_input(5);
  if ((past_key == kAbsent) != (past_value == kAbsent)) low.invalid("expected past key and value together");
  const ValueId query = split_heads(low, low.input(0), "q_num_heads");
  const ValueId key = with_past(low, split_heads(low, low.input(1), "kv_num_heads"), past_key);
  const ValueId value = with_past(low, split_heads(low, low.input(2), "kv_num_heads"), past_value);
  check_heads(low, query, key);
  Meeting meeting{.query = query, .key = key, .past = past_key, .lengths = low.optional_input(6)};
  apply_mask(low, meeting);
  apply_positions(low, meeting);
  const ValueId bias = bias_of(low, meeting);

  const DType dtype = low.dtype(query);
  const ValueId raw = scores_of(low, query, key);
  ValueId capped = raw;
  if (const float cap = low.float_or("softcap", 0); cap != 0) {
    capped = binary_scalar(low, BinaryKind::mul,
                           unary(low, UnaryKind::tanh, binary_scalar(low, BinaryKind::div, raw, cap)), cap);
  }
  const ValueId biased = bias == kAbsent ? capped : binary(low, BinaryKind::add, capped, bias);
  const DType precision = read_precision(low, dtype);
  ValueId weights = cast(low, low.emit(Softmax{.axis = 3}, {cast(low, biased, precision)}), dtype);
  if (meeting.may_bar_rows) weights = without_barred_rows(low, weights, bias);

  const Values stages = {raw, capped, biased, weights};
  const std::int64_t mode = low.int_or("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) low.invalid("attribute 'qk_matmul_output_mode': {} does not exist", mode);
  ValueId y = weighted_values(low, weights, cast(low, value, dtype), query);
  if (low.rank(low.input(0)) == 3) y = reshape(low, transpose(low, y, {0, 2, 1, 3}), {0, 0, -1});
  return {y, key, value, stages[static_cast<std::size_t>(mode)]};
}

/// The nodes of a body in the graph around it, applied to the given values.
Values inlined(Lowering& low, const Graph& body, const Values& inputs) {
  Values here(body.values.size(), kAbsent);
  const auto place = [&](ValueId id) -> ValueId& { return here[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < inputs.size(); ++i) place(body.inputs[i]) = inputs[i];
  const auto given = [&](ValueId id) {
    if (id == kAbsent) return kAbsent;
    if (const auto& constant = body.value(id).constant; constant && place(id) == kAbsent) {
      place(id) = low.constant(constant);
    }
    return place(id);
  };
  for (const Node& node : body.nodes) {
    Values arguments;
    for (const ValueId id : node.inputs) arguments.push_back(given(id));
    const Values results = low.emit_all(node.op, std::move(arguments), node.outputs.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] != kAbsent) place(node.outputs[i]) = results[i];
    }
  }
  Values outputs;
  for (const ValueId id : body.outputs) outputs.push_back(given(id));
  return outputs;
}

/// x changed by the graph that the attribute holds, if it does.
ValueId modified(Lowering& low, std::string_view attribute, ValueId x) {
  if (!low.has_attribute(attribute)) return x;
  const Graph body = low.body(attribute, {low.type(x)});
  if (body.outputs.size() != 1) {
    low.invalid("attribute '{}': expected a graph of one output, found {}", attribute, body.outputs.size());
  }
  Values inputs = {x};
  inputs.insert(inputs.end(), low.captures().begin(), low.captures().end());
  const ValueId y = inlined(low, body, inputs).front();
  if (low.dtype(y) != low.dtype(x)) {
    low.invalid("attribute '{}': expected a graph that gives {}, found {}", attribute, name_of(low.dtype(x)),
                name_of(low.dtype(y)));
  }
  return y;
}

Values lower_flex_attention(Lowering& low) {
  const ValueId query = low.input(0), key = low.input(1), value = low.input(2);
  for (const ValueId id : {query, key, value}) {
    if (low.rank(id) != 4) low.invalid("expected inputs of rank 4, found rank {}", low.rank(id));
  }
  check_heads(low, query, key);
  const DType dtype = low.dtype(query), precision = read_precision(low, dtype == DType::f64 ? dtype : DType::f32);
  const ValueId scores = modified(low, "score_mod", cast(low, scores_of(low, query, key), precision));
  const ValueId weights = modified(low, "prob_mod", low.emit(Softmax{.axis = 3}, {scores}));
  return {cast(low, weighted_values(low, weights, cast(low, value, precision), query), dtype)};
}

/// A part of the last axis of x.
ValueId slice_last(Lowering& low, ValueId x, std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
  return low.emit(Slice{}, {x, ints(low, {begin}), ints(low, {end}), ints(low, {low.rank(x) - 1}), ints(low, {step})});
}

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

/// cos or sin [N, 1, sequence, half] (the axis of the heads is one), looked up where positions are given.
ValueId angles_of(Lowering& low, std::size_t input, std::int64_t heads_axis, std::int64_t rotated) {
  ValueId angles = low.input(input);
  if (low.optional_input(3) != kAbsent) angles = low.emit(Gather{0}, {angles, low.input(3)});
  if (low.rank(angles) != 3) low.invalid("expected input {} to give rank 3, found rank {}", input, low.rank(angles));
  if (rotated > 0 && low.dim(angles, 2) != rotated / 2) angles = slice_last(low, angles, 0, rotated / 2);
  return unsqueeze(low, angles, {heads_axis});
}

/// x rotated by the angles: pairs are neighbours, or lie half of the last axis apart.
ValueId rotate(Lowering& low, ValueId x, ValueId cos, ValueId sin, bool interleaved) {
  const Values halves = interleaved ? Values{slice_last(low, x, 0, kToTheEnd, 2), slice_last(low, x, 1, kToTheEnd, 2)}
                                    : low.emit_all(::colonnade::Split{3}, {x}, 2);
  const auto times = [&](ValueId angle, std::size_t half) { return binary(low, BinaryKind::mul, angle, halves[half]); };
  const ValueId real = binary(low, BinaryKind::sub, times(cos, 0), times(sin, 1));
  const ValueId imaginary = binary(low, BinaryKind::add, times(sin, 0), times(cos, 1));
  if (!interleaved) return low.emit(Concat{3}, {real, imaginary});
  return reshape_like(low, low.emit(Concat{4}, {unsqueeze(low, real, {4}), unsqueeze(low, imaginary, {4})}), x);
}

Values lower_rotary_embedding(Lowering& low) {
  const ValueId input = low.input(0);
  const std::int64_t rank = low.rank(input);
  if (rank != 3 && rank != 4) low.invalid("expected an input of rank 3 or 4, found rank {}", rank);
  const ValueId x = rank == 4 ? input : with_heads(low, input, read_heads(low, "num_heads"));
  const std::int64_t size = low.dim(x, 3), given = low.int_or("rotary_embedding_dim", 0);
  const std::int64_t rotated = given == 0 ? size : given;
  if (given < 0 || (size >= 0 && given > size) || (rotated > 0 && rotated % 2 != 0)) {
    low.invalid("attribute 'rotary_embedding_dim': cannot rotate {} of {} elements", given, size);
  }
  const std::int64_t heads_axis = rank == 4 ? 1 : 2;
  if (rotated > 0 && low.dtype(x) == DType::f32) {
    const Values inputs{x, low.input(1), low.input(2), low.optional_input(3)};
    const ValueId turned = turn_heads(low, inputs, {rotated / 2, heads_axis, low.flag("interleaved")});
    return {rank == 4 ? turned : reshape_like(low, turned, input)};
  }
  const ValueId cos = angles_of(low, 1, heads_axis, rotated), sin = angles_of(low, 2, heads_axis, rotated);
  const bool interleaved = low.flag("interleaved"), whole = rotated == size;
  ValueId y = rotate(low, whole ? x : slice_last(low, x, 0, rotated), cos, sin, interleaved);
  if (!whole) y = low.emit(Concat{3}, {y, slice_last(low, x, rotated, kToTheEnd)});
  return {rank == 4 ? y : reshape_like(low, y, input)};
}

/// Writes the update into the cache at each batch entry's index along the axis.
Values lower_tensor_scatter(Lowering& low) {
  const ValueId cache = low.input(0), update = low.input(1), starts = low.optional_input(2);
  const std::string mode = low.string_or("mode", "linear");
  if (mode != "linear" && mode != "circular") low.invalid("attribute 'mode': '{}' does not exist", printable(mode));
  const std::int64_t rank = low.rank(cache), axis = checked_axis(low, low.int_or("axis", -2), rank);
  if (axis == 0) low.invalid("attribute 'axis': 0 is the batch");
  ValueId at = unsqueeze(low, positions(low, update, axis), axes_between(1, rank - axis));
  if (starts != kAbsent) {
    at = binary(low, BinaryKind::add, at, unsqueeze(low, cast(low, starts, DType::i64), axes_between(1, rank)));
  }
  if (mode == "circular") at = binary(low, BinaryKind::mod, at, length_of(low, cache, axis));
  const ValueId indices = low.emit(Expand{}, {at, shape_of(low, update)});
  return {low.emit(ScatterElements{.axis = axis}, {cache, indices, update})};
}

/// Convolution over the past only; the last positions are the next call's past.
Values lower_causal_conv(Lowering& low) {
  const ValueId x = low.input(0), weight = low.input(1), bias = low.optional_input(2), past = low.optional_input(3);
  const std::string activation = low.string_or("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    low.invalid("attribute 'activation': '{}' does not exist", printable(activation));
  }
  for (const ValueId id : {x, weight}) {
    if (low.rank(id) != 3) low.invalid("expected input and weight of rank 3, found rank {}", low.rank(id));
  }
  const std::int64_t kernel = low.dim(weight, 2), channels = std::max(low.dim(weight, 0), low.dim(x, 1));
  if (kernel < 0 || channels < 0) low.unsupported("neither the weight's shape nor the input's is known");
  if (kernel < 1 || channels < 1) low.invalid("a kernel of {} over {} channels is empty", kernel, channels);
  const ValueId padded =
      past == kAbsent ? low.emit(Pad{}, {x, ints(low, {0, 0, kernel - 1, 0, 0, 0}), scalar(low, low.dtype(x), 0)})
                      : low.emit(Concat{2}, {past, x});
  Conv conv{.kernel = {1, kernel},
            .strides = {1, 1},
            .dilations = {1, 1},
            .pads = {0, 0, 0, 0},
            .groups = channels,
            .epilogue = {}};
  Values inputs = {to_window_layout(low, padded, 3), unsqueeze(low, weight, {2})};
  if (bias != kAbsent) inputs.push_back(bias);
  ValueId y = from_window_layout(low, low.emit(std::move(conv), std::move(inputs)), 3);
  if (activation != "none") y = cast(low, unary(low, UnaryKind::silu, cast(low, y, DType::f32)), low.dtype(x));
  const std::int64_t kept = kernel - 1;
  return {y, slice_last(low, padded, kept == 0 ? kToTheEnd : -kept, kToTheEnd)};
}

constexpr Row kAttentionRows[] = {
    {kOnnxDomain, "Attention", 23, 23, 3, 6, 4, lower_attention},
    {kOnnxDomain, "Attention", 24, kNoLimit, 3, 7, 4, lower_attention},
    {kOnnxDomain, "CausalConvWithState", 27, kNoLimit, 2, 4, 2, lower_causal_conv},
    {kPreviewDomain, "FlexAttention", 1, kNoLimit, 3, 3, 1, lower_flex_attention},
    {kOnnxDomain, "RotaryEmbedding", 23, kNoLimit, 3, 4, 1, lower_rotary_embedding},
    {kOnnxDomain, "TensorScatter", 24, kNoLimit, 2, 3, 1, lower_tensor_scatter},
};

}  // namespace

std::int64_t read_heads(const Lowering& low, std::string_view name) {
  constexpr std::int64_t kMostHeads = std::int64_t{1} << 24;
  const std::int64_t heads = low.required_int(name);
  if (heads < 1 || heads > kMostHeads) low.invalid("attribute '{}': {} is out of range", name, heads);
  return heads;
}

std::span<const Row> attention_rows() { return kAttentionRows; }

}  // namespace colonnade::onnx_import
