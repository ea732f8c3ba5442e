// SPDX-License-Identifier: Apache-2.0
// softmax(q k' * scale + masks) v, written out in products and small operators, becomes one Attention. Dimensions may
// be open. Transposes that only take heads out of rows, or back, become its flags. Matching changes nothing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/contraction.hpp"
#include "passes/known_ints.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "passes/permutation.hpp"

namespace colonnade::rewrite {
namespace {

/// What is added to scores; of a Select the number far below where its condition bars a score.
struct Addend {
  ValueId value = kAbsent;
  int select = -1;
  std::size_t far = 0;  ///< its input that is the number
};

/// Scores as they are written: a product, its factor, its cap, what is added to it in order.
struct Scores {
  int product = -1;
  double scale = 1;
  double cap = 0;  ///< 0: none
  std::vector<Addend> addends;
};

bool is_float_matrix(const Editor& editor, ValueId id) {
  return id != kAbsent && editor.value(id).type.dtype == DType::f32 && has_rank(editor, id) && rank_of(editor, id) >= 2;
}

/// A product of two matrices into which nothing is fused.
const MatMul* bare_product(const Editor& editor, int index) {
  const auto* op = index < 0 ? nullptr : std::get_if<MatMul>(&editor.node(index).op);
  if (op == nullptr) return nullptr;
  const MatMul bare{.transpose_b = op->transpose_b, .epilogue = {}};
  const Node& node = editor.node(index);
  const bool plain = *op == bare && node.input(kAddendInput - 1) == kAbsent;
  return plain && is_float_matrix(editor, node.inputs[0]) && is_float_matrix(editor, node.inputs[1]) ? op : nullptr;
}

/// Broadcasts to the scores without making them larger, and is no single number for all keys.
bool fits(const Editor& editor, ValueId id, ValueId scores) {
  if (!has_rank(editor, id) || !has_rank(editor, scores)) return false;
  const Shape &from = *editor.value(id).type.shape, &to = *editor.value(scores).type.shape;
  if (from.empty() || from.size() > to.size() || from.back() == 1) return false;
  const std::size_t shift = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] > 1 && to[axis + shift] >= 0 && from[axis] != to[axis + shift]) return false;
  return true;
}

std::optional<Scores> find_scores(const Editor& editor, ValueId id, int depth);

std::optional<Scores> with_addend(const Editor& editor, ValueId scores, const Addend& addend, int depth) {
  const ValueId shaped = addend.select < 0 ? addend.value : editor.node(addend.select).inputs[0];
  if (!fits(editor, shaped, scores)) return std::nullopt;
  auto found = find_scores(editor, scores, depth - 1);
  if (!found || found->addends.size() == kMostAddends) return std::nullopt;
  found->addends.push_back(addend);
  return found;
}

/// Scores where a condition holds, elsewhere a number so far below all of them that adding it leaves nothing of them.
std::optional<Scores> find_barred(const Editor& editor, ValueId id, int depth) {
  constexpr double kFar = -1e12;
  const int index = editor.producer(id);
  const Node& node = editor.node(index);
  for (const std::size_t far : {std::size_t{1}, std::size_t{2}}) {
    const auto number = scalar_of(editor, node.inputs[far]);
    if (!number || !(*number <= kFar) || !same_type(editor, node.inputs[3 - far], id)) continue;
    return with_addend(editor, node.inputs[3 - far], {kAbsent, index, far}, depth);
  }
  return std::nullopt;
}

/// cap * tanh(factor * scores), with which scale * scores / cap is meant.
std::optional<Scores> find_capped(const Editor& editor, const ScaledOperand& scaled, int depth) {
  const auto* bent = editor.produced_by<Unary>(scaled.value);
  const bool caps = bent != nullptr && bent->kind == UnaryKind::tanh && scaled.scalar > 0;
  if (!caps || !editor.read_once(scaled.value)) return std::nullopt;
  auto found = find_scores(editor, editor.node(editor.producer(scaled.value)).inputs[0], depth - 1);
  if (!found || !found->addends.empty() || found->cap != 0) return std::nullopt;
  found->cap = scaled.scalar;
  found->scale *= scaled.scalar;
  return found;
}

