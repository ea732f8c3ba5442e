// SPDX-License-Identifier: Apache-2.0
// com.microsoft: RotaryEmbedding and GroupQueryAttention, and what all attention operators share.
#include "frontends/onnx/ops/microsoft/heads.hpp"

#include <cmath>
#include <vector>

#include "frontends/onnx/ops/core/shared.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {

ValueId split_heads(Lowering& low, ValueId x, std::int64_t heads) {
  return transpose(low, with_heads(low, x, heads), {0, 2, 1, 3});
}

ValueId merge_heads(Lowering& low, ValueId x) {
  const std::int64_t heads = low.dim(x, 1), size = low.dim(x, 3);
  return reshape(low, transpose(low, x, {0, 2, 1, 3}), {0, 0, heads < 0 || size < 0 ? -1 : heads * size});
}

ValueId scaled_scores(Lowering& low, ValueId query, ValueId key) {
  const float scale = low.float_or("scale", 0);
  const std::int64_t size = low.dim(query, low.rank(query) - 1);
  const MatMul product{.transpose_b = true, .epilogue = {}};
  if (scale != 0) return low.emit(product, {binary_scalar(low, BinaryKind::mul, query, scale), key});
  if (size > 0) {
    const double factor = 1 / std::sqrt(static_cast<double>(size));
    return low.emit(product, {binary_scalar(low, BinaryKind::mul, query, factor), key});
  }
  const ValueId root =
      unary(low, UnaryKind::sqrt, cast(low, extent(low, query, low.rank(query) - 1), low.dtype(query)));
  return low.emit(product, {binary(low, BinaryKind::div, query, root), key});
}

ValueId rotate(Lowering& low, ValueId x, const Rotation& rotation) {
  const std::int64_t last = low.rank(x) - 1, count = rotation.count, size = low.dim(x, last);
  const ValueId zero = ints(low, {0}), rotated_end = ints(low, {2 * count}), end = ints(low, {std::int64_t{1} << 40});
  const bool is_partial = size != 2 * count;
  const ValueId rotated = is_partial ? slice_of(low, x, last, zero, rotated_end) : x;
  const auto product = [&](ValueId a, ValueId b) { return binary(low, BinaryKind::mul, a, b); };
  Values parts;
  if (rotation.interleaved) {
    Ints pairs(static_cast<std::size_t>(last), 0);
    pairs.insert(pairs.end(), {count, 2});
    parts = low.emit_all(Split{.axis = last + 1}, {reshape(low, rotated, pairs)}, 2);
    for (ValueId& part : parts) part = squeeze(low, part, {last + 1});
  } else {
    parts = low.emit_all(Split{.axis = last}, {rotated}, 2);
  }
  ValueId real = binary(low, BinaryKind::sub, product(parts[0], rotation.cosine), product(parts[1], rotation.sine));
  ValueId imaginary =
      binary(low, BinaryKind::add, product(parts[0], rotation.sine), product(parts[1], rotation.cosine));
  ValueId y = kAbsent;
  if (rotation.interleaved) {
    real = unsqueeze(low, real, {last + 1});
    imaginary = unsqueeze(low, imaginary, {last + 1});
    Ints joined(static_cast<std::size_t>(last), 0);
    joined.push_back(2 * count);
    y = reshape(low, low.emit(Concat{last + 1}, {real, imaginary}), joined);
  } else {
    y = low.emit(Concat{last}, {real, imaginary});
  }
  return is_partial ? low.emit(Concat{last}, {y, slice_of(low, x, last, rotated_end, end)}) : y;
}

