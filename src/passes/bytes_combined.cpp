// SPDX-License-Identifier: Apache-2.0
// Sums, products and averages of bytes; what follows integer sums of bytes.
#include <algorithm>
#include <cmath>

#include "passes/bytes.hpp"
#include "passes/match.hpp"

namespace colonnade::rewrite {
namespace {

bool gives_integers(const Operator& op) {
  if (const auto* conv = std::get_if<ByteConv>(&op)) return conv->out.to == DType::i32;
  const auto* product = std::get_if<ByteMatMul>(&op);
  return product != nullptr && product->out.to == DType::i32;
}

Operator with_rescale(Operator op, const Rescale& out) {
  if (auto* conv = std::get_if<ByteConv>(&op)) conv->out = out;
  if (auto* product = std::get_if<ByteMatMul>(&op)) product->out = out;
  return op;
}

/// One number, or one a channel of the last axis of `like`, known or not.
bool is_factor(const Editor& editor, ValueId id, ValueId like) {
  const auto &shape = editor.value(id).type.shape, &whole = editor.value(like).type.shape;
  if (editor.value(id).type.dtype != DType::f32 || !shape || !whole || whole->empty()) return false;
  if (shape->size() > 1) return false;
  return shape->empty() || (*shape)[0] == 1 || ((*shape)[0] == whole->back() && whole->back() > 0);
}

/// A pooling of bytes, and the permutation of axes that it needs of an image whose channels come first.
struct Averaging {
  Pool pool;
  bool channels_first = false;
};

/// Averages over whole images are a pooling whose window is the image.
std::optional<Averaging> averaging_of(const Editor& editor, const Node& node) {
  if (const auto* pool = std::get_if<Pool>(&node.op))
    return pool->kind == PoolKind::average && pool->kernel.size() == 2 ? std::optional(Averaging{*pool}) : std::nullopt;
  const auto* reduce = std::get_if<Reduce>(&node.op);
  if (reduce == nullptr || reduce->kind != ReduceKind::mean || !reduce->keepdims) return std::nullopt;
  const ValueType& type = editor.value(node.inputs[0]).type;
  const auto axes = reduce_axes(editor, node);
  if (!axes || !type.is_static() || type.shape->size() != 4) return std::nullopt;
  const bool first = *axes == Ints{2, 3};
  if (!first && *axes != Ints{1, 2}) return std::nullopt;
  Averaging result{{}, first};
  result.pool.kind = PoolKind::average;
  for (const std::int64_t axis : *axes) result.pool.kernel.push_back((*type.shape)[at(axis)]);
  return element_count(*type.shape) > 0 ? std::optional(result) : std::nullopt;
}

bool average(Editor& editor, int index) {
  const auto averaging = averaging_of(editor, editor.node(index));
  if (!averaging) return false;
  const Node node = editor.node(index);
  const auto x = dequantised(editor, node.inputs[0]);
  const auto ending = x && !editor.is_constant(x->bytes) ? ending_of(editor, node.outputs[0]) : std::nullopt;
  if (!ending) return false;
  const ByteAverage op{averaging->pool, x->zero, x->scale / ending->scale.scale, ending->out};
  const bool turns = averaging->channels_first;
  const ValueId bytes = turns ? editor.add(Transpose{{0, 2, 3, 1}}, {x->bytes}, node) : x->bytes;
  const ValueId mean = editor.add(op, {bytes}, node);
  editor.replace(ending->bytes, turns ? editor.add(Transpose{{0, 3, 1, 2}}, {mean}, node) : mean);
  return true;
}

bool binary(Editor& editor, int index) {
  if (!editor.is_one_of<Binary>(index)) return false;
  const Node node = editor.node(index);
  const auto* op = std::get_if<Binary>(&node.op);
  if (op->kind != BinaryKind::add && op->kind != BinaryKind::mul) return false;
  const auto a = dequantised(editor, node.inputs[0]), b = dequantised(editor, node.inputs[1]);
  const auto ending = a && b ? ending_of(editor, node.outputs[0]) : std::nullopt;
  if (!ending) return false;
  const float y = ending->scale.scale;
  ByteBinary combined{op->kind, a->zero, b->zero, a->scale / y, b->scale / y, ending->out};
  if (op->kind == BinaryKind::mul) {
    combined.a_factor = a->scale * b->scale / y;
    combined.b_factor = 1;
  }
  editor.replace(ending->bytes, editor.add(combined, {a->bytes, b->bytes}, node));
  return true;
}

}  // namespace

bool combine_bytes(Editor& editor, int index) { return binary(editor, index) || average(editor, index); }

bool rescale_sums(Editor& editor, int index) {
  if (!gives_integers(editor.node(index).op)) return false;
  const Node node = editor.node(index);
  if (!editor.read_once(node.outputs[0])) return false;
  const Node cast = editor.node(editor.readers(node.outputs[0]).front());
  const auto* to = std::get_if<Cast>(&cast.op);
  if (to == nullptr || to->to != DType::f32 || !editor.read_once(cast.outputs[0])) return false;
  const Node scaled = editor.node(editor.readers(cast.outputs[0]).front());
  const auto* product = std::get_if<Binary>(&scaled.op);
  if (product == nullptr || product->kind != BinaryKind::mul) return false;
  const ValueId factor = scaled.inputs[0] == cast.outputs[0] ? scaled.inputs[1] : scaled.inputs[0];
  if (!is_factor(editor, factor, node.outputs[0])) return false;
  std::vector<ValueId> inputs = node.inputs;
  inputs.resize(4, kAbsent);
  inputs.push_back(factor);
  ValueId result = scaled.outputs[0];
  if (editor.read_once(result)) {
    const Node sum = editor.node(editor.readers(result).front());
    const auto* add = std::get_if<Binary>(&sum.op);
    const ValueId shift = sum.inputs[0] == result ? sum.input(1) : sum.inputs[0];
    const auto& whole = editor.value(result).type.shape;
    if (add != nullptr && add->kind == BinaryKind::add && editor.is_constant(shift) && whole && !whole->empty() &&
        editor.value(shift).type.dtype == DType::f32 && editor.value(shift).type.shape == Shape{whole->back()}) {
      inputs.push_back(shift);
      result = sum.outputs[0];
    }
  }
  editor.replace(result, editor.add(with_rescale(node.op, {DType::f32}), std::move(inputs), node));
  return true;
}

}  // namespace colonnade::rewrite