std::optional<Scores> find_scores(const Editor& editor, ValueId id, int depth) {
  if (depth == 0 || !editor.read_once(id) || editor.value(id).type.dtype != DType::f32) return std::nullopt;
  if (bare_product(editor, editor.producer(id)) != nullptr) return Scores{editor.producer(id), 1, 0, {}};
  if (editor.produced_by<Select>(id) != nullptr) return find_barred(editor, id, depth);
  if (const auto scaled = match_scale(editor, id)) {
    if (auto capped = find_capped(editor, *scaled, depth)) return capped;
    auto found = find_scores(editor, scaled->value, depth - 1);
    if (!found || !found->addends.empty() || found->cap != 0) return std::nullopt;
    found->scale *= scaled->scalar;
    return found;
  }
  const auto sum = match_binary(editor, id, BinaryKind::add);
  if (!sum) return std::nullopt;
  for (const auto& [scores, addend] : {Operands{sum->a, sum->b}, Operands{sum->b, sum->a}})
    if (auto found = with_addend(editor, scores, {addend}, depth)) return found;
  return std::nullopt;
}

struct Matched {
  int mixed = -1;  ///< the product of shares and values
  Scores scores;
  ValueId sinks = kAbsent;
  WithoutShares without_shares = WithoutShares::nan;
};

/// Shares, and where a Select takes zero instead of them.
struct Zeroed {
  ValueId shares = kAbsent;
  WithoutShares where = WithoutShares::nan;
  ValueId bars = kAbsent;  ///< the addend that is -inf for all keys there
};

/// The value of which a condition says where a row is -inf from end to end.
ValueId barred_rows_of(const Editor& editor, ValueId condition) {
  const auto operands = match_binary(editor, condition, BinaryKind::equal);
  if (!operands || scalar_of(editor, operands->b) != -std::numeric_limits<double>::infinity()) return kAbsent;
  const auto* most = editor.produced_by<Reduce>(operands->a);
  if (most == nullptr || most->kind != ReduceKind::max || !most->keepdims) return kAbsent;
  const Node& reduce = editor.node(editor.producer(operands->a));
  if (!has_rank(editor, reduce.inputs[0])) return kAbsent;
  const Ints last{static_cast<std::int64_t>(rank_of(editor, reduce.inputs[0])) - 1};
  return reduce_axes(editor, reduce) == last ? reduce.inputs[0] : kAbsent;
}

Zeroed find_zeroed(const Editor& editor, ValueId id) {
  if (editor.produced_by<Select>(id) == nullptr || !editor.read_once(id)) return {id};
  const Node& node = editor.node(editor.producer(id));
  const ValueId condition = node.inputs[0], shares = node.inputs[2];
  if (scalar_of(editor, node.inputs[1]) != 0.0) return {id};
  if (match_unary(editor, condition, UnaryKind::is_nan) == shares && editor.read_once(condition) &&
      editor.readers(shares).size() == 2)
    return {shares, WithoutShares::zero};
  const ValueId bars = barred_rows_of(editor, condition);
  return bars == kAbsent || !editor.read_once(shares) ? Zeroed{id}
                                                      : Zeroed{shares, WithoutShares::zero_where_barred, bars};
}

/// Whether a Slice leaves out the last element along its last axis, and nothing else.
bool drops_last(const Editor& editor, const Node& slice) {
  const ValueId from = slice.inputs[0], to = slice.outputs[0];
  const auto ints = [&](std::size_t input) { return constant_ints(editor.graph(), slice, input); };
  const auto begin = ints(1), end = ints(2), axes = ints(3), steps = ints(4);
  if (!has_rank(editor, from) || begin != Ints{0} || !axes || axes->size() != 1) return false;
  if (slice.input(4) != kAbsent && steps != Ints{1}) return false;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, from));
  if (axes->front() != -1 && axes->front() != rank - 1) return false;
  const std::int64_t before = editor.value(from).type.shape->back();
  return end == Ints{-1} || (has_rank(editor, to) && before > 0 && editor.value(to).type.shape->back() == before - 1);
}

/// Scores [.., T], and one more of each row, of which no share is kept: [.., 1].
struct Softened {
  ValueId scores = kAbsent, sinks = kAbsent;
};