namespace {

/// Columns of a table of cosines or sines.
std::int64_t angle_count(const Lowering& low, ValueId table) {
  if (low.rank(table) != 2)
    low.invalid("expected tables of cosines and sines of rank 2, found rank {}", low.rank(table));
  const std::int64_t count = low.dim(table, 1);
  if (count < 0) low.unsupported("the number of rotated pairs is not known");
  return count;
}

/// Rows of the tables at positions [B, S] as [B, 1, S, C].
Rotation rotation_at(Lowering& low, ValueId positions, ValueId cosines, ValueId sines, bool interleaved) {
  const auto rows = [&](ValueId table) { return unsqueeze(low, low.emit(Gather{0}, {table, positions}), {1}); };
  return {rows(cosines), rows(sines), angle_count(low, cosines), interleaved};
}

/// Positions [B, S] of a sequence of `length`: as given, or counted from a single first one.
ValueId sequence_positions(Lowering& low, ValueId given, ValueId length) {
  const std::int64_t rank = low.rank(given);
  if (rank == 2) return given;
  if (rank != 1) low.invalid("expected position_ids of rank 1 or 2, found rank {}", rank);
  return unsqueeze(low, numbers_from(low, cast(low, given, DType::i64), length), {0});
}

Values lower_rotary_embedding(Lowering& low) {
  const ValueId x = low.input(0), cosines = low.input(2), sines = low.input(3);
  const std::int64_t rank = low.rank(x);
  std::int64_t heads = low.int_or("num_heads", 0);
  if (rank != 3 && rank != 4) low.invalid("expected an input of rank 3 or 4, found rank {}", rank);
  if (rank == 3 && heads == 0) {
    const std::int64_t hidden = low.dim(x, 2), size = 2 * angle_count(low, cosines);
    if (hidden < 0 || size == 0 || hidden % size != 0) low.invalid("{} columns are no heads of {}", hidden, size);
    heads = hidden / size;
  }
  const bool interleaved = low.flag("interleaved");
  if (low.dtype(x) == DType::f32) {
    const std::int64_t heads_axis = rank == 3 ? 2 : 1;
    const ValueId by_position = rank == 3 ? with_heads(low, x, heads) : x;
    const ValueId positions = sequence_positions(low, low.input(1), extent(low, by_position, 3 - heads_axis));
    const Turn turn{angle_count(low, cosines), heads_axis, interleaved};
    const ValueId y = turn_heads(low, {by_position, cosines, sines, positions}, turn);
    return {rank == 3 ? reshape(low, y, {0, 0, -1}) : y};
  }
  const ValueId by_head = rank == 3 ? split_heads(low, x, heads) : x;
  const ValueId positions = sequence_positions(low, low.input(1), extent(low, by_head, 2));
  const ValueId y = rotate(low, by_head, rotation_at(low, positions, cosines, sines, interleaved));
  return {rank == 3 ? merge_heads(low, y) : y};
}

/// Which of three streams of positions a pair of elements turns by.
std::vector<int> streams_of_pairs(const Lowering& low, std::int64_t pairs) {
  constexpr std::int64_t kMostPairs = std::int64_t{1} << 20;
  if (pairs > kMostPairs) low.unsupported("{} pairs of elements are too many", pairs);
  const Ints sections = low.required_ints("mrope_section");
  const std::int64_t layout = low.int_or("mrope_layout", 0);
  if (layout != 0 && layout != 1) low.invalid("attribute 'mrope_layout': expected 0 or 1, found {}", layout);
  std::int64_t sum = 0;
  for (const std::int64_t section : sections) {
    if (section < 0 || section > pairs) low.invalid("attribute 'mrope_section': {} is out of range", section);
    sum += section;
  }
  if (sections.size() != 3 || sum != pairs)
    low.invalid("attribute 'mrope_section': expected three sizes that make {}", pairs);
  std::vector<int> streams(static_cast<std::size_t>(pairs), 0);
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    int& stream = streams[static_cast<std::size_t>(pair)];
    if (layout == 0) {
      stream = pair < sections[0] ? 0 : pair < sections[0] + sections[1] ? 1 : 2;
    } else if (const std::int64_t of = pair % 3; of != 0 && pair < 3 * sections[static_cast<std::size_t>(of)]) {
      stream = static_cast<int>(of);
    }
  }
  return streams;
}

/// Rows of a table at positions [3, B, S] as [B, S, C]: each column of the stream that it belongs to.
ValueId rows_of_streams(Lowering& low, ValueId table, const std::vector<int>& streams) {
  const auto count = static_cast<std::int64_t>(streams.size());
  Values parts = low.emit_all(Split{.axis = 0}, {low.emit(Gather{0}, {table, low.input(1)})}, 3);
  for (ValueId& part : parts) part = squeeze(low, part, {0});
  ValueId rows = parts[0];
  for (int stream = 1; stream < 3; ++stream) {
    Tensor is_here(DType::boolean, {count});
    for (std::size_t pair = 0; pair < streams.size(); ++pair)
      static_cast<bool*>(is_here.data())[pair] = streams[pair] == stream;
    rows = select(low, low.constant(std::move(is_here)), parts[static_cast<std::size_t>(stream)], rows);
  }
  return rows;
}

