// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "passes/contraction.hpp"
#include "passes/match.hpp"
#include "passes/pass_list.hpp"

namespace colonnade::rewrite {
namespace {

/// The input of the node that it maps channel by channel with constants, and how.
struct AffineNode {
  ValueId input = kAbsent;
  ChannelAffine affine;
};

std::optional<AffineNode> as_affine(const Editor& editor, const Node& node) {
  for (std::size_t i = 0; i < std::min<std::size_t>(2, node.inputs.size()); ++i) {
    const ValueId input = node.inputs[i];
    if (input == kAbsent || editor.is_constant(input) || node.outputs[0] == kAbsent) continue;
    if (auto affine = affine_of(editor, node, input)) return AffineNode{input, std::move(*affine)};
  }
  return std::nullopt;
}

/// A MatMul's output has channels last only when its second operand is a matrix.
bool has_channels(const Editor& editor, const Node& node) {
  return has_rank(editor, node.inputs[1]) && rank_of(editor, node.inputs[1]) >= 2 &&
         has_rank(editor, node.outputs[0]) && !editor.value(node.outputs[0]).type.shape->empty();
}

bool fold_into_contraction(Editor& editor, int index) {
  const auto affine = as_affine(editor, editor.node(index));
  if (!affine || !editor.read_once(affine->input)) return false;
  const Node node = editor.node(index);
  const int contraction = editor.producer(affine->input);
  if (contraction < 0) return false;
  const FusedEpilogue* epilogue = epilogue_of(editor.node(contraction).op);
  if (epilogue == nullptr || !is_plain(*epilogue) || !has_channels(editor, editor.node(contraction))) return false;
  if (!fold_affine(editor, contraction, affine->affine)) return false;
  editor.replace(node.outputs[0], affine->input);
  return true;
}

/// The factor of a product of two values goes to the contraction that makes the left one.
bool fold_into_operand(Editor& editor, int index) {
  const auto affine = as_affine(editor, editor.node(index));
  if (!affine || affine->affine.scale.size() != 1 || !affine->affine.shift.empty()) return false;
  const Node node = editor.node(index);
  const auto* product = editor.produced_by<MatMul>(affine->input);
  if (product == nullptr || !is_plain(product->epilogue) || !editor.read_once(affine->input)) return false;
  const Node& made = editor.node(editor.producer(affine->input));
  if (made.input(2) != kAbsent || editor.is_constant(made.inputs[1])) return false;
  ValueId left = made.inputs[0];
  while (editor.read_once(left) &&
         (editor.produced_by<Reshape>(left) != nullptr || editor.produced_by<Transpose>(left) != nullptr))
    left = editor.node(editor.producer(left)).inputs[0];
  const int contraction = editor.producer(left);
  if (contraction < 0 || !editor.read_once(left)) return false;
  const FusedEpilogue* epilogue = epilogue_of(editor.node(contraction).op);
  if (epilogue == nullptr || !is_plain(*epilogue) || !has_channels(editor, editor.node(contraction))) return false;
  if (!fold_affine(editor, contraction, affine->affine)) return false;
  editor.replace(node.outputs[0], affine->input);
  return true;
}

/// The map that makes the input of a convolution or of a product with a constant matrix, which nobody else reads, goes
/// into the weights.
bool fold_into_reader(Editor& editor, int index) {
  const bool convolves = editor.is_one_of<Conv>(index);
  if (!convolves && !editor.is_one_of<MatMul>(index)) return false;
  const ValueId read = editor.node(index).inputs[0];
  const int producer = editor.producer(read);
  if (producer < 0 || !editor.read_once(read)) return false;
  const auto affine = as_affine(editor, editor.node(producer));
  if (!affine) return false;
  const auto fold = convolves ? fold_scale_of_input : fold_affine_of_input;
  if (!fold(editor, index, affine->affine)) return false;
  editor.replace(read, affine->input);
  return true;
}

ValueId add_channel_binary(Editor& editor, BinaryKind kind, ValueId input, const std::vector<double>& values,
                           const Node& like) {
  const auto count = static_cast<std::int64_t>(values.size());
  Tensor tensor(DType::f32, count == 1 ? Shape{} : Shape{count});
  std::transform(values.begin(), values.end(), tensor.values<float>().begin(),
                 [](double v) { return static_cast<float>(v); });
  const ValueId constant =
      editor.add_constant(like.name + (kind == BinaryKind::mul ? "_scale" : "_shift"), std::move(tensor));
  return editor.add(Binary{kind}, {input, constant}, like);
}

/// Rows of pixels, channels last, as a convolution takes them.
bool is_image(const Editor& editor, ValueId id) {
  const ValueType& type = editor.value(id).type;
  return type.is_static() && type.dtype == DType::f32 && type.shape->size() == 4 && (*type.shape)[1] > 1;
}

/// The map as a depthwise 1x1 convolution, which takes activations and residuals into the same pass.
ValueId add_depthwise(Editor& editor, ValueId input, const ChannelAffine& affine, const Node& like) {
  const std::int64_t channels = editor.value(input).type.shape->back();
  Conv conv;
  conv.kernel = conv.strides = conv.dilations = {1, 1};
  conv.pads = {0, 0, 0, 0};
  conv.groups = channels;
  Tensor scale(DType::f32, {channels, 1, 1, 1}), shift(DType::f32, {channels});
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    scale.values<float>()[c] = static_cast<float>(element(affine.scale, c, 1));
    shift.values<float>()[c] = static_cast<float>(element(affine.shift, c, 0));
  }
  return editor.add(conv,
                    {input, editor.add_constant(like.name + "_scale", std::move(scale)),
                     editor.add_constant(like.name + "_shift", std::move(shift))},
                    like);
}

/// A chain of per-channel maps with constants becomes one depthwise convolution, or one Mul and one Add where that is
/// shorter. `index` ends the chain.
bool shorten_chain(Editor& editor, int index) {
  auto chain = as_affine(editor, editor.node(index));
  if (!chain) return false;
  const Node node = editor.node(index);
  std::size_t length = std::holds_alternative<BatchNorm>(node.op) ? 4 : 1;
  while (editor.read_once(chain->input) && editor.producer(chain->input) >= 0) {
    const auto before = as_affine(editor, editor.node(editor.producer(chain->input)));
    if (!before) break;
    chain = AffineNode{before->input, then(before->affine, chain->affine)};
    ++length;
  }
  if (std::holds_alternative<Conv>(node.op) && length == 1) return false;
  const auto& [scale, shift] = chain->affine;
  const std::size_t needed = (scale.empty() ? 0u : 1u) + (shift.empty() ? 0u : 1u);
  if (needed == 2 && is_image(editor, chain->input)) {
    editor.replace(node.outputs[0], add_depthwise(editor, chain->input, chain->affine, node));
    return true;
  }
  if (needed >= length) return false;
  ValueId result = chain->input;
  if (!scale.empty()) result = add_channel_binary(editor, BinaryKind::mul, result, scale, node);
  if (!shift.empty()) result = add_channel_binary(editor, BinaryKind::add, result, shift, node);
  editor.replace(node.outputs[0], result);
  return true;
}

/// The next node maps the output on, so the chain does not end here.
bool chain_goes_on(const Editor& editor, int index) {
  const ValueId output = editor.node(index).outputs[0];
  if (output == kAbsent || !editor.read_once(output)) return false;
  const auto next = as_affine(editor, editor.node(editor.readers(output)[0]));
  return next && next->input == output;
}

}  // namespace

bool fold_batch_norm(Graph& graph) {
  Editor editor(graph);
  const int count = editor.node_count();
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index)) fold_into_contraction(editor, index) || fold_into_operand(editor, index);
  }
  for (int index = 0; index < count; ++index) {
    while (editor.alive(index) && fold_into_reader(editor, index)) {
    }
  }
  for (int index = 0; index < count; ++index) {
    if (editor.alive(index) && !chain_goes_on(editor, index)) shorten_chain(editor, index);
  }
  return editor.finish();
}

}  // namespace colonnade::rewrite
