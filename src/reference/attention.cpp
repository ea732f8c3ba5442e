// SPDX-License-Identifier: Apache-2.0
// Attention as the operators that it stands for.
#include <algorithm>
#include <limits>

#include "graph/contraction.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/reference.hpp"

namespace colonnade::reference {
namespace {

Tensor step_of(const Call& call, Operator op, std::initializer_list<const Tensor*> inputs) {
  Node node{std::move(op), {}, {0}, call.node.name, call.node.origin};
  for (std::size_t i = 0; i < inputs.size(); ++i) node.inputs.push_back(static_cast<ValueId>(i));
  return std::move(evaluate(node, std::span(inputs.begin(), inputs.size())).at(0));
}

/// By row, the text that it is of; -1: none.
Ints texts_of(const Call& call, std::int64_t rows) {
  const Ints bounds = call.ints(kBoundsInput);
  if (bounds.empty() || bounds.front() < 0 || bounds.back() > rows || !std::is_sorted(bounds.begin(), bounds.end()))
    call.invalid("the bounds of texts are not in order within {} rows", rows);
  Ints texts(static_cast<std::size_t>(rows), -1);
  for (std::size_t text = 0; text + 1 < bounds.size(); ++text)
    std::fill(texts.begin() + bounds[text], texts.begin() + bounds[text + 1], static_cast<std::int64_t>(text));
  return texts;
}

/// What bars keys of other texts, and the factor of rows that are of none.
Tensor barring(const Call& call, const Ints& texts) {
  std::vector<double> values;
  for (const std::int64_t row : texts)
    for (const std::int64_t key : texts)
      values.push_back(row < 0 || row == key ? 0 : -std::numeric_limits<double>::infinity());
  return tensor_of(call.dtype(), Shape{std::ssize(texts), std::ssize(texts)}, values);
}
Tensor live_rows(const Call& call, const Ints& texts, bool heads_inside) {
  std::vector<double> values;
  for (const std::int64_t row : texts) values.push_back(row < 0 ? 0 : 1);
  Shape shape{std::ssize(texts), 1};
  if (heads_inside) shape.push_back(1);
  return tensor_of(call.dtype(), shape, values);
}

/// An addend by distance [.., 1, 2 n + 1] as one of rows and keys.
Tensor by_places(const Call& call, const Tensor& addend) {
  const Ints places = call.ints(kPlacesInput);
  const std::vector<double> given = load_all<double>(addend);
  const std::int64_t width = addend.shape().back(), far = width / 2;
  std::vector<double> values;
  for (std::int64_t first = 0; first < std::ssize(given); first += width)
    for (const std::int64_t row : places)
      for (const std::int64_t key : places)
        values.push_back(given[static_cast<std::size_t>(first + far + std::clamp(key - row, -far, far))]);
  Shape shape(addend.shape().begin(), addend.shape().end() - 2);
  shape.insert(shape.end(), {std::ssize(places), std::ssize(places)});
  return tensor_of(call.dtype(), shape, values);
}

/// Zeros where a row has no shares.
Tensor zeroed(const Call& call, const Tensor& shares, const Tensor& has_none) {
  const Tensor zero = tensor_of(call.dtype(), Shape{}, std::vector<double>{0});
  return step_of(call, Select{}, {&has_none, &zero, &shares});
}

/// Rows of which addends bar all keys.
Tensor barred_rows(const Call& call, const Tensor& addends) {
  const Tensor last = colonnade::tensor_of(Ints{-1}),
               none = tensor_of(call.dtype(), Shape{}, std::vector<double>{-std::numeric_limits<double>::infinity()});
  const Tensor most = step_of(call, Reduce{.kind = ReduceKind::max}, {&addends, &last});
  return step_of(call, Binary{BinaryKind::equal}, {&most, &none});
}

/// Shares of keys beside one of a sink.
Tensor shares_beside(const Call& call, const Tensor& sinks, const Tensor& scores) {
  Shape column = scores.shape();
  column.back() = 1;
  const Tensor shape = colonnade::tensor_of(column);
  const Tensor sink = step_of(call, Expand{}, {&sinks, &shape});
  const Tensor both = step_of(call, Concat{-1}, {&scores, &sink});
  const Tensor shares = step_of(call, Softmax{-1, false}, {&both});
  const Tensor none = colonnade::tensor_of(Ints{0}), end = colonnade::tensor_of(Ints{scores.shape().back()}),
               last = colonnade::tensor_of(Ints{-1});
  return step_of(call, Slice{}, {&shares, &none, &end, &last});
}

Tensor capped(const Call& call, const Tensor& scores, double cap) {
  const Tensor limit = tensor_of(call.dtype(), Shape{}, std::vector<double>{cap});
  const Tensor share = step_of(call, Binary{BinaryKind::div}, {&scores, &limit});
  const Tensor bent = step_of(call, Unary{UnaryKind::tanh}, {&share});
  return step_of(call, Binary{BinaryKind::mul}, {&bent, &limit});
}

/// Keys or values of a growing cache without what is not there.
Tensor live_part(const Call& call, const Tensor& cache, const Ints& live) {
  const Shape& shape = cache.shape();
  const std::int64_t keys = live[0], room = live[1], width = shape.back();
  const std::vector<double> all = load_all<double>(cache);
  Shape part = shape;
  part[part.size() - 2] = keys;
  std::vector<double> values;
  for (std::int64_t head = 0; head * shape[shape.size() - 2] * width < std::ssize(all); ++head) {
    const auto first = all.begin() + head * room * width;
    values.insert(values.end(), first, first + keys * width);
  }
  return tensor_of(call.dtype(), part, values);
}

/// Attention over a growing cache is attention over a part of it.
Tensors over_live(const Attention& op, const Call& call) {
  const Ints live = call.ints(kLiveInput);
  const std::int64_t most = call.input(1).shape()[call.input(1).shape().size() - 2];
  if (live.size() != 2 || live[0] < 1 || live[0] > live[1] || live[1] > most)
    call.invalid("the cache has no room for its keys, or none");
  std::vector<Tensor> parts{call.input(0), live_part(call, call.input(1), live), live_part(call, call.input(2), live)};
  const Tensor none = colonnade::tensor_of(Ints{0}), end = colonnade::tensor_of(Ints{live[0]}),
               last = colonnade::tensor_of(Ints{-1});
  for (std::size_t i = kAddendInput; i < kBoundsInput; ++i)
    if (const Tensor* addend = call.optional(i)) parts.push_back(step_of(call, Slice{}, {addend, &none, &end, &last}));
  Node node{op, {}, {0}, call.node.name, call.node.origin};
  std::vector<const Tensor*> inputs;
  const auto give = [&](const Tensor& input) {
    node.inputs.push_back(static_cast<ValueId>(inputs.size()));
    inputs.push_back(&input);
  };
  for (const Tensor& part : parts) give(part);
  node.inputs.resize(kSinksInput, kAbsent);
  if (const Tensor* sinks = call.optional(kSinksInput)) give(*sinks);
  return evaluate(node, inputs);
}

}  // namespace

Tensors apply(const Attention& op, const Call& call) {
  if (call.optional(kLiveInput) != nullptr) return over_live(op, call);
  const MatMul by_keys{
      .transpose_b = true, .epilogue = {}, .heads_inside_a = op.heads_inside_q, .heads_inside_b = op.heads_inside_k};
  const MatMul by_values{.epilogue = {}, .heads_inside_b = op.heads_inside_v, .heads_inside_out = op.heads_inside_out};
  const Tensor scale = tensor_of(call.dtype(), Shape{}, std::vector<double>{op.scale});
  Tensor scores = step_of(call, by_keys, {&call.input(0), &call.input(1)});
  scores = step_of(call, Binary{BinaryKind::mul}, {&scores, &scale});
  if (op.cap != 0) scores = capped(call, scores, op.cap);
  const bool bounded = call.optional(kBoundsInput) != nullptr;
  Tensor addends = tensor_of(call.dtype(), Shape{1}, std::vector<double>{0});
  for (std::size_t i = kAddendInput; i < kAddendInput + kMostAddends; ++i) {
    const Tensor* addend = call.optional(i);
    if (addend == nullptr) continue;
    const Tensor by_rows = bounded ? by_places(call, *addend) : *addend;
    scores = step_of(call, Binary{BinaryKind::add}, {&scores, &by_rows});
    addends = step_of(call, Binary{BinaryKind::add}, {&addends, &by_rows});
  }
  const Tensor barred = barred_rows(call, addends);
  const Ints texts = bounded ? texts_of(call, scores.shape().back()) : Ints{};
  if (bounded) {
    const Tensor bars = barring(call, texts);
    scores = step_of(call, Binary{BinaryKind::add}, {&scores, &bars});
  }
  const Tensor* sinks = call.optional(kSinksInput);
  Tensor shares = sinks == nullptr ? step_of(call, Softmax{-1, false}, {&scores}) : shares_beside(call, *sinks, scores);
  if (op.without_shares == WithoutShares::zero)
    shares = zeroed(call, shares, step_of(call, Unary{UnaryKind::is_nan}, {&shares}));
  if (op.without_shares == WithoutShares::zero_where_barred) shares = zeroed(call, shares, barred);
  Tensors outputs;
  outputs.push_back(step_of(call, by_values, {&shares, &call.input(2)}));
  if (bounded) {
    const Tensor live = live_rows(call, texts, op.heads_inside_out);
    outputs[0] = step_of(call, Binary{BinaryKind::mul}, {&outputs[0], &live});
  }
  return outputs;
}

}  // namespace colonnade::reference