/// RotaryEmbedding by three positions a token: time, row and column of a picture.
Values lower_multimodal_rotary_embedding(Lowering& low) {
  const ValueId x = low.input(0);
  const std::int64_t rank = low.rank(x), pairs = angle_count(low, low.input(2));
  if (rank != 3 && rank != 4) low.invalid("expected an input of rank 3 or 4, found rank {}", rank);
  if (low.rank(low.input(1)) != 3)
    low.invalid("expected position_ids [3, batch, sequence], found rank {}", low.rank(low.input(1)));
  if (low.float_or("scale", 1) != 1) low.unsupported("attribute 'scale' is not supported");
  if (low.flag("is_packed_batching")) low.unsupported("is_packed_batching is not supported");
  std::int64_t heads = low.int_or("num_heads", 0);
  if (rank == 3 && heads == 0) {
    const std::int64_t hidden = low.dim(x, 2);
    if (hidden < 0 || pairs == 0 || hidden % (2 * pairs) != 0)
      low.invalid("{} columns are no heads of {}", hidden, 2 * pairs);
    heads = hidden / (2 * pairs);
  }
  const std::vector<int> streams = streams_of_pairs(low, pairs);
  const ValueId cosines = rows_of_streams(low, low.input(2), streams),
                sines = rows_of_streams(low, low.input(3), streams);
  const bool interleaved = low.flag("interleaved");
  if (low.dtype(x) == DType::f32) {
    const Turn turn{pairs, rank == 3 ? 2 : 1, interleaved};
    const ValueId y = turn_heads(low, {rank == 3 ? with_heads(low, x, heads) : x, cosines, sines, kAbsent}, turn);
    return {rank == 3 ? reshape(low, y, {0, 0, -1}) : y};
  }
  const Rotation rotation{unsqueeze(low, cosines, {1}), unsqueeze(low, sines, {1}), pairs, interleaved};
  const ValueId y = rotate(low, rank == 3 ? split_heads(low, x, heads) : x, rotation);
  return {rank == 3 ? merge_heads(low, y) : y};
}

/// The numbers that GroupQueryAttention counts with, int64. Per sentence b: `past` [B, 1] positions before this call,
/// `ends` [B, 1] with this call's.
struct Counts {
  ValueId queries, total;  ///< vectors of one
  ValueId past, ends;
  ValueId is_first;  ///< whether nothing is in the cache: one boolean
};

Counts count(Lowering& low, ValueId query) {
  Counts counts{};
  counts.queries = extent(low, query, 2);
  counts.total = reshape(low, cast(low, low.input(6), DType::i64), {1});
  counts.ends = binary_scalar(low, BinaryKind::add, reshape(low, cast(low, low.input(5), DType::i64), {-1, 1}), 1.0);
  counts.is_first = binary(low, BinaryKind::equal, counts.queries, counts.total);
  counts.past = select(low, counts.is_first, ints(low, {0}), binary(low, BinaryKind::sub, counts.ends, counts.queries));
  return counts;
}

/// [B, Nk, M, H]: the past's first positions, then the new ones, then zeros; M is the larger one of the cache's length
/// and `total`.
ValueId fill_cache(Lowering& low, ValueId past, ValueId x, const Counts& counts) {
  if (past == kAbsent) return x;
  const ValueId length = binary(low, BinaryKind::max, extent(low, past, 2), counts.total);
  return low.emit(make_opaque(reference::kAppend, 1, {}), {past, x, reshape(low, counts.past, {-1}), length});
}

/// [B, 1, S, T]: where a query may look.
ValueId visible(Lowering& low, const Counts& counts) {
  const ValueId keys = numbers_from(low, ints(low, {0}), counts.total);
  const std::int64_t window = low.int_or("local_window_size", -1);
  ValueId allowed = binary(low, BinaryKind::less, keys, unsqueeze(low, counts.ends, {2}));
  const auto restrict = [&](ValueId also) { allowed = binary(low, BinaryKind::logical_and, allowed, also); };
  if (low.flag("causal", true)) {
    const ValueId steps = unsqueeze(low, numbers_from(low, ints(low, {0}), counts.queries), {0});
    const ValueId own = unsqueeze(low, binary(low, BinaryKind::add, counts.past, steps), {2});
    restrict(binary(low, BinaryKind::less_or_equal, keys, own));
    if (window >= 0) {
      const ValueId first = binary_scalar(low, BinaryKind::sub, own, static_cast<double>(window));
      restrict(binary(low, BinaryKind::greater, keys, first));
    }
  }
  return unsqueeze(low, allowed, {1});
}

