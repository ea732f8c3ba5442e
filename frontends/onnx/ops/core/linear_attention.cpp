// SPDX-License-Identifier: Apache-2.0
// LinearAttention: a state of key by value elements that each token decays, corrects and reads; a Scan over the tokens.
#include <cmath>

#include "frontends/onnx/ops/core/shared.hpp"

namespace colonnade::onnx_import {
namespace {

struct Rule {
  bool decays = false;    ///< the state fades by exp(decay) first
  bool corrects = false;  ///< what the state already answers to the key is subtracted, and the rest weighted by beta
};

Rule read_rule(const Lowering& low) {
  const std::string text = low.string_or("update_rule", "gated_delta");
  if (text == "linear") return {};
  if (text == "gated") return {.decays = true};
  if (text == "delta") return {.corrects = true};
  if (text == "gated_delta") return {.decays = true, .corrects = true};
  low.invalid("attribute 'update_rule': '{}' does not exist", printable(text));
}

/// An input [N, tokens, ...] as float32 of the given shape.
ValueId tokens(Lowering& low, std::size_t input, const Ints& shape) {
  const ValueId x = low.input(input);
  if (low.rank(x) != 3) low.invalid("expected input {} of rank 3, found rank {}", input, low.rank(x));
  return reshape(low, cast(low, x, DType::f32), shape);
}

/// query [N, tokens, heads, group, size] * scale, by default over the square root of its size.
ValueId query_scaled_by_attribute(Lowering& low, ValueId query) {
  const float scale = low.float_or("scale", 0);
  if (scale != 0) return binary_scalar(low, BinaryKind::mul, query, scale);
  const std::int64_t known = low.dim(query, 4);
  if (known > 0) return binary_scalar(low, BinaryKind::mul, query, 1 / std::sqrt(static_cast<double>(known)));
  const ValueId size = cast(low, low.emit(ShapeOf{.start = 4, .end = 5}, {query}), DType::f32);
  return binary(low, BinaryKind::div, query, unary(low, UnaryKind::sqrt, size));
}

ValueId initial_state(Lowering& low, std::int64_t heads, ValueId key, ValueId value) {
  if (low.optional_input(3) != kAbsent) return cast(low, low.input(3), DType::f32);
  const ValueId batch = low.emit(ShapeOf{.start = 0, .end = 1}, {key});
  const ValueId rows = low.emit(ShapeOf{.start = 3, .end = 4}, {key});
  const ValueId columns = low.emit(ShapeOf{.start = 4, .end = 5}, {value});
  const ValueId shape = low.emit(Concat{0}, {batch, ints(low, {heads}), rows, columns});
  return low.emit(Fill{}, {shape, scalar(low, DType::f32, 0)});
}

/// One token's inputs, of rank 4: key [N, heads, size, 1], value [N, heads, 1, size], query [N, heads, group, size].
struct Token {
  ValueId query, key, value, decay = kAbsent, beta = kAbsent;
};

/// The state after the token and what the query reads of it.
Values step(Lowering& low, ValueId state, const Token& token) {
  if (token.decay != kAbsent) state = binary(low, BinaryKind::mul, state, token.decay);
  ValueId written = token.value;
  if (token.beta != kAbsent) {
    const ValueId answer = low.emit(MatMul{.transpose_a = true, .epilogue = {}}, {token.key, state});
    written = binary(low, BinaryKind::mul, token.beta, binary(low, BinaryKind::sub, token.value, answer));
  }
  state = binary(low, BinaryKind::add, state, binary(low, BinaryKind::mul, token.key, written));
  return {state, low.emit(MatMul{}, {token.query, state})};
}

/// `step` as a body: inputs are the state, then the tokens' slices along axis 1.
Body body_of(Lowering& low, ValueId state, const Values& scans, const Rule& rule) {
  Graph graph;
  graph.name = "step";
  Names names;
  ValueType type = low.graph().value(state).type;
  graph.inputs.push_back(push_value(graph, names.fresh("state"), type));
  for (const ValueId scan : scans) {
    type = low.graph().value(scan).type;
    type.shape->erase(type.shape->begin() + 1);
    graph.inputs.push_back(push_value(graph, names.fresh("slice"), type));
  }
  Token token{.query = graph.inputs[1], .key = graph.inputs[2], .value = graph.inputs[3]};
  std::size_t next = 4;
  if (rule.decays) token.decay = graph.inputs[next++];
  if (rule.corrects) token.beta = graph.inputs[next++];
  Target target = low.target(graph, names);
  Lowering inner = low.within(target, {}, {});
  const ValueId before = graph.inputs[0];
  graph.outputs = step(inner, before, token);
  return std::make_shared<const Graph>(std::move(graph));
}

/// The query [N, tokens, heads, group, size]: heads that share a key side by side, or one head a key.
ValueId grouped_query(Lowering& low, std::int64_t query_heads, std::int64_t heads, bool repeats_queries) {
  if (query_heads % heads == 0) return tokens(low, 0, {0, 0, heads, query_heads / heads, -1});
  if (!repeats_queries || heads % query_heads != 0)
    low.invalid("{} key heads do not divide {} query heads", heads, query_heads);
  const Values copies(static_cast<std::size_t>(heads / query_heads), tokens(low, 0, {0, 0, query_heads, 1, -1}));
  return reshape(low, low.emit(Concat{3}, copies), {0, 0, heads, 1, -1});
}

Values lower_linear_attention(Lowering& low) { return linear_attention(low, false); }

constexpr Row kLinearAttentionRows[] = {
    {kOnnxDomain, "LinearAttention", 27, kNoLimit, 3, 6, 2, lower_linear_attention},
};

}  // namespace

Values linear_attention(Lowering& low, bool repeats_queries) {
  const std::int64_t query_heads = read_heads(low, "q_num_heads"), heads = read_heads(low, "kv_num_heads");
  const Rule rule = read_rule(low);
  const ValueId query = grouped_query(low, query_heads, heads, repeats_queries);
  const ValueId key = tokens(low, 1, {0, 0, heads, -1, 1}), value = tokens(low, 2, {0, 0, heads, 1, -1});
  Values scans = {query_scaled_by_attribute(low, query), key, value};
  if (rule.decays) scans.push_back(unary(low, UnaryKind::exp, tokens(low, 4, {0, 0, heads, -1, 1})));
  if (rule.corrects) scans.push_back(tokens(low, 5, {0, 0, -1, 1, 1}));
  const ValueId state = initial_state(low, heads, key, value);
  const Scan scan{.body = body_of(low, state, scans, rule),
                  .states = 1,
                  .scans = static_cast<std::int64_t>(scans.size()),
                  .input_axes = Ints(scans.size(), 1),
                  .input_reversed = {},
                  .output_axes = {1},
                  .output_reversed = {}};
  Values inputs = {state};
  inputs.insert(inputs.end(), scans.begin(), scans.end());
  const Values results = low.emit_all(scan, std::move(inputs), 2);
  const ValueId past = low.optional_input(3);
  const DType dtype = low.dtype(low.input(0));
  return {cast(low, reshape(low, results[1], {0, 0, -1}), dtype),
          cast(low, results[0], past == kAbsent ? dtype : low.dtype(past))};
}

std::span<const Row> linear_attention_rows() { return kLinearAttentionRows; }

}  // namespace colonnade::onnx_import
