// SPDX-License-Identifier: Apache-2.0
#include "passes/flatten_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/aligned_buffer.hpp"
#include "passes/match.hpp"
#include "passes/permutation.hpp"
#include "passes/transposes.hpp"

namespace colonnade::rewrite {
namespace {

bool flattens_inner_axes(const Shape& in, const Shape& out) {
  if (in.size() < 3 || out.size() != 2 || in[0] != out[0] || out[1] < 0) return false;
  return std::all_of(in.begin() + 1, in.end(), [](std::int64_t size) { return size > 0; });
}

bool reads_as_rows(const Editor& editor, int index, ValueId value) {
  const Node& node = editor.node(index);
  const auto* op = std::get_if<MatMul>(&node.op);
  if (op == nullptr || op->transpose_a || node.inputs[0] != value || node.inputs[1] == value) return false;
  if (!editor.is_constant(node.inputs[1]) || rank_of(editor, node.inputs[1]) != 2) return false;
  if (editor.value(node.inputs[1]).type.dtype != DType::f32) return false;
  return std::count(node.inputs.begin(), node.inputs.end(), value) == 1;
}

/// Rows of a weight matrix from the order of permuted(shape, perm) to the order of shape.
std::shared_ptr<const Constant> reordered_rows(const std::shared_ptr<const Constant>& weights, bool transposed_weights,
                                               const Shape& shape, const Ints& perm) {
  Tensor numbers(DType::i64, permuted(shape, perm));
  std::iota(numbers.values<std::int64_t>().begin(), numbers.values<std::int64_t>().end(), std::int64_t{0});
  const auto source = std::make_shared<const Tensor>(transposed(numbers, inverse(perm)));  // row i comes from source[i]
  const std::int64_t columns = weights->shape()[1];
  const auto move_rows = [=](std::int64_t first, std::span<std::byte> target) {
    while (!target.empty()) {  // row by row; the first and the last may be parts
      const std::int64_t row = source->values<std::int64_t>()[static_cast<std::size_t>(first / columns)];
      const std::int64_t column = first % columns;
      const auto bytes = std::min(target.size(), static_cast<std::size_t>(columns - column) * sizeof(float));
      weights->read(row * columns + column, target.first(bytes));
      target = target.subspan(bytes);
      first += columns - column;
    }
  };
  const auto move_columns = [=](std::int64_t first, std::span<std::byte> target) {
    const AlignedBuffer whole(static_cast<std::size_t>(columns) * sizeof(float));
    auto* to = reinterpret_cast<float*>(target.data());
    float* const end = to + target.size() / sizeof(float);
    for (std::int64_t row = first / columns, column = first % columns; to != end; ++row, column = 0) {
      weights->read(row * columns, {whole.data(), whole.bytes()});
      const std::int64_t* from = source->values<std::int64_t>().data() + column;
      for (float* const last = to + std::min<std::ptrdiff_t>(end - to, columns - column); to != last; ++to)
        *to = whole.floats()[*from++];
    }
  };
  const auto how = fmt::format("{} of {} by {}", transposed_weights ? "columns" : "rows", fmt::join(shape, " "),
                               fmt::join(perm, " "));
  return derived(weights, how, [&] {
    return transposed_weights
               ? std::make_shared<const Constant>(weights->dtype(), weights->shape(), move_columns,
                                                  weights->is_normal())
               : std::make_shared<const Constant>(weights->dtype(), weights->shape(), move_rows, weights->is_normal());
  });
}

}  // namespace

bool flatten_into_weights(Editor& editor, int index) {
  if (!editor.is_one_of<Reshape>(index)) return false;
  const Node node = editor.node(index);
  if (editor.is_output(node.outputs[0])) return false;
  const auto* transpose = editor.produced_by<Transpose>(node.input(0));
  if (transpose == nullptr || !has_rank(editor, node.inputs[0]) || !has_rank(editor, node.outputs[0])) return false;
  const ValueId source = editor.node(editor.producer(node.inputs[0])).inputs[0];
  if (!has_rank(editor, source)) return false;
  const Shape shape = *editor.value(source).type.shape;
  const Ints perm = perm_of(*transpose, shape.size());
  const Shape flat = *editor.value(node.outputs[0]).type.shape;
  if (perm[0] != 0 || !flattens_inner_axes(shape, flat)) return false;
  const std::vector<int> readers = editor.readers(node.outputs[0]);
  const auto fits = [&](int reader) { return reads_as_rows(editor, reader, node.outputs[0]); };
  if (readers.empty() || !std::all_of(readers.begin(), readers.end(), fits)) return false;

  const Shape inner(shape.begin() + 1, shape.end());
  Ints inner_perm(perm.begin() + 1, perm.end());
  for (std::int64_t& axis : inner_perm) --axis;
  const auto rows = add_reshape(editor, source, flat, node);
  if (!rows) return false;
  for (const int reader : readers) {
    std::vector<ValueId> inputs = editor.node(reader).inputs;
    const Value& weights = editor.value(inputs[1]);
    const bool transposed_weights = std::get<MatMul>(editor.node(reader).op).transpose_b;
    auto reordered = reordered_rows(weights.constant, transposed_weights, inner, inner_perm);
    inputs[0] = *rows;
    inputs[1] = editor.add_constant(std::string(weights.name), std::move(reordered));
    editor.set_inputs(reader, std::move(inputs));
  }
  return true;
}

}  // namespace colonnade::rewrite