/// Shares of scores [B, .., S, T], whose heads have axes of these sizes. A share of every head goes nowhere where its
/// score is given; it is zero where only smooth_softmax asks for it.
ValueId shares_of(Lowering& low, ValueId scores, ValueId batch, const Ints& heads, ValueId queries) {
  const ValueId given = low.optional_input(11);
  if (given == kAbsent && low.int_or("smooth_softmax", -1) != 1) return low.emit(Softmax{.axis = -1}, {scores});
  Ints by_heads{1};
  by_heads.insert(by_heads.end(), heads.begin(), heads.end());
  by_heads.insert(by_heads.end(), {1, 1});
  const ValueId sink =
      given == kAbsent ? reshape(low, scalar(low, low.dtype(scores), 0), {1}) : reshape(low, given, by_heads);
  const ValueId column = low.emit(Expand{}, {sink, join(low, {batch, ints(low, heads), queries, ints(low, {1})})});
  const auto keys_axis = static_cast<std::int64_t>(heads.size()) + 2;
  const ValueId shares = low.emit(Softmax{.axis = -1}, {low.emit(Concat{keys_axis}, {scores, column})});
  return slice_of(low, shares, keys_axis, ints(low, {0}), ints(low, {-1}));
}

struct Grouped {
  ValueId query, key, value;  ///< [B, N, S, H], [B, Nk, S, H] twice
};

Grouped read_grouped(Lowering& low, std::int64_t heads, std::int64_t key_heads) {
  const ValueId query = low.input(0), key = low.optional_input(1);
  if (key != kAbsent) {
    return {split_heads(low, query, heads), split_heads(low, key, key_heads),
            split_heads(low, low.input(2), key_heads)};
  }
  const ValueId all = split_heads(low, query, heads + 2 * key_heads);
  const Values parts = low.emit_all(Split{.axis = 1}, {all, ints(low, {heads, key_heads, key_heads})}, 3);
  return {parts[0], parts[1], parts[2]};
}

/// RMS norm of each head, where its weight is given.
ValueId normalize_heads(Lowering& low, ValueId x, std::size_t weight, std::string_view epsilon) {
  if (low.optional_input(weight) == kAbsent) return x;
  const float of_both = low.float_or("qk_norm_epsilon", 1e-6f);
  const LayerNorm norm{.epsilon = low.float_or(epsilon, of_both), .axis = 3, .rms = true};
  return low.emit(norm, {x, low.input(weight)});
}

void rotate_grouped(Lowering& low, Grouped& grouped, const Counts& counts) {
  const ValueId given = low.optional_input(9);
  const ValueId steps = unsqueeze(low, numbers_from(low, ints(low, {0}), counts.queries), {0});
  ValueId positions = binary(low, BinaryKind::add, counts.past, steps);
  if (given != kAbsent) {
    const ValueId ids = cast(low, given, DType::i64);
    const ValueId first = slice_of(low, reshape(low, ids, {-1}), 0, ints(low, {0}), ints(low, {1}));
    positions = select(low, counts.is_first, binary(low, BinaryKind::add, positions, first), ids);
  }
  const Rotation rotation = rotation_at(low, positions, low.input(7), low.input(8), low.flag("rotary_interleaved"));
  grouped.query = rotate(low, grouped.query, rotation);
  grouped.key = rotate(low, grouped.key, rotation);
}

void refuse_special_caches(const Lowering& low) {
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (low.string_or(name, "NONE") != "NONE")
      low.unsupported("attribute '{}': quantised caches are not supported", name);
  }
  if (low.flag("sliding_window_cache")) low.unsupported("sliding_window_cache is not supported");
}

ValueId capped(Lowering& low, ValueId scores) {
  const float cap = low.float_or("softcap", 0);
  if (cap == 0) return scores;
  const ValueId share = unary(low, UnaryKind::tanh, binary_scalar(low, BinaryKind::mul, scores, 1.0 / cap));
  return binary_scalar(low, BinaryKind::mul, share, cap);
}

/// attention_bias of all heads, or of one for all, with heads that share keys side by side.
ValueId grouped_bias(Lowering& low, std::int64_t key_heads, std::int64_t group) {
  const ValueId bias = low.input(10);
  if (low.dim(bias, 1) == 1) return unsqueeze(low, bias, {1});
  const auto size = [&](std::int64_t axis) { return extent(low, bias, axis); };
  return reshape_to(low, bias, {size(0), ints(low, {key_heads, group}), size(2), size(3)});
}