bool is_column(const Editor& editor, ValueId id) {
  return has_rank(editor, id) && rank_of(editor, id) > 0 && editor.value(id).type.shape->back() == 1;
}

/// A score more of each row, as it is before it is expanded to them.
std::optional<ValueId> find_column(const Editor& editor, ValueId id) {
  if (editor.produced_by<Expand>(id) == nullptr) return is_column(editor, id) ? std::optional(id) : std::nullopt;
  const Node& expand = editor.node(editor.producer(id));
  const auto shape = known_ints(editor, expand.inputs[1]);
  if (!is_column(editor, id) && (!shape || shape->empty() || shape->back() != 1)) return std::nullopt;
  return is_column(editor, expand.inputs[0]) ? expand.inputs[0] : id;
}

/// Scores and sinks side by side.
std::optional<Softened> find_sinks(const Editor& editor, ValueId both) {
  const auto* concat = editor.produced_by<Concat>(both);
  if (concat == nullptr || !editor.read_once(both) || !has_rank(editor, both)) return std::nullopt;
  const Node& node = editor.node(editor.producer(both));
  const auto last = static_cast<std::int64_t>(rank_of(editor, both)) - 1;
  if ((concat->axis != -1 && concat->axis != last) || node.inputs.size() != 2) return std::nullopt;
  const auto sinks = find_column(editor, node.inputs[1]);
  return sinks ? std::optional(Softened{node.inputs[0], *sinks}) : std::nullopt;
}

/// Of what shares are the softmax along the last axis.
std::optional<Softened> find_softened(const Editor& editor, ValueId shares) {
  const bool is_cut = editor.produced_by<Slice>(shares) != nullptr;
  if (is_cut) {
    const Node& slice = editor.node(editor.producer(shares));
    shares = slice.inputs[0];
    if (!drops_last(editor, slice) || !editor.read_once(shares)) return std::nullopt;
  }
  const auto* softmax = editor.produced_by<Softmax>(shares);
  if (softmax == nullptr || softmax->log) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(rank_of(editor, shares));
  if (softmax->axis != -1 && softmax->axis != rank - 1) return std::nullopt;
  const ValueId softened = editor.node(editor.producer(shares)).inputs[0];
  return is_cut ? find_sinks(editor, softened) : Softened{softened};
}

std::optional<Matched> match_attention(const Editor& editor, int index) {
  constexpr int kDepth = 6;
  if (bare_product(editor, index) == nullptr) return std::nullopt;
  const Node& node = editor.node(index);
  const Zeroed zeroed = find_zeroed(editor, node.inputs[0]);
  if (zeroed.where != WithoutShares::zero && !editor.read_once(zeroed.shares)) return std::nullopt;
  const auto softened = find_softened(editor, zeroed.shares);
  if (!softened) return std::nullopt;
  auto scores = find_scores(editor, softened->scores, kDepth);
  if (!scores || !std::isfinite(scores->scale)) return std::nullopt;
  const bool bars = scores->addends.size() == 1 && scores->addends[0].value == zeroed.bars;
  if (zeroed.where == WithoutShares::zero_where_barred && !bars) return std::nullopt;
  const ValueId keys = editor.node(scores->product).inputs[1], values = node.inputs[1];
  if (is_known(editor, keys) || is_known(editor, values)) return std::nullopt;
  return Matched{index, *std::move(scores), softened->sinks, zeroed.where};
}

bool takes_heads_out(Ints perm) {
  if (perm.size() < 3) return false;
  std::swap(perm[perm.size() - 3], perm[perm.size() - 2]);
  return is_identity(perm);
}

/// Rows and columns of an operand last, or heads inside its rows.
struct Operand {
  ValueId value = kAbsent;
  bool heads_inside = false;
  double scale = 1;  ///< that was in front of the value
};

