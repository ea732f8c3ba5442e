// SPDX-License-Identifier: Apache-2.0
// com.microsoft: attention by a state that tokens change, and the gates in front of it.
#include "frontends/onnx/ops/core/shared.hpp"
#include "frontends/onnx/ops/microsoft/shared.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::onnx_import {
namespace {

Values lower_linear_attention(Lowering& low) {
  if (low.int_or("state_window", 0) != 0) low.unsupported("state_window is not supported");
  return linear_attention(low, true);
}

/// decay_scale * softplus(a + dt_bias), and sigmoid(b), in float32.
Values lower_linear_attention_gate(Lowering& low) {
  const auto wide = [&](std::size_t input) { return cast(low, low.input(input), DType::f32); };
  const DType dtype = low.dtype(low.input(0));
  const ValueId soft = unary(low, UnaryKind::softplus, add(low, wide(0), wide(1)));
  Values outputs = {cast(low, binary(low, BinaryKind::mul, soft, wide(2)), dtype)};
  if (low.wants_output(1)) {
    if (low.optional_input(3) == kAbsent) low.invalid("output 1 is of input 3, which is absent");
    outputs.push_back(cast(low, unary(low, UnaryKind::sigmoid, wide(3)), dtype));
  }
  return outputs;
}

/// What a GatedDeltaNet's inputs are: numbers of heads and elements of each.
struct DeltaNet {
  std::int64_t batch_axes = 1;  ///< in front of heads: tokens of all sentences, or sentences and their tokens
  std::int64_t query_heads = 0, heads = 0, keys = 0, values = 0;
};

std::int64_t static_dim(const Lowering& low, std::size_t input, std::int64_t axis) {
  const std::int64_t dim = low.dim(low.input(input), axis);
  if (dim < 1) low.unsupported("axis {} of input {} is not known", axis, input);
  return dim;
}

/// Query, key and value in one, and heads by the state; or each for itself.
DeltaNet read_delta_net(const Lowering& low) {
  const std::int64_t rank = low.rank(low.input(0));
  const bool packed = low.optional_input(1) == kAbsent;
  DeltaNet net{.batch_axes = rank - (packed ? 1 : 2)};
  if (net.batch_axes != 1 && net.batch_axes != 2) low.invalid("input 0 has rank {}", rank);
  if (packed) {
    net.heads = static_dim(low, 6, 1), net.values = static_dim(low, 6, 2), net.keys = static_dim(low, 6, 3);
    const std::int64_t rest = static_dim(low, 0, rank - 1) - net.heads * net.values;
    if (rest < 2 * net.keys || rest % (2 * net.keys) != 0)
      low.invalid("{} columns are no queries and keys of {} elements and {} heads of {} values", rest, net.keys,
                  net.heads, net.values);
    net.query_heads = rest / (2 * net.keys);
  } else {
    net.query_heads = static_dim(low, 0, rank - 2), net.keys = static_dim(low, 0, rank - 1);
    if (low.rank(low.input(2)) != rank) low.invalid("input 2 has rank {}, expected {}", low.rank(low.input(2)), rank);
    net.heads = static_dim(low, 2, rank - 2), net.values = static_dim(low, 2, rank - 1);
    if (static_dim(low, 1, rank - 2) != net.query_heads)
      low.invalid("keys and queries have different numbers of heads");
  }
  if (net.heads % net.query_heads != 0)
    low.invalid("{} query heads do not divide {} value heads", net.query_heads, net.heads);
  return net;
}

/// Numbers of tokens as float32 [sentences, tokens, shape...].
ValueId of_tokens(Lowering& low, ValueId x, const DeltaNet& net, const Ints& shape) {
  x = cast(low, x, DType::f32);
  Ints dims{0, 0};
  dims.insert(dims.end(), shape.begin(), shape.end());
  if (net.batch_axes == 2) return reshape(low, x, dims);
  return reshape_to(low, x, {extent(low, low.input(6), 0), ints(low, {-1}), ints(low, shape)});
}

/// Heads [.., heads, keys] of length one, where that is asked for.
ValueId normalised(Lowering& low, ValueId x) {
  if (!low.flag("qk_l2_norm")) return x;
  const ValueId squares = reduce(low, ReduceKind::sum, unary(low, UnaryKind::square, x), {3});
  const ValueId length = unary(low, UnaryKind::sqrt, binary_scalar(low, BinaryKind::add, squares, 1e-12));
  return binary(low, BinaryKind::div, x, length);
}

/// What a token leaves of the state: exp of the decay, or of what its gate makes of it [.., heads, 1 or keys].
ValueId fade_of(Lowering& low, const DeltaNet& net) {
  const ValueId decay = low.input(4);
  const bool by_key = low.rank(decay) == net.batch_axes + 2;
  ValueId x = of_tokens(low, decay, net, {net.heads, by_key ? net.keys : 1});
  const std::string gate = low.string_or("gate_activation", "none");
  if (gate != "none") {
    const bool is_bounded = gate == "sigmoid" || gate == "kda";
    if (!is_bounded && gate != "softplus" && gate != "qwen")
      low.unsupported("gate_activation '{}' is not supported", printable(gate));
    const ValueId rate = unary(low, UnaryKind::exp, reshape(low, cast(low, low.input(7), DType::f32), {net.heads, 1}));
    if (low.optional_input(8) != kAbsent)
      x = add(low, x, reshape(low, cast(low, low.input(8), DType::f32), {net.heads, -1}));
    x = is_bounded
            ? binary_scalar(low, BinaryKind::mul, unary(low, UnaryKind::sigmoid, binary(low, BinaryKind::mul, rate, x)),
                            low.float_or("gate_lower_bound", -5))
            : unary(low, UnaryKind::neg, binary(low, BinaryKind::mul, rate, unary(low, UnaryKind::softplus, x)));
  }
  return reshape(low, unary(low, UnaryKind::exp, x), {0, 0, -1});
}

ValueId rate_of(Lowering& low, const DeltaNet& net) {
  const ValueId beta = of_tokens(low, low.input(5), net, {net.heads});
  const std::string activation = low.string_or("beta_activation", "none");
  if (activation == "sigmoid") return unary(low, UnaryKind::sigmoid, beta);
  if (activation != "none") low.unsupported("beta_activation '{}' is not supported", printable(activation));
  return beta;
}

/// Query, key and value [sentences, tokens, columns]; each head of values has a key.
Values parts_of(Lowering& low, const DeltaNet& net) {
  const ValueId x = low.input(0);
  const std::int64_t asked = net.query_heads * net.keys, last = low.rank(x) - 1;
  const auto part = [&](std::size_t input, std::int64_t begin, const Ints& shape) {
    const ValueId bounds[] = {ints(low, {begin}), ints(low, {begin + shape[0] * shape[1]})};
    const bool packed = low.optional_input(1) == kAbsent;
    return of_tokens(low, packed ? slice_of(low, x, last, bounds[0], bounds[1]) : low.input(input), net, shape);
  };
  const auto flat = [&](ValueId heads) { return reshape(low, heads, {0, 0, -1}); };
  const ValueId query = normalised(low, part(0, 0, {net.query_heads, net.keys}));
  ValueId key = normalised(low, part(1, asked, {net.query_heads, net.keys}));
  if (net.heads != net.query_heads)
    key = low.emit(Expand{}, {unsqueeze(low, key, {3}), ints(low, {1, 1, 1, net.heads / net.query_heads, 1})});
  return {flat(query), flat(key), flat(part(2, 2 * asked, {net.heads, net.values}))};
}

/// Attention by a state [sentences, heads, values, keys].
Values lower_gated_delta_net(Lowering& low) {
  if (low.int_or("state_update_capacity", 0) != 0) low.unsupported("state_update_capacity is not supported");
  if (low.optional_input(3) != kAbsent) low.unsupported("cu_seqlens is not supported");
  const DeltaNet net = read_delta_net(low);
  const ValueId past = low.optional_input(6);
  if (past == kAbsent && net.batch_axes == 1) low.invalid("input 6 is required: it says how many sentences there are");
  const std::string rule = low.string_or("update_rule", "gated_delta");
  const bool fades = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!fades && !corrects && rule != "linear")
    low.invalid("attribute 'update_rule': '{}' does not exist", printable(rule));
  Values inputs = parts_of(low, net);
  inputs.push_back(past == kAbsent ? past : transpose(low, cast(low, past, DType::f32), {0, 1, 3, 2}));
  inputs.push_back(fades ? fade_of(low, net) : kAbsent);
  inputs.push_back(corrects ? rate_of(low, net) : kAbsent);
  const Attributes attributes{
      {"query_heads", net.query_heads}, {"heads", net.heads}, {"scale", low.float_or("scale", 0)}};
  const Values results = low.emit_all(make_opaque(reference::kLinearAttention, 1, attributes), std::move(inputs), 2);
  const Ints shape = net.batch_axes == 1 ? Ints{-1, net.heads, net.values} : Ints{0, 0, net.heads, net.values};
  return {cast(low, reshape(low, results[0], shape), low.dtype(low.input(0))),
          transpose(low, results[1], {0, 1, 3, 2})};
}

constexpr Row kRecurrenceRows[] = {
    microsoft_row("GatedDeltaNet", 1, 11, 3, lower_gated_delta_net),
    microsoft_row("LinearAttention", 3, 6, 2, lower_linear_attention),
    microsoft_row("LinearAttentionGate", 3, 4, 2, lower_linear_attention_gate),
};

}  // namespace

std::span<const Row> microsoft_recurrence_rows() { return kRecurrenceRows; }

}  // namespace colonnade::onnx_import