/// Attention in products [B, Nk, N / Nk, S, H]: heads that share keys side by side.
ValueId attend_grouped(Lowering& low, ValueId query, ValueId keys, ValueId values, const Counts& counts,
                       std::int64_t key_heads) {
  const ValueId size = ints(low, {-1}), batch = extent(low, query, 0);
  const std::int64_t group = read_heads(low, "num_heads") / key_heads;
  const ValueId grouped = reshape_to(low, query, {batch, ints(low, {key_heads, group}), counts.queries, size});
  ValueId scores = capped(low, scaled_scores(low, grouped, unsqueeze(low, keys, {2})));
  if (low.optional_input(10) != kAbsent)
    scores = binary(low, BinaryKind::add, scores, grouped_bias(low, key_heads, group));
  const ValueId barred = scalar(low, low.dtype(scores), lowest_finite(low.dtype(scores)));
  const ValueId seen = select(low, unsqueeze(low, visible(low, counts), {1}), scores, barred);
  const ValueId shares = shares_of(low, seen, batch, {key_heads, group}, counts.queries);
  const ValueId mixed = low.emit(MatMul{}, {shares, unsqueeze(low, values, {2})});
  return merge_heads(low, reshape_to(low, mixed, {batch, ints(low, {key_heads * group}), counts.queries, size}));
}

/// Nobody else reads scores or shares.
bool is_plain(const Lowering& low) {
  const ValueId bias = low.optional_input(10);
  const bool bias_has_heads = bias == kAbsent || (low.rank(bias) == 4 && low.dim(bias, 1) >= 0);
  return bias_has_heads && !low.wants_output(3);
}

/// Heads of queries that share a head of keys are rows of one product: [B, Nk, N / Nk S, H].
Values lower_group_query_attention(Lowering& low) {
  refuse_special_caches(low);
  const std::int64_t heads = read_heads(low, "num_heads"), key_heads = read_heads(low, "kv_num_heads");
  if (heads % key_heads != 0) low.invalid("{} heads of keys do not divide {} of queries", key_heads, heads);
  Grouped grouped = read_grouped(low, heads, key_heads);
  const Counts counts = count(low, grouped.query);
  grouped.query = normalize_heads(low, grouped.query, 14, "q_norm_epsilon");
  grouped.key = normalize_heads(low, grouped.key, 15, "k_norm_epsilon");
  if (low.flag("do_rotary")) rotate_grouped(low, grouped, counts);
  const ValueId present_key = fill_cache(low, low.optional_input(3), grouped.key, counts);
  const ValueId present_value = fill_cache(low, low.optional_input(4), grouped.value, counts);
  const auto in_use = [&](ValueId cache) { return slice_of(low, cache, 2, ints(low, {0}), counts.total); };

  if (is_plain(low))
    return {attend_grouped(low, grouped.query, in_use(present_key), in_use(present_value), counts, key_heads),
            present_key, present_value};
  const ValueId batch = extent(low, grouped.query, 0), size = ints(low, {-1});
  const auto regrouped = [&](ValueId x, std::int64_t count, ValueId rows, ValueId columns) {
    return reshape_to(low, x, {batch, ints(low, {count}), rows, columns});
  };
  const ValueId rows = binary_scalar(low, BinaryKind::mul, counts.queries, static_cast<double>(heads / key_heads));
  const ValueId query = regrouped(grouped.query, key_heads, rows, size);
  ValueId scores = regrouped(scaled_scores(low, query, in_use(present_key)), heads, counts.queries, size);
  scores = capped(low, scores);
  if (low.optional_input(10) != kAbsent) scores = binary(low, BinaryKind::add, scores, low.input(10));
  const ValueId is_visible = visible(low, counts);
  const auto where_visible = [&](double otherwise) {
    return select(low, is_visible, scores, scalar(low, low.dtype(scores), otherwise));
  };
  const ValueId shares =
      shares_of(low, where_visible(lowest_finite(low.dtype(scores))), batch, {heads}, counts.queries);
  const ValueId mixed = low.emit(MatMul{}, {regrouped(shares, key_heads, rows, size), in_use(present_value)});
  const ValueId output = merge_heads(low, regrouped(mixed, heads, counts.queries, size));
  Values outputs = {output, present_key, present_value};
  if (low.wants_output(3)) outputs.push_back(low.int_or("qk_output", 0) == 1 ? where_visible(0) : shares);
  return outputs;
}

constexpr Row kHeadsRows[] = {
    microsoft_row("GroupQueryAttention", 7, 16, 4, lower_group_query_attention),
    microsoft_row("MRotaryEmbedding", 4, 4, 1, lower_multimodal_rotary_embedding),
    microsoft_row("RotaryEmbedding", 4, 4, 1, lower_rotary_embedding),
};

}  // namespace

std::span<const Row> microsoft_heads_rows() { return kHeadsRows; }

}  // namespace colonnade::onnx_import
