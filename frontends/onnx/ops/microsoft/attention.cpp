// SPDX-License-Identifier: Apache-2.0
// com.microsoft: Attention, MultiHeadAttention and DecoderMaskedMultiHeadAttention. Queries are [B, N, S, H], keys and
// values [B, N, T, H]; T counts past and new positions.
#include <cmath>

#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/microsoft/heads.hpp"
#include "frontends/onnx/ops/microsoft/quantized.hpp"

namespace colonnade::onnx_import {
namespace {

/// 0 where a position is allowed, else `masked`.
ValueId additive(Lowering& low, DType dtype, ValueId allowed, double masked) {
  return select(low, allowed, scalar(low, dtype, 0), scalar(low, dtype, masked));
}

/// Which of the positions up to `total` lie before the ends of mask [B], and for mask [2 B] not before the starts that
/// follow the ends: [B, 1, 1, T]. The two forms need not be told apart: missing starts are zeros.
ValueId within_bounds(Lowering& low, ValueId mask, ValueId batch, ValueId total) {
  const ValueId zeros = low.emit(Fill{}, {batch, scalar(low, low.dtype(mask), 0)});
  const ValueId bounds = low.emit(Concat{0}, {mask, zeros});
  const ValueId twice = binary(low, BinaryKind::add, batch, batch);
  const auto column = [&](ValueId begin, ValueId end) {
    return unsqueeze(low, cast(low, slice_of(low, bounds, 0, begin, end), DType::i64), {1, 2, 3});
  };
  const ValueId positions = numbers_from(low, ints(low, {0}), total);
  const ValueId before_end = binary(low, BinaryKind::less, positions, column(ints(low, {0}), batch));
  const ValueId from_start = binary(low, BinaryKind::greater_or_equal, positions, column(batch, twice));
  return binary(low, BinaryKind::logical_and, before_end, from_start);
}

struct Lengths {
  ValueId batch, queries, past, total;  ///< vectors of one int64
};

/// What a mask input adds to the scores; kAbsent where there is none. Its rank says what it is: 1: bounds, 2: [B, T],
/// 3: [B, S, T], 4: [B, 1, M, M], of which the rows and columns in use are taken.
ValueId mask_addition(Lowering& low, ValueId mask, DType dtype, const Lengths& lengths) {
  if (mask == kAbsent) return kAbsent;
  const double masked = low.float_or("mask_filter_value", -10000);
  const std::int64_t rank = low.rank(mask);
  if (rank == 1) return additive(low, dtype, within_bounds(low, mask, lengths.batch, lengths.total), masked);
  ValueId allowed = binary_scalar(low, BinaryKind::greater, mask, 0.0);
  if (rank == 2) {
    allowed = unsqueeze(low, allowed, {1, 2});
  } else if (rank == 3) {
    allowed = unsqueeze(low, allowed, {1});
  } else if (rank == 4) {
    const ValueId end = binary(low, BinaryKind::add, lengths.past, lengths.queries);
    allowed = slice_of(low, slice_of(low, allowed, 2, lengths.past, end), 3, ints(low, {0}), lengths.total);
  } else {
    low.invalid("expected a mask of rank 1 to 4, found rank {}", rank);
  }
  return additive(low, dtype, allowed, masked);
}

/// [S, T]: a query sees its own position and those before it.
ValueId causal_addition(Lowering& low, DType dtype, const Lengths& lengths) {
  const ValueId own = unsqueeze(low, numbers_from(low, lengths.past, lengths.queries), {1});
  const ValueId keys = numbers_from(low, ints(low, {0}), lengths.total);
  return additive(low, dtype, binary(low, BinaryKind::less_or_equal, keys, own), lowest_finite(dtype));
}

struct Heads {
  ValueId query, key, value;
};

/// Keys or values behind those of the past. With a buffer that both share, `past` has room for more than the
/// `past_length` positions in use, and what is behind them stays as it is.
struct Cache {
  ValueId present, in_use;
};
Cache append(Lowering& low, ValueId past, ValueId x, ValueId past_length) {
  if (past == kAbsent) return {x, x};
  if (past_length == kAbsent) {
    const ValueId both = low.emit(Concat{2}, {past, x});
    return {both, both};
  }
  const ValueId total = binary(low, BinaryKind::add, past_length, extent(low, x, 2));
  const ValueId before = slice_of(low, past, 2, ints(low, {0}), past_length);
  const ValueId in_use = low.emit(Concat{2}, {before, x});
  const ValueId rest = slice_of(low, past, 2, total, extent(low, past, 2));
  return {low.emit(Concat{2}, {in_use, rest}), in_use};
}

struct Result {
  ValueId output, scores, present_key, present_value;
};

struct Inputs {
  Heads heads;
  ValueId past_key = kAbsent, past_value = kAbsent;
  ValueId past_length = kAbsent;  ///< of a shared buffer: a vector of one int64
  ValueId mask = kAbsent, bias = kAbsent;
  bool causal = false;
};

Result attend_all(Lowering& low, const Inputs& inputs) {
  const auto& [query, key, value] = inputs.heads;
  const DType dtype = low.dtype(query);
  const Cache keys = append(low, inputs.past_key, key, inputs.past_length);
  const Cache values = append(low, inputs.past_value, value, inputs.past_length);
  ValueId past = inputs.past_length;
  if (past == kAbsent) past = inputs.past_key == kAbsent ? ints(low, {0}) : extent(low, inputs.past_key, 2);
  const Lengths lengths{extent(low, query, 0), extent(low, query, 2), past, extent(low, keys.in_use, 2)};
  Values additions;
  const ValueId mask = mask_addition(low, inputs.mask, dtype, lengths);
  if (mask != kAbsent) additions.push_back(mask);
  if (inputs.causal) additions.push_back(causal_addition(low, dtype, lengths));
  if (inputs.bias != kAbsent) additions.push_back(inputs.bias);
  ValueId scores = scaled_scores(low, query, keys.in_use);
  for (const ValueId addition : additions) scores = binary(low, BinaryKind::add, scores, addition);
  const ValueId shares = low.emit(Softmax{.axis = -1}, {scores});
  const ValueId output = merge_heads(low, low.emit(MatMul{}, {shares, values.in_use}));
  return {output, scores, keys.present, values.present};
}

/// The buffer's length in use, where past and present share one.
ValueId shared_length(Lowering& low, std::size_t index) {
  const ValueId length = low.optional_input(index);
  return length == kAbsent ? kAbsent : reshape(low, cast(low, length, DType::i64), {1});
}

/// A projection [B, S, Q + K + V], cut in three.
Heads split_projection(Lowering& low, ValueId all, std::int64_t heads) {
  Values parts = {all};
  if (const auto sizes = find_ints(low.node(), "qkv_hidden_sizes"); sizes && !sizes->empty()) {
    if (sizes->size() != 3) low.invalid("attribute 'qkv_hidden_sizes': expected 3 values, found {}", sizes->size());
    for (const std::int64_t size : *sizes) {
      if (size < 0) low.invalid("attribute 'qkv_hidden_sizes': {} is negative", size);
    }
    parts.push_back(ints(low, *sizes));
  } else if (low.dim(all, 2) % 3 > 0) {
    low.invalid("expected three equal projections, found {} columns", low.dim(all, 2));
  }
  const Values split = low.emit_all(Split{.axis = 2}, std::move(parts), 3);
  return {split_heads(low, split[0], heads), split_heads(low, split[1], heads), split_heads(low, split[2], heads)};
}

/// Attention of a projection, with the past of keys and values in one tensor, and so the present.
Values attend_projected(Lowering& low, ValueId all, ValueId past, Inputs inputs) {
  if (low.flag("do_rotary")) low.unsupported("do_rotary is not supported");
  inputs.heads = split_projection(low, all, read_heads(low, "num_heads"));
  inputs.causal = low.flag("unidirectional");
  if (past != kAbsent) {
    inputs.past_key = low.emit(Gather{0}, {past, int_scalar(low, 0)});
    inputs.past_value = low.emit(Gather{0}, {past, int_scalar(low, 1)});
  }
  const Result result = attend_all(low, inputs);
  if (!low.wants_output(1)) return {result.output};
  const ValueId keys = unsqueeze(low, result.present_key, {0}), values = unsqueeze(low, result.present_value, {0});
  return {result.output, low.emit(Concat{0}, {keys, values})};
}

Values lower_attention(Lowering& low) {
  Values operands = {low.input(0), low.input(1)};
  if (low.optional_input(2) != kAbsent) operands.push_back(low.input(2));
  Inputs inputs{.heads = {}, .mask = low.optional_input(3), .bias = low.optional_input(5)};
  if (low.flag("past_present_share_buffer")) inputs.past_length = shared_length(low, 6);
  return attend_projected(low, low.emit(MatMul{}, std::move(operands)), low.optional_input(4), inputs);
}

Values lower_quantized_attention(Lowering& low) {
  if (low.flag("past_present_share_buffer")) low.unsupported("past_present_share_buffer is not supported");
  const Quantized x{low.input(0), low.input(3), low.optional_input(6)};
  const Quantized weight{low.input(1), low.input(4), low.optional_input(7)};
  const ValueId all = binary(low, BinaryKind::add, scaled_product(low, x, weight), low.input(2));
  return attend_projected(low, all, low.optional_input(8), {.heads = {}, .mask = low.optional_input(5)});
}

/// Part `index` of x [B, S, N, parts, H] as [B, N, S, H].
ValueId packed_part(Lowering& low, ValueId x, std::int64_t index) {
  return transpose(low, low.emit(Gather{3}, {x, int_scalar(low, index)}), {0, 2, 1, 3});
}

/// The parts of a bias: two of `hidden` elements (a vector of one int64), and what is left.
struct Bias {
  ValueId query = kAbsent, key = kAbsent, value = kAbsent;
};
Bias split_bias(Lowering& low, ValueId bias, ValueId hidden) {
  if (bias == kAbsent) return {};
  const ValueId twice = binary(low, BinaryKind::add, hidden, hidden);
  return {slice_of(low, bias, 0, ints(low, {0}), hidden), slice_of(low, bias, 0, hidden, twice),
          slice_of(low, bias, 0, twice, extent(low, bias, 0))};
}

/// x [B, S, N H] with its bias as heads; what has heads already is taken as it is.
ValueId biased_heads(Lowering& low, ValueId x, ValueId bias, std::int64_t heads) {
  if (low.rank(x) == 4) return x;
  return split_heads(low, bias == kAbsent ? x : binary(low, BinaryKind::add, x, bias), heads);
}

/// Queries, keys and values in any of their forms: apart, all packed into the query, or keys and values packed.
Heads read_multi_head(Lowering& low, ValueId bias_input, std::int64_t heads) {
  const ValueId query = low.input(0), key = low.optional_input(1), value = low.optional_input(2);
  if (low.rank(query) == 5 || (key != kAbsent && low.rank(key) == 5)) {
    if (bias_input != kAbsent) low.unsupported("a bias of packed queries, keys or values is not supported");
    if (low.rank(query) == 5)
      return {packed_part(low, query, 0), packed_part(low, query, 1), packed_part(low, query, 2)};
    return {split_heads(low, query, heads), packed_part(low, key, 0), packed_part(low, key, 1)};
  }
  if (low.rank(query) != 3) low.invalid("expected a query of rank 3 or 5, found rank {}", low.rank(query));
  if (key != kAbsent) {
    const Bias bias = split_bias(low, bias_input, extent(low, query, 2));
    return {biased_heads(low, query, bias.query, heads), biased_heads(low, low.input(1), bias.key, heads),
            biased_heads(low, low.input(2), bias.value, heads)};
  }
  if (value != kAbsent) low.invalid("has values, but no keys");
  const Values parts = low.emit_all(Split{.axis = 2}, {query}, 3);
  const Bias bias = split_bias(low, bias_input, extent(low, parts[0], 2));
  return {biased_heads(low, parts[0], bias.query, heads), biased_heads(low, parts[1], bias.key, heads),
          biased_heads(low, parts[2], bias.value, heads)};
}

Values outputs_of(const Result& result) {
  return {result.output, result.present_key, result.present_value, result.scores};
}

Values lower_multi_head_attention(Lowering& low) {
  if (low.optional_input(9) != kAbsent) low.unsupported("cache_indirection is not supported");
  const std::int64_t heads = read_heads(low, "num_heads");
  return outputs_of(attend_all(low, {.heads = read_multi_head(low, low.optional_input(3), heads),
                                     .past_key = low.optional_input(6),
                                     .past_value = low.optional_input(7),
                                     .past_length = shared_length(low, 8),
                                     .mask = low.optional_input(4),
                                     .bias = low.optional_input(5),
                                     .causal = low.flag("unidirectional")}));
}

/// One position at a time. Keys that have heads already are all that there are: attention across sequences.
Values lower_decoder_attention(Lowering& low) {
  if (low.optional_input(9) != kAbsent) low.unsupported("cache_indirection is not supported");
  const std::int64_t heads = read_heads(low, "num_heads");
  Inputs inputs{.heads = read_multi_head(low, low.optional_input(10), heads),
                .mask = low.optional_input(3),
                .bias = low.optional_input(4)};
  const bool across = low.optional_input(1) != kAbsent && low.rank(low.input(1)) == 4;
  if (!across) {
    inputs.past_key = low.optional_input(5);
    inputs.past_value = low.optional_input(6);
    if (low.flag("past_present_share_buffer")) inputs.past_length = shared_length(low, 7);
  }
  return outputs_of(attend_all(low, inputs));
}

constexpr Row kAttentionRows[] = {
    microsoft_row("Attention", 2, 7, 2, lower_attention),
    microsoft_row("DecoderMaskedMultiHeadAttention", 1, 11, 4, lower_decoder_attention),
    microsoft_row("MultiHeadAttention", 1, 10, 4, lower_multi_head_attention),
    microsoft_row("QAttention", 5, 9, 2, lower_quantized_attention),
};

}  // namespace

std::span<const Row> microsoft_attention_rows() { return kAttentionRows; }

}  // namespace colonnade::onnx_import
