// SPDX-License-Identifier: Apache-2.0
// LinearAttention: a state of keys by values that each token fades, corrects and reads.
#include "reference/onnx/linear_attention.hpp"

#include <cmath>

#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

std::int64_t divided(const RuleContext& ctx, std::size_t input, std::int64_t heads) {
  const auto& shape = ctx.shape(input);
  if (!shape || shape->back() < 0) return kUnknownDim;
  if (shape->back() % heads != 0)
    ctx.fail("{} heads do not divide {} columns of {}", heads, shape->back(), ctx.text(input));
  return shape->back() / heads;
}

/// Batch and tokens agree, and so do the sizes of keys and values.
Types infer_linear_attention(const Opaque& op, const RuleContext& ctx) {
  const StateAttention read = state_attention_of(op);
  ctx.inputs(3, 6);
  Shape tokens{kUnknownDim, kUnknownDim};
  for (std::size_t input = 0; input <= kStateRate; ++input) {
    if (!ctx.has(input)) continue;
    ctx.dtype_is(input, DType::f32);
    ctx.rank(input, input == kStateBefore ? 4 : 3);
    const auto& shape = ctx.shape(input);
    for (std::size_t axis = 0; shape && axis < (input == kStateBefore ? 1u : 2u); ++axis) {
      if (!dims_agree(tokens[axis], (*shape)[axis]))
        ctx.fail("axis {} of {} expects {}, found {}", axis, ctx.text(input), tokens[axis], (*shape)[axis]);
      tokens[axis] = known_dim(tokens[axis], (*shape)[axis]);
    }
  }
  Shape state{tokens[0], read.heads, divided(ctx, kStateKey, read.heads), divided(ctx, kStateValue, read.heads)};
  const std::int64_t asked = divided(ctx, kStateQuery, read.query_heads);
  if (!dims_agree(asked, state[2])) ctx.fail("queries of {} elements, keys of {}", asked, state[2]);
  state[2] = known_dim(state[2], asked);
  if (ctx.has(kStateBefore) && ctx.shape(kStateBefore))
    for (std::size_t axis = 1; axis < state.size(); ++axis) {
      const std::int64_t given = (*ctx.shape(kStateBefore))[axis];
      if (!dims_agree(state[axis], given))
        ctx.fail("axis {} of {} expects {}, found {}", axis, ctx.text(kStateBefore), state[axis], given);
      state[axis] = known_dim(state[axis], given);
    }
  const auto width = [&](std::size_t input) {
    return ctx.has(input) && ctx.shape(input) ? ctx.shape(input)->back() : kUnknownDim;
  };
  const std::int64_t fade = width(kStateFade), rate = width(kStateRate);
  if (fade >= 0 && fade != read.heads && (state[2] < 0 || fade != read.heads * state[2]) && state[2] >= 0)
    ctx.fail("{} has {} columns, expected {} or {}", ctx.text(kStateFade), fade, read.heads, read.heads * state[2]);
  if (rate >= 0 && rate != 1 && rate != read.heads)
    ctx.fail("{} has {} columns, expected 1 or {}", ctx.text(kStateRate), rate, read.heads);
  const std::int64_t columns = state[3] < 0 ? kUnknownDim : read.results() * state[3];
  return {{DType::f32, Shape{tokens[0], tokens[1], columns}}, {DType::f32, state}};
}

/// One token of a head of keys: `state` [keys][values].
struct Token {
  const double *key, *value, *fade, *rate;
  std::int64_t keys, values, fade_step;
};
void change(const Token& token, double* state) {
  for (std::int64_t i = 0; token.fade != nullptr && i < token.keys; ++i)
    for (std::int64_t j = 0; j < token.values; ++j) state[i * token.values + j] *= token.fade[i * token.fade_step];
  for (std::int64_t j = 0; j < token.values; ++j) {
    double written = token.value[j];
    for (std::int64_t i = 0; token.rate != nullptr && i < token.keys; ++i)
      written -= token.key[i] * state[i * token.values + j];
    if (token.rate != nullptr) written *= *token.rate;
    for (std::int64_t i = 0; i < token.keys; ++i) state[i * token.values + j] += token.key[i] * written;
  }
}

Data evaluate_linear_attention(const Opaque& op, const Call& call) {
  const StateAttention read = state_attention_of(op);
  const Shape shape = call.input(kStateKey).shape();
  const std::int64_t batch = shape[0], tokens = shape[1], keys = shape[2] / read.heads;
  const std::int64_t values = call.input(kStateValue).shape()[2] / read.heads, results = read.results();
  const auto numbers = [&](std::size_t input) {
    const Tensor* tensor = call.optional(input);
    return tensor == nullptr ? std::vector<double>() : load_all<double>(*tensor);
  };
  const std::vector<double> query = numbers(kStateQuery), key = numbers(kStateKey), value = numbers(kStateValue),
                            fade = numbers(kStateFade), rate = numbers(kStateRate);
  std::vector<double> state = numbers(kStateBefore);
  if (state.empty()) state.assign(static_cast<std::size_t>(batch * read.heads * keys * values), 0);
  std::vector<double> out(static_cast<std::size_t>(batch * tokens * results * values));
  const std::int64_t fades = fade.empty() ? 0 : call.input(kStateFade).shape()[2];
  const std::int64_t rates = rate.empty() ? 0 : call.input(kStateRate).shape()[2];
  for (std::int64_t row = 0; row < batch * tokens; ++row)
    for (std::int64_t head = 0; head < read.heads; ++head) {
      double* const of_head = state.data() + (row / tokens * read.heads + head) * keys * values;
      const bool by_key = fades != read.heads;
      change({key.data() + (row * read.heads + head) * keys, value.data() + (row * read.heads + head) * values,
              fades == 0 ? nullptr : fade.data() + row * fades + head * (by_key ? keys : 1),
              rates == 0 ? nullptr : rate.data() + row * rates + (rates == 1 ? 0 : head), keys, values, by_key ? 1 : 0},
             of_head);
      for (std::int64_t result = head * (results / read.heads); result < (head + 1) * (results / read.heads);
           ++result) {
        const double* asked = query.data() + (row * read.query_heads + result / (results / read.query_heads)) * keys;
        for (std::int64_t j = 0; j < values; ++j) {
          double sum = 0;
          for (std::int64_t i = 0; i < keys; ++i) sum += asked[i] * of_head[i * values + j];
          out[static_cast<std::size_t>((row * results + result) * values + j)] =
              sum * static_cast<double>(read.scale_of(keys));
        }
      }
    }
  return {tensor_of(DType::f32, {batch, tokens, results * values}, out),
          tensor_of(DType::f32, {batch, read.heads, keys, values}, state)};
}

}  // namespace

float StateAttention::scale_of(std::int64_t keys) const {
  return scale != 0 || keys == 0 ? scale : static_cast<float>(1 / std::sqrt(static_cast<double>(keys)));
}

StateAttention state_attention_of(const Opaque& op) {
  const StateAttention read{op.int_of("query_heads"), op.int_of("heads"), op.float_or("scale", 0)};
  const bool fits = read.query_heads > 0 && read.heads > 0 && read.query_heads < kMaxDim && read.heads < kMaxDim &&
                    (read.query_heads % read.heads == 0 || read.heads % read.query_heads == 0);
  if (!fits)
    fail(ErrorCode::invalid_model, "linear attention of {} heads of queries, {} of keys", read.query_heads, read.heads);
  return read;
}

constexpr Definition kLinearAttention{"LinearAttention", infer_linear_attention, evaluate_linear_attention};

}  // namespace colonnade::reference
