// SPDX-License-Identifier: Apache-2.0
#include "families/attention_form.hpp"

namespace colonnade {
namespace {

Shape with_matrix(const Shape& shape) {
  Shape result = shape;
  while (result.size() < 2) result.insert(result.begin(), 1);
  return result;
}

/// Where an addend's rows lie: the same one for all rows, or one each; nothing where keys share a number.
std::optional<Matrices> addend_of(const Shape& given, const AttentionForm& form) {
  const Shape shape = with_matrix(given);
  const std::int64_t rows = shape[shape.size() - 2];
  const bool fits = form.grows ? shape.back() > 1 : shape.back() == (form.bounded ? 2 * form.far + 1 : form.keys);
  if (!fits || shape.size() > form.batch.size() + 2) return std::nullopt;
  Matrices matrices = matrices_of(shape, false, form.batch);
  if (rows == 1) matrices.row = 0;
  return matrices;
}

}  // namespace

std::optional<AttentionForm> attention_form(const Subject& node, const Attention& op) {
  const Shape q = heads_swapped(node.input_shape(0), op.heads_inside_q),
              k = heads_swapped(node.input_shape(1), op.heads_inside_k),
              v = heads_swapped(node.input_shape(2), op.heads_inside_v),
              out = heads_swapped(node.output_shape(), op.heads_inside_out);
  AttentionForm form;
  form.batch.assign(out.begin(), out.end() - 2);
  form.rows = out[out.size() - 2], form.keys = k[k.size() - 2], form.size = q.back(), form.columns = out.back();
  if (q[q.size() - 2] != form.rows) return std::nullopt;
  form.q = matrices_of(node.input_shape(0), op.heads_inside_q, form.batch);
  form.k = matrices_of(node.input_shape(1), op.heads_inside_k, form.batch);
  form.v = matrices_of(node.input_shape(2), op.heads_inside_v, form.batch);
  form.out = matrices_of(node.output_shape(), op.heads_inside_out, form.batch);
  form.bounded = node.has_input(kBoundsInput);
  form.grows = node.has_input(kLiveInput);
  for (std::size_t i = 0; i < kMostAddends; ++i) {
    if (!node.has_input(kAddendInput + i)) continue;
    if (form.bounded && !form.by_distance) form.far = node.input_shape(kAddendInput + i).back() / 2;
    form.by_distance = form.bounded;
    const auto addend = addend_of(node.input_shape(kAddendInput + i), form);
    if (!addend) return std::nullopt;
    form.addends[i] = *addend;
    form.varies = form.varies || form.by_distance || addend->row != 0;
  }
  if (node.has_input(kSinksInput)) {
    const Shape sinks = with_matrix(node.input_shape(kSinksInput));
    form.sinks = matrices_of(sinks, false, form.batch);
    if (sinks[sinks.size() - 2] == 1) form.sinks->row = 0;
  }
  form.blocks = ceil_div(form.rows, kUnitRows);
  if (form.bounded) form.texts = element_count(node.input_shape(kBoundsInput)) - 1;
  return form;
}

}  // namespace colonnade
