// SPDX-License-Identifier: Apache-2.0
#include "graph/contraction.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

/// Rows and columns last; nothing where the rank is unknown.
std::optional<Shape> operand(const RuleContext& ctx, std::size_t input, bool heads_inside) {
  ctx.rank_at_least(input, heads_inside ? 3 : 2);
  if (!ctx.shape(input)) return std::nullopt;
  return heads_swapped(*ctx.shape(input), heads_inside);
}

void agree(const RuleContext& ctx, std::string_view what, std::size_t input, std::int64_t found,
           std::int64_t expected) {
  if (!dims_agree(found, expected)) ctx.fail("{} of {} expects {}, found {}", what, ctx.text(input), expected, found);
}

Shape batch_of(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

/// [.., rows, keys], addends included.
std::optional<Shape> scores_of(const RuleContext& ctx, const Shape& q, const Shape& k, const Shape& v) {
  const std::int64_t keys = known_dim(k[k.size() - 2], v[v.size() - 2]);
  std::optional<Shape> scores = broadcast(ctx, broadcast(ctx, batch_of(q), batch_of(k)), batch_of(v));
  scores->push_back(q[q.size() - 2]);
  scores->push_back(keys);
  for (std::size_t input = kAddendInput; input < kBoundsInput; ++input) {
    if (!ctx.has(input)) continue;
    if (!ctx.shape(input)) return std::nullopt;
    if (ctx.has(kBoundsInput)) continue;
    if (ctx.has(kLiveInput)) {
      Shape shape = *ctx.shape(input);
      if (!shape.empty()) shape.back() = 1;
      scores = broadcast(ctx, scores, shape);
      continue;
    }
    scores = broadcast(ctx, scores, ctx.shape(input));
    agree(ctx, "the last axis", input, scores->back(), keys);
  }
  return scores;
}

/// Sinks broadcast to the rows of scores and make them no more.
void check_sinks(const RuleContext& ctx, const Shape& scores) {
  ctx.rank_at_least(kSinksInput, 1);
  if (!ctx.shape(kSinksInput)) return;
  const Shape& shape = *ctx.shape(kSinksInput);
  agree(ctx, "the last axis", kSinksInput, shape.back(), 1);
  if (shape.size() > scores.size())
    ctx.fail("{} expects at most {} axes, found {}", ctx.text(kSinksInput), scores.size(), shape.size());
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis)
    if (shape[axis] != 1)
      agree(ctx, fmt::format("axis {}", axis), kSinksInput, shape[axis], scores[scores.size() - shape.size() + axis]);
}

void check_bounds(const RuleContext& ctx) {
  ctx.dtype_is(kBoundsInput, DType::i64);
  ctx.rank(kBoundsInput, 1);
  if (ctx.shape(kBoundsInput) && ctx.shape(kBoundsInput)->front() == 0) ctx.fail("{} is empty", ctx.text(kBoundsInput));
  ctx.dtype_is(kPlacesInput, DType::i64);
  ctx.rank(kPlacesInput, 1);
  for (std::size_t input = kAddendInput; input < kBoundsInput; ++input) {
    if (!ctx.has(input)) continue;
    if (!ctx.has(kPlacesInput)) ctx.fail("{} and bounds of texts, but no places", ctx.text(input));
    ctx.rank_at_least(input, 2);
    if (!ctx.shape(input)) continue;
    const Shape& shape = *ctx.shape(input);
    agree(ctx, "the number of rows", input, shape[shape.size() - 2], 1);
    if (shape.back() >= 0 && shape.back() % 2 == 0) ctx.fail("{} has no middle", ctx.text(input));
  }
}

void check_live(const Attention& op, const RuleContext& ctx) {
  ctx.dtype_is(kLiveInput, DType::i64);
  ctx.vector(kLiveInput, 2, "numbers of keys");
  if (ctx.has(kBoundsInput) || op.heads_inside_k || op.heads_inside_v)
    ctx.fail("a growing cache with bounds of texts, or heads inside its rows");
}

}  // namespace

Types infer(const Attention& op, const RuleContext& ctx) {
  ctx.inputs(kAddendInput, kSinksInput + 1);
  const DType dtype = ctx.same_dtype(0, 1);
  for (std::size_t input = 2; input < kBoundsInput; ++input)
    if (ctx.has(input)) ctx.same_dtype(0, input);
  if (ctx.has(kSinksInput)) ctx.same_dtype(0, kSinksInput);
  if (ctx.has(kBoundsInput)) check_bounds(ctx);
  if (ctx.has(kLiveInput)) check_live(op, ctx);
  const auto q = operand(ctx, 0, op.heads_inside_q), k = operand(ctx, 1, op.heads_inside_k),
             v = operand(ctx, 2, op.heads_inside_v);
  if (!q || !k || !v) return {{dtype, std::nullopt}};
  agree(ctx, "the size", 1, k->back(), q->back());
  agree(ctx, "the number of rows", 2, (*v)[v->size() - 2], (*k)[k->size() - 2]);
  std::optional<Shape> shape = scores_of(ctx, *q, *k, *v);
  if (!shape) return {{dtype, std::nullopt}};
  if (ctx.has(kSinksInput)) check_sinks(ctx, *shape);
  shape->back() = v->back();
  if (op.heads_inside_out && shape->size() < 3) ctx.fail("heads inside a result of {} axes", shape->size());
  return {{dtype, heads_swapped(*std::move(shape), op.heads_inside_out)}};
}

}  // namespace colonnade
