// SPDX-License-Identifier: Apache-2.0
// Images of one column become images of one row.
#include <algorithm>

#include "passes/layout_ops.hpp"
#include "passes/match.hpp"
#include "passes/orient.hpp"
#include "passes/permutation.hpp"
#include "passes/transposes.hpp"

namespace colonnade::rewrite {
namespace {

const Ints kSwap{0, 2, 1, 3};

bool is_column(const Editor& editor, ValueId id) {
  const ValueType& type = editor.value(id).type;
  return type.is_static() && type.shape->size() == 4 && (*type.shape)[2] == 1;
}

bool is_window(const Operator& op) {
  return std::holds_alternative<Conv>(op) || std::holds_alternative<ConvTranspose>(op) ||
         std::holds_alternative<Pool>(op);
}

const FusedEpilogue* epilogue_of_window(const Operator& op) {
  if (const auto* conv = std::get_if<Conv>(&op)) return &conv->epilogue;
  const auto* conv = std::get_if<ConvTranspose>(&op);
  return conv == nullptr ? nullptr : &conv->epilogue;
}

std::optional<std::vector<std::size_t>> column_members(const Editor& editor, const Node& node) {
  if (node.outputs.size() != 1 || node.inputs.empty() || !is_column(editor, node.outputs[0])) return std::nullopt;
  std::vector<std::size_t> members;
  if (is_window(node.op)) {
    if (!std::holds_alternative<Pool>(node.op) && !editor.is_constant(node.inputs[1])) return std::nullopt;
    members.push_back(0);
    const FusedEpilogue* epilogue = epilogue_of_window(node.op);
    if (epilogue != nullptr && epilogue->residual) members.push_back(node.inputs.size() - 1);
  } else {
    const auto use = flexible_use(editor, node);
    if (!use || !allows(editor, node, kSwap)) return std::nullopt;
    for (const std::size_t input : use->lifted)
      if (!editor.value(node.inputs[input]).type.is_static()) return std::nullopt;
    members = use->members;
  }
  const auto column = [&](std::size_t input) {
    return !editor.is_constant(node.inputs[input]) && is_column(editor, node.inputs[input]);
  };
  return std::all_of(members.begin(), members.end(), column) ? std::optional(members) : std::nullopt;
}

/// Windows that slide along the rows, or a Transpose that would write them pixel by pixel.
bool pays_to_lie(const Editor& editor, const AxisGroup& group) {
  const auto moves_planes = [&](int index) {
    return index >= 0 && std::holds_alternative<Transpose>(editor.node(index).op);
  };
  return std::any_of(group.nodes.begin(), group.nodes.end(), [&](int index) {
    const Node& node = editor.node(index);
    if (!is_window(node.op)) return false;
    const std::int64_t rows = (*editor.value(node.inputs[0]).type.shape)[1];
    const Ints kernel = std::visit(
        [](const auto& op) {
          if constexpr (requires { op.kernel; })
            return op.kernel;
          else
            return Ints{};
        },
        node.op);
    const auto& readers = editor.readers(node.outputs[0]);
    return rows > 1 && (kernel.empty() || kernel[0] > 1 || moves_planes(editor.producer(node.inputs[0])) ||
                        std::any_of(readers.begin(), readers.end(), moves_planes));
  });
}

Shape lie(const Shape& shape) { return {shape[0], 1, shape[1], shape[3]}; }
Shape lie_in_planes(const Shape& shape) { return {shape[0], shape[1], 1, shape[2]}; }

void swap_axes(Ints& list) {
  for (std::size_t axis = 0; axis + 1 < list.size(); axis += 2) std::swap(list[axis], list[axis + 1]);
}

/// An operand that broadcasts: its axes of rows and columns, as far as it has them.
ValueId swapped_operand(Editor& editor, ValueId id, const Node& like) {
  const Shape shape = *editor.value(id).type.shape;
  if (shape.size() < 3 || shape[shape.size() - 3] == 1) return id;
  Shape whole(4 - shape.size(), 1);
  whole.insert(whole.end(), shape.begin(), shape.end());
  if (!editor.is_constant(id)) return *add_reshape(editor, id, lie(whole), like);
  return editor.add_constant(std::string(editor.value(id).name), reshaped(editor.value(id).constant, lie(whole)));
}

ValueId swapped_weights(Editor& editor, ValueId id) {
  const auto constant = editor.value(id).constant;
  const Shape& shape = constant->shape();
  const Shape swapped{shape[0], shape[1], shape[3], shape[2]};
  const std::string name = editor.value(id).name;
  if (shape[2] == 1 || shape[3] == 1) return editor.add_constant(name, reshaped(constant, swapped));
  return editor.add_constant(name, derived(constant, "kernels lying", [&] {
                               return std::make_shared<const Constant>(transposed(*constant->tensor(), {0, 1, 3, 2}));
                             }));
}

template <class Window>
void swap_window(Window& op) {
  for (Ints* list : {&op.kernel, &op.strides, &op.dilations, &op.pads}) swap_axes(*list);
  if constexpr (requires { op.output_padding; }) {
    swap_axes(op.output_padding);
    swap_axes(op.output_shape);
  }
}

void lay_down(Editor& editor, Node& node) {
  if (!is_window(node.op)) {
    const FlexibleUse use = *flexible_use(editor, node);
    std::vector<ValueId> lifted;
    for (const std::size_t input : use.lifted) lifted.push_back(swapped_operand(editor, node.inputs[input], node));
    node = relaid(editor, node, kSwap);
    for (std::size_t i = 0; i < lifted.size(); ++i) node.inputs[use.lifted[i]] = lifted[i];
    return;
  }
  std::visit(
      [](auto& op) {
        if constexpr (requires { op.kernel; }) swap_window(op);
      },
      node.op);
  if (!std::holds_alternative<Pool>(node.op)) node.inputs[1] = swapped_weights(editor, node.inputs[1]);
}

}  // namespace

const AxisRule kLaidDown{column_members, pays_to_lie, lie, lie_in_planes, lay_down};

}  // namespace colonnade::rewrite
