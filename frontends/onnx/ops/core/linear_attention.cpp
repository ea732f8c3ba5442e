// SPDX-License-Identifier: Apache-2.0
// LinearAttention: a state of key by value elements that each token decays, corrects and reads.
#include "frontends/onnx/ops/core/shared.hpp"
#include "reference/onnx/definitions.hpp"

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

/// An input [N, tokens, ...] as float32; kAbsent where it is.
ValueId tokens(Lowering& low, std::size_t input) {
  const ValueId x = low.optional_input(input);
  if (x == kAbsent) return x;
  if (low.rank(x) != 3) low.invalid("expected input {} of rank 3, found rank {}", input, low.rank(x));
  return cast(low, x, DType::f32);
}

Values lower_linear_attention(Lowering& low) { return linear_attention(low, false); }

constexpr Row kLinearAttentionRows[] = {
    {kOnnxDomain, "LinearAttention", 27, kNoLimit, 3, 6, 2, lower_linear_attention},
};

}  // namespace

Values linear_attention(Lowering& low, bool repeats_queries) {
  const std::int64_t query_heads = read_heads(low, "q_num_heads"), heads = read_heads(low, "kv_num_heads");
  if (query_heads % heads != 0 && (!repeats_queries || heads % query_heads != 0))
    low.invalid("{} key heads do not divide {} query heads", heads, query_heads);
  const Rule rule = read_rule(low);
  const ValueId past = low.optional_input(3);
  Values inputs{tokens(low, 0), tokens(low, 1), tokens(low, 2), past == kAbsent ? past : cast(low, past, DType::f32)};
  for (const auto& [input, is_used] : {std::pair{4, rule.decays}, {5, rule.corrects}}) {
    const auto index = static_cast<std::size_t>(input);
    if (is_used && low.optional_input(index) == kAbsent) low.invalid("input {} is required", index);
    inputs.push_back(is_used ? tokens(low, index) : kAbsent);
  }
  if (rule.decays) inputs[4] = unary(low, UnaryKind::exp, inputs[4]);
  const Attributes attributes{{"query_heads", query_heads}, {"heads", heads}, {"scale", low.float_or("scale", 0)}};
  const Values results = low.emit_all(make_opaque(reference::kLinearAttention, 1, attributes), std::move(inputs), 2);
  const DType dtype = low.dtype(low.input(0));
  return {cast(low, results[0], dtype), cast(low, results[1], past == kAbsent ? dtype : low.dtype(past))};
}

std::span<const Row> linear_attention_rows() { return kLinearAttentionRows; }

}  // namespace colonnade::onnx_import
