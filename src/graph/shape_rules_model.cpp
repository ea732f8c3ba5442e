// SPDX-License-Identifier: Apache-2.0
// Operators that are small models of their own: einsum, recurrent networks, tree ensembles.
#include <algorithm>
#include <array>
#include <map>

#include "base/checked.hpp"
#include "graph/einsum.hpp"
#include "graph/parameters.hpp"
#include "graph/shape_rules.hpp"

namespace colonnade {
namespace {

struct EinsumSizes {
  std::map<char, std::int64_t> letters;
  std::optional<Shape> ellipsis = Shape{};
};

void bind_letter(const RuleContext& ctx, EinsumSizes& sizes, char letter, std::int64_t dim) {
  const auto [place, fresh] = sizes.letters.try_emplace(letter, dim);
  if (fresh) return;
  std::int64_t& known = place->second;
  if (!dims_agree(known, dim) && known != 1 && dim != 1) ctx.fail("'{}' is {} and {}", letter, known, dim);
  known = known == 1 ? dim : (dim == 1 ? known : known_dim(known, dim));
}

void bind_term(const RuleContext& ctx, EinsumSizes& sizes, const EinsumTerm& term, std::size_t input) {
  if (!ctx.shape(input)) {
    for (const char letter : term.letters) sizes.letters.try_emplace(letter, kUnknownDim);
    if (term.ellipsis) sizes.ellipsis.reset();
    return;
  }
  const Shape& shape = *ctx.shape(input);
  const std::size_t named = term.letters.size();
  if (shape.size() < named || (!term.ellipsis && shape.size() != named)) {
    ctx.fail("the equation gives {} axes to {}, which is {}", named, ctx.text(input), to_text(ctx.type(input)));
  }
  const std::size_t before = term.ellipsis.value_or(named);
  const std::size_t hidden = shape.size() - named;
  for (std::size_t index = 0; index < named; ++index) {
    bind_letter(ctx, sizes, term.letters[index], shape[index < before ? index : index + hidden]);
  }
  const auto first = shape.begin() + static_cast<std::ptrdiff_t>(before);
  if (term.ellipsis)
    sizes.ellipsis = broadcast(ctx, sizes.ellipsis, Shape(first, first + static_cast<std::ptrdiff_t>(hidden)));
}

EinsumEquation equation_of(const Einsum& op, const RuleContext& ctx) {
  EinsumEquation equation;
  if (const std::string wrong = read_equation(op.equation, equation); !wrong.empty()) ctx.fail("{}", wrong);
  const std::size_t terms = equation.terms.size();
  if (terms != ctx.input_count()) {
    ctx.fail("the equation has {} terms, {} inputs are given", terms, ctx.input_count());
  }
  ctx.inputs(terms, terms);
  return equation;
}

EinsumSizes bound_sizes(const RuleContext& ctx, const std::vector<EinsumTerm>& terms) {
  EinsumSizes sizes;
  for (std::size_t input = 0; input < terms.size(); ++input) bind_term(ctx, sizes, terms[input], input);
  return sizes;
}

std::int64_t gates_of(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::rnn: return 1;
    case RecurrentKind::gru: return 3;
    case RecurrentKind::lstm: return 4;
  }
  return 1;
}

void matrix(const RuleContext& ctx, std::size_t input, const Shape& expected, std::string_view what) {
  if (!ctx.has(input)) return;
  ctx.rank(input, expected.size());
  for (std::size_t axis = 0; axis < expected.size(); ++axis) ctx.dim(input, axis, expected[axis], what);
}

void check_tree_indices(const RuleContext& ctx, const TreeEnsemble& op) {
  const auto in_range = [](std::int32_t index, std::size_t size) {
    return index >= 0 && static_cast<std::size_t>(index) < size;
  };
  for (const std::int32_t root : op.roots) {
    if (!in_range(root, op.nodes.size())) ctx.fail("root {} is not one of {} nodes", root, op.nodes.size());
  }
  for (const TreeEnsemble::TreeNode& node : op.nodes) {
    const bool leaf = node.mode == TreeEnsemble::Mode::leaf;
    const bool children = in_range(node.if_true, op.nodes.size()) && in_range(node.if_false, op.nodes.size());
    const bool weights = node.first_weight >= 0 && node.first_weight <= node.last_weight &&
                         static_cast<std::size_t>(node.last_weight) <= op.leaf_weights.size();
    if (leaf ? !weights : !children) ctx.fail("a tree node points outside the ensemble");
  }
  for (const TreeEnsemble::Weight& weight : op.leaf_weights) {
    if (weight.target < 0 || weight.target >= op.target_count) {
      ctx.fail("a leaf weighs target {} of {}", weight.target, op.target_count);
    }
  }
}

void check_features(const RuleContext& ctx, const TreeEnsemble& op, std::int64_t features) {
  if (features < 0) return;
  for (const TreeEnsemble::TreeNode& node : op.nodes) {
    const bool leaf = node.mode == TreeEnsemble::Mode::leaf;
    if (!leaf && (node.feature < 0 || node.feature >= features)) {
      ctx.fail("a tree reads feature {}, {} has {}", node.feature, ctx.text(0), features);
    }
  }
}

}  // namespace

