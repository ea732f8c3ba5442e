// SPDX-License-Identifier: Apache-2.0
// Attention, written out in products and a softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/core/window.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {

namespace {

constexpr std::string_view kPreviewDomain = "ai.onnx.preview";

/// x [N, heads, sequence, size]; of rank 3 the heads lie in the last axis and are counted by the attribute.
ValueId split_heads(Lowering& low, ValueId x, std::string_view attribute) {
  const std::int64_t rank = low.rank(x);
  if (rank == 4) return x;
  if (rank != 3) low.invalid("expected inputs of rank 3 or 4, found rank {}", rank);
  return transpose(low, with_heads(low, x, read_heads(low, attribute)), {0, 2, 1, 3});
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

/// Scores on their way to shares.
struct Stages {
  ValueId raw, capped, biased, shares;
};

Stages stages_of(Lowering& low, ValueId raw, ValueId bias, bool may_bar_rows, DType dtype) {
  ValueId capped = raw;
  if (const float cap = low.float_or("softcap", 0); cap != 0) {
    capped = binary_scalar(low, BinaryKind::mul,
                           unary(low, UnaryKind::tanh, binary_scalar(low, BinaryKind::div, raw, cap)), cap);
  }
  const ValueId biased = bias == kAbsent ? capped : binary(low, BinaryKind::add, capped, bias);
  const ValueId precise = cast(low, biased, read_precision(low, dtype));
  ValueId shares = cast(low, low.emit(Softmax{.axis = -1}, {precise}), dtype);
  if (may_bar_rows) shares = without_barred_rows(low, shares, bias);
  return {raw, capped, biased, shares};
}

/// Whether queries of several heads can stand side by side before the keys that they share, in an axis of their own.
bool meets_in_groups(const Lowering& low, const Meeting& meeting, ValueId value, ValueId bias) {
  const std::int64_t heads = low.dim(meeting.query, 1), key_heads = low.dim(meeting.key, 1);
  if (heads <= 0 || key_heads <= 0 || heads == key_heads || low.wants_output(3)) return false;
  if (low.dim(meeting.query, 3) <= 0 || low.dim(value, 3) <= 0) return false;
  if (bias == kAbsent || low.rank(bias) < 3) return true;
  const std::int64_t of_bias = low.dim(bias, low.rank(bias) - 3);
  return of_bias == 1 || of_bias == heads;
}

/// A bias [.., heads, queries, keys], or the same for all heads, with heads that share keys side by side.
ValueId bias_in_groups(Lowering& low, ValueId bias, std::int64_t key_heads, std::int64_t group) {
  if (bias == kAbsent || low.rank(bias) < 3) return bias;
  const std::int64_t rank = low.rank(bias);
  if (low.dim(bias, rank - 3) == 1) return unsqueeze(low, bias, {rank - 3});
  const ValueId batch = rank == 4 ? dim_of(low, bias, 0) : ints(low, {1}), heads = ints(low, {key_heads, group});
  const ValueId shape = low.emit(Concat{0}, {batch, heads, dim_of(low, bias, rank - 2), dim_of(low, bias, rank - 1)});
  return low.emit(Reshape{}, {bias, shape});
}

ValueId attend_in_groups(Lowering& low, const Meeting& meeting, ValueId value, ValueId bias) {
  const std::int64_t heads = low.dim(meeting.query, 1), key_heads = low.dim(meeting.key, 1), group = heads / key_heads,
                     rows = low.dim(meeting.query, 2);  // -1 where it is not known, as Reshape has it
  const ValueId query =
      reshape(low, scaled_query(low, meeting.query), {0, key_heads, group, rows, low.dim(meeting.query, 3)});
  const MatMul by_keys{.transpose_b = true, .epilogue = {}};
  const ValueId scores = low.emit(by_keys, {query, unsqueeze(low, meeting.key, {2})});
  const ValueId grouped = bias_in_groups(low, bias, key_heads, group);
  const Stages stages = stages_of(low, scores, grouped, meeting.may_bar_rows, low.dtype(meeting.query));
  const ValueId mixed = low.emit(MatMul{}, {stages.shares, unsqueeze(low, value, {2})});
  return reshape(low, mixed, {0, heads, rows, low.dim(value, 3)});
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
  const std::int64_t mode = low.int_or("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) low.invalid("attribute 'qk_matmul_output_mode': {} does not exist", mode);

  const DType dtype = low.dtype(query);
  const ValueId values = cast(low, value, dtype);
  ValueId y, shown = kAbsent;
  if (meets_in_groups(low, meeting, value, bias)) {
    y = attend_in_groups(low, meeting, values, bias);
  } else {
    const Stages stages = stages_of(low, scores_of(low, query, key), bias, meeting.may_bar_rows, dtype);
    const ValueId all[] = {stages.raw, stages.capped, stages.biased, stages.shares};
    shown = all[mode];
    y = weighted_values(low, stages.shares, values, query);
  }
  if (low.rank(low.input(0)) == 3) y = reshape(low, transpose(low, y, {0, 2, 1, 3}), {0, 0, -1});
  return {y, key, value, shown};
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

constexpr Row kAttentionRows[] = {
    {kOnnxDomain, "Attention", 23, 23, 3, 6, 4, lower_attention},
    {kOnnxDomain, "Attention", 24, kNoLimit, 3, 7, 4, lower_attention},
    {kPreviewDomain, "FlexAttention", 1, kNoLimit, 3, 3, 1, lower_flex_attention},
};

}  // namespace

std::span<const Row> attention_rows() { return kAttentionRows; }

}  // namespace colonnade::onnx_import