/// Whether a factor behind a value finds weights, or another factor, that it can go into.
bool takes_factor(const Editor& editor, ValueId id) {
  for (int index = editor.producer(id); index >= 0; index = editor.producer(id)) {
    const Node& node = editor.node(index);
    if (editor.is_one_of<MatMul, Conv>(index)) return true;
    const auto* binary = std::get_if<Binary>(&node.op);
    if (binary != nullptr && binary->kind == BinaryKind::add && is_known(editor, node.inputs[1])) {
      id = node.inputs[0];
    } else if (binary != nullptr && binary->kind == BinaryKind::add && is_known(editor, node.inputs[0])) {
      id = node.inputs[1];
    } else if (editor.is_one_of<Transpose, Reshape, Squeeze, Unsqueeze, Slice, Split, Gather>(index)) {
      id = node.inputs[0];
    } else {
      return binary != nullptr && (binary->kind == BinaryKind::mul || binary->kind == BinaryKind::div);
    }
  }
  return false;
}

enum class Role : std::uint8_t { queries, keys, values };

/// A factor of keys goes to their scores: there are more keys than scores where a cache is long and tokens are few. So
/// does one of queries that would stay a step of its own.
Operand operand_of(Editor& editor, ValueId id, bool transposed, Role role, const Node& like) {
  const std::size_t rank = rank_of(editor, id);
  Ints perm = identity_perm(rank);
  if (transposed) std::swap(perm[rank - 1], perm[rank - 2]);
  double scale = 1;
  while (true) {
    if (const auto* op = editor.produced_by<Transpose>(id)) {
      perm = compose(perm_of(*op, rank), perm);
      id = editor.node(editor.producer(id)).inputs[0];
      continue;
    }
    const auto scaled = role == Role::values ? std::nullopt : match_scale(editor, id);
    if (!scaled || (role == Role::queries && takes_factor(editor, scaled->value))) break;
    scale *= scaled->scalar;
    id = scaled->value;
  }
  if (is_identity(perm)) return {id, false, scale};
  if (takes_heads_out(perm)) return {id, true, scale};
  return {editor.add(Transpose{perm}, {id}, like), false, scale};
}

ValueId addend_value(Editor& editor, const Addend& addend) {
  if (addend.select < 0) return addend.value;
  const Node node = editor.node(addend.select);
  Tensor none(DType::f32, {});
  none.values<float>()[0] = 0;
  std::vector<ValueId> inputs = node.inputs;
  inputs[3 - addend.far] = editor.add_constant(node.name + "_open", std::move(none));
  return editor.add(Select{}, std::move(inputs), node);
}

void fuse(Editor& editor, const Matched& found) {
  const Node mixed = editor.node(found.mixed), product = editor.node(found.scores.product);
  const bool by_rows = std::get<MatMul>(product.op).transpose_b;
  const Operand q = operand_of(editor, product.inputs[0], false, Role::queries, mixed),
                k = operand_of(editor, product.inputs[1], !by_rows, Role::keys, mixed),
                v = operand_of(editor, mixed.inputs[1], std::get<MatMul>(mixed.op).transpose_b, Role::values, mixed);
  Attention op{.scale = static_cast<float>(found.scores.scale * q.scale * k.scale),
               .heads_inside_q = q.heads_inside,
               .heads_inside_k = k.heads_inside,
               .heads_inside_v = v.heads_inside,
               .without_shares = found.without_shares,
               .cap = static_cast<float>(found.scores.cap)};
  std::vector<ValueId> inputs{q.value, k.value, v.value};
  for (const Addend& addend : found.scores.addends) inputs.push_back(addend_value(editor, addend));
  if (found.sinks != kAbsent) {
    inputs.resize(kSinksInput, kAbsent);
    inputs.push_back(found.sinks);
  }
  ValueId out = mixed.outputs[0];
  if (editor.read_once(out) && editor.produced_by<MatMul>(out) != nullptr) {
    const Node& reader = editor.node(editor.readers(out).front());
    const auto* back = std::get_if<Transpose>(&reader.op);
    op.heads_inside_out = back != nullptr && takes_heads_out(perm_of(*back, rank_of(editor, out)));
    if (op.heads_inside_out) out = reader.outputs[0];
  }
  editor.replace(out, editor.add(op, std::move(inputs), mixed));
}

}  // namespace

bool fuse_attention(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (!editor.alive(index)) continue;
    if (const auto found = match_attention(editor, index)) fuse(editor, *found);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