double einsum_points(const Einsum& op, const RuleContext& ctx) {
  const EinsumSizes sizes = bound_sizes(ctx, equation_of(op, ctx).terms);
  double points = 1;
  for (const auto& [letter, dim] : sizes.letters) points *= static_cast<double>(dim);
  if (sizes.ellipsis) points *= static_cast<double>(product_of(*sizes.ellipsis));
  return points;
}

Types infer(const Einsum& op, const RuleContext& ctx) {
  const auto [terms, output] = equation_of(op, ctx);
  const EinsumSizes sizes = bound_sizes(ctx, terms);
  DType dtype = DType::undefined;
  for (std::size_t input = 0; input < terms.size(); ++input) {
    const DType common = ctx.same_dtype(input, 0);
    dtype = dtype == DType::undefined ? common : dtype;
  }
  Shape shape;
  for (std::size_t index = 0; index <= output.letters.size(); ++index) {
    if (output.ellipsis == index) {
      if (!sizes.ellipsis) return {{dtype, std::nullopt}};
      shape.insert(shape.end(), sizes.ellipsis->begin(), sizes.ellipsis->end());
    }
    if (index == output.letters.size()) break;
    const auto place = sizes.letters.find(output.letters[index]);
    if (place == sizes.letters.end()) ctx.fail("no input has the axis '{}' of the output", output.letters[index]);
    shape.push_back(place->second);
  }
  return {{dtype, std::move(shape)}};
}

const RecurrentActivation* find_recurrent_activation(std::string_view name) {
  static constexpr std::array<RecurrentActivation, 11> kActivations{{
      {"Sigmoid", false, false, 0, 0},
      {"Tanh", false, false, 0, 0},
      {"Relu", false, false, 0, 0},
      {"Affine", true, true, 1, 0},
      {"LeakyRelu", true, false, 0.01, 0},
      {"ThresholdedRelu", true, false, 1, 0},
      {"ScaledTanh", true, true, 1, 1},
      {"HardSigmoid", true, true, 0.2, 0.5},
      {"Elu", true, false, 1, 0},
      {"Softsign", false, false, 0, 0},
      {"Softplus", false, false, 0, 0},
  }};
  const auto is_named = [&](const RecurrentActivation& known) {
    return std::equal(known.name.begin(), known.name.end(), name.begin(), name.end(),
                      [](char a, char b) { return (a | 32) == (b | 32); });
  };
  const auto found = std::find_if(kActivations.begin(), kActivations.end(), is_named);
  return found == kActivations.end() ? nullptr : &*found;
}

Types infer(const Recurrent& op, const RuleContext& ctx) {
  const bool lstm = op.kind == RecurrentKind::lstm;
  ctx.inputs(3, lstm ? 8 : 6);
  if (op.hidden_size < 1 || op.hidden_size > kMaxDim) ctx.fail("the hidden size is {}", op.hidden_size);
  ctx.rank(0, 3);
  const Shape x = ctx.shape(0).value_or(unknown_shape(3));
  const std::int64_t directions = op.direction == Direction::bidirectional ? 2 : 1;
  const std::int64_t gates = gates_of(op.kind) * op.hidden_size;
  matrix(ctx, 1, {directions, gates, x[2]}, "the input weight");
  matrix(ctx, 2, {directions, gates, op.hidden_size}, "the recurrent weight");
  matrix(ctx, 3, {directions, 2 * gates}, "the bias");
  ctx.vector(4, x[1], "one length a sequence");
  matrix(ctx, 5, {directions, x[1], op.hidden_size}, "the initial state");
  matrix(ctx, 6, {directions, x[1], op.hidden_size}, "the initial cell");
  matrix(ctx, 7, {directions, 3 * op.hidden_size}, "the peepholes");
  const ValueType all{ctx.dtype(0), Shape{x[0], directions, x[1], op.hidden_size}};
  const ValueType last{ctx.dtype(0), Shape{directions, x[1], op.hidden_size}};
  return lstm ? Types{all, last, last} : Types{all, last};
}

Types infer(const TreeEnsemble& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ctx.rank(0, 2);
  if (op.target_count < 1) ctx.fail("has {} targets", op.target_count);
  check_tree_indices(ctx, op);
  if (ctx.shape(0)) check_features(ctx, op, ctx.shape(0)->back());
  const std::int64_t rows = ctx.shape(0) ? ctx.shape(0)->front() : kUnknownDim;
  const ValueType scores{op.scores, Shape{rows, op.target_count}};
  if (!op.classifier) return {scores};
  return {{DType::i64, Shape{rows}}, scores};
}

}  // namespace colonnade
