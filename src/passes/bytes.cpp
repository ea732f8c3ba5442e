// SPDX-License-Identifier: Apache-2.0
#include "passes/bytes.hpp"

#include <algorithm>
#include <cmath>

#include "passes/match.hpp"
#include "passes/pass_list.hpp"
#include "reference/elements.hpp"
#include "reference/reference.hpp"

namespace colonnade::rewrite {
namespace {

constexpr std::int32_t kSignBit = 128;

std::optional<double> one_number(const Editor& editor, ValueId id) {
  if (!editor.is_constant(id) || editor.value(id).constant->size() != 1) return std::nullopt;
  return reference::load_all<double>(*editor.value(id).constant->tensor()).front();
}

ValueId add_zero_point(Editor& editor, std::int32_t zero) {
  Tensor tensor(DType::u8, {});
  tensor.values<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
  return editor.add_constant("zero_point", std::move(tensor));
}

/// The table by which signed bytes become unsigned ones, or unsigned ones signed.
ValueId add_sign_table(Editor& editor, DType to) {
  Tensor table(to, {256});
  auto* bytes = static_cast<std::uint8_t*>(table.data());
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i ^ 0x80U);
  return editor.add_constant("signs", std::move(table));
}

}  // namespace

ValueId add_floats(Editor& editor, const char* name, const std::vector<float>& values) {
  Tensor tensor(DType::f32, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return editor.add_constant(name, std::move(tensor));
}

std::optional<KnownScale> scale_of(const Editor& editor, const Node& node) {
  const auto scale = one_number(editor, node.inputs[1]);
  const auto zero = node.input(2) == kAbsent ? std::optional(0.0) : one_number(editor, node.inputs[2]);
  if (!scale || !zero) return std::nullopt;
  return KnownScale{static_cast<float>(*scale), static_cast<std::int32_t>(*zero)};
}

std::optional<Quantised> dequantised(const Editor& editor, ValueId id) {
  if (editor.produced_by<Dequantize>(id) == nullptr) return std::nullopt;
  const Node& node = editor.node(editor.producer(id));
  const auto scale = scale_of(editor, node);
  if (!scale || editor.value(node.inputs[0]).type.dtype != DType::u8) return std::nullopt;
  return Quantised{node.inputs[0], scale->scale, scale->zero};
}

std::optional<Ending> ending_of(const Editor& editor, ValueId id) {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  while (editor.read_once(id)) {
    const Node& node = editor.node(editor.readers(id).front());
    if (node.inputs[0] != id) return std::nullopt;
    if (const auto* unary = std::get_if<Unary>(&node.op)) {
      if (unary->kind != UnaryKind::relu && unary->kind != UnaryKind::clip) return std::nullopt;
      const float least = unary->kind == UnaryKind::relu ? 0 : unary->a;
      low = std::max(low, least);
      high = std::max(high, least);
      if (unary->kind == UnaryKind::clip) {
        low = std::min(low, unary->b);
        high = std::min(high, unary->b);
      }
      id = node.outputs[0];
      continue;
    }
    const auto* quantize = std::get_if<Quantize>(&node.op);
    const auto scale = quantize != nullptr ? scale_of(editor, node) : std::nullopt;
    if (!scale || quantize->to != DType::u8 || editor.value(id).type.dtype != DType::f32) return std::nullopt;
    const auto zero = static_cast<float>(scale->zero);
    const auto bound = [&](float x) { return std::clamp(std::nearbyint(x / scale->scale), 0 - zero, 255 - zero); };
    return Ending{*scale, {DType::u8, scale->zero, bound(low), bound(high)}, node.outputs[0]};
  }
  return std::nullopt;
}

bool make_unsigned(Editor& editor, int index) {
  if (!editor.is_one_of<Quantize, Dequantize>(index)) return false;
  const Node node = editor.node(index);
  const auto* quantize = std::get_if<Quantize>(&node.op);
  const bool to_signed = quantize != nullptr && quantize->to == DType::i8;
  const bool from_signed = std::holds_alternative<Dequantize>(node.op) && !editor.is_constant(node.inputs[0]) &&
                           editor.value(node.inputs[0]).type.dtype == DType::i8;
  const auto scale = to_signed || from_signed ? scale_of(editor, node) : std::nullopt;
  if (!scale) return false;
  const ValueId zero = add_zero_point(editor, scale->zero + kSignBit);
  if (to_signed) {
    const ValueId bytes = editor.add(Quantize{DType::u8, quantize->axis}, {node.inputs[0], node.inputs[1], zero}, node);
    editor.replace(node.outputs[0], editor.add(Lookup{}, {bytes, add_sign_table(editor, DType::i8)}, node));
  } else {
    const ValueId bytes = editor.add(Lookup{}, {node.inputs[0], add_sign_table(editor, DType::u8)}, node);
    editor.replace(node.outputs[0], editor.add(node.op, {bytes, node.inputs[1], zero}, node));
  }
  return true;
}

bool settle_weights(Editor& editor, int index) {
  const Node& node = editor.node(index);
  const bool known = std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId id) { return id == kAbsent || editor.is_constant(id); });
  if (!std::holds_alternative<Dequantize>(node.op) || !known) return false;
  if (auto narrow = dequantised_weights(editor, node)) {
    editor.set_constant(ValueId{node.outputs[0]}, std::move(narrow));
    return true;
  }
  std::vector<std::shared_ptr<const Tensor>> held;
  std::vector<const Tensor*> inputs;
  for (const ValueId id : node.inputs) {
    held.push_back(id == kAbsent ? nullptr : editor.value(id).constant->tensor());
    inputs.push_back(held.back().get());
  }
  std::vector<Tensor> results = reference::evaluate(node, inputs);
  editor.set_constant(ValueId{node.outputs[0]}, std::move(results[0]));
  return true;
}

namespace {

/// Most graphs have nothing for the ten rules.
bool has_quantised(const Graph& graph) {
  const auto is_small = [](const Value& value) {
    return value.type.is_tensor() && size_of(value.type.dtype) < sizeof(float) && value.type.dtype != DType::boolean;
  };
  const auto stands_for_floats = [](const Node& node) { return std::holds_alternative<Dequantize>(node.op); };
  return std::any_of(graph.values.begin(), graph.values.end(), is_small) ||
         std::any_of(graph.nodes.begin(), graph.nodes.end(), stands_for_floats);
}

}  // namespace

bool compute_in_bytes(Graph& graph) {
  if (!has_quantised(graph)) return false;
  bool changed = false;
  for (const auto rule : {make_unsigned, move_bytes, make_dense, move_bytes, look_up, sum_bytes, end_sums, rescale_sums,
                          combine_bytes, settle_weights}) {
    Editor editor(graph);
    // rules add nodes, which are looked at too; what they left without readers still reads until all is in order
    for (int index = 0; index < editor.node_count(); ++index)
      if (editor.alive(index)) rule(editor, index);
    changed = editor.finish() || changed;
  }
  return changed;
}

}  // namespace colonnade::rewrite
