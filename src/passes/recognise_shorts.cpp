// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "passes/match.hpp"
#include "passes/recognise.hpp"
#include "reference/elements.hpp"

namespace colonnade::rewrite {
namespace {

/// x and the constant that `kind` takes it with, which may be marked as exact.
std::optional<ScaledOperand> taken_with(const Editor& editor, ValueId id, BinaryKind kind) {
  const auto* op = editor.produced_by<Binary>(id);
  if (op == nullptr || op->kind != kind) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  const auto scalar = scalar_of(editor, node.inputs[1]);
  return scalar && same_type(editor, node.inputs[0], id) ? std::optional(ScaledOperand{node.inputs[0], *scalar})
                                                         : std::nullopt;
}

}  // namespace

bool find_short_quantize(Editor& editor, int index) {
  const Node node = editor.node(index);
  const auto* cast = std::get_if<Cast>(&node.op);
  if (cast == nullptr || (cast->to != DType::i16 && cast->to != DType::u16)) return false;
  ValueId x = node.inputs[0];
  if (editor.value(x).type.dtype != DType::f32 || !editor.read_once(x)) return false;
  double zero = 0;
  if (const auto moved = taken_with(editor, x, BinaryKind::add)) {
    zero = moved->scalar;
    x = moved->value;
    if (!editor.read_once(x)) return false;
  }
  const int clipped = editor.producer(x);
  const auto* clip = clipped >= 0 ? std::get_if<Unary>(&editor.node(clipped).op) : nullptr;
  if (clip == nullptr || clip->kind != UnaryKind::clip) return false;
  const double low = reference::lowest_of<double>(cast->to), high = reference::highest_of<double>(cast->to);
  if (zero < low || zero > high || zero != std::nearbyint(zero)) return false;
  if (clip->a != low - zero || clip->b != high - zero) return false;
  const ValueId rounded = editor.node(clipped).inputs[0];
  const auto divided = match_unary(editor, rounded, UnaryKind::round);
  const auto by = divided ? taken_with(editor, *divided, BinaryKind::div) : std::nullopt;
  if (!by || !editor.read_once(rounded) || !editor.read_once(*divided)) return false;
  if (editor.value(by->value).type.dtype != DType::f32 || !(by->scalar > 0) || std::isinf(by->scalar)) return false;
  Tensor scale(DType::f32, {}), origin(cast->to, {});
  scale.values<float>()[0] = static_cast<float>(by->scalar);
  reference::store(&zero, 1, origin, 0);
  std::vector<ValueId> inputs{by->value, editor.add_constant(node.name + "_scale", std::move(scale))};
  if (zero != 0) inputs.push_back(editor.add_constant(node.name + "_zero", std::move(origin)));
  editor.replace(node.outputs[0], editor.add(Quantize{cast->to, 0}, inputs, node));
  return true;
}

}  // namespace colonnade::rewrite
