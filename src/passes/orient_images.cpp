// SPDX-License-Identifier: Apache-2.0
// Many images of few elements become the rows of one image.
#include <algorithm>

#include "passes/match.hpp"
#include "passes/orient.hpp"

namespace colonnade::rewrite {
namespace {

/// A step takes as long as some hundred elements, and each image takes one.
constexpr std::int64_t kFewElements = 256, kManyImages = 16;

bool is_of_elements(const Operator& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Cast>(op) || std::holds_alternative<Binary>(op) ||
         std::holds_alternative<Select>(op);
}

/// Inputs that have images as the output; what others hold is the same for all images.
std::optional<std::vector<std::size_t>> image_members(const Editor& editor, const Node& node) {
  if (!is_of_elements(node.op) || node.outputs.size() != 1) return std::nullopt;
  const ValueType& out = editor.value(node.outputs[0]).type;
  if (!out.is_static() || out.shape->size() != 3) return std::nullopt;
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueType& in = editor.value(node.inputs[i]).type;
    if (!in.is_static()) return std::nullopt;
    if (in.shape->size() < 3 || in.shape->front() == 1) continue;
    if (editor.is_constant(node.inputs[i])) return std::nullopt;
    members.push_back(i);
  }
  return members;
}

bool are_many(const Shape& images) { return images[0] >= kManyImages && images[1] * images[2] <= kFewElements; }

bool pays_to_stand(const Editor& editor, const AxisGroup& group) {
  return are_many(*editor.value(editor.node(group.nodes.front()).outputs[0]).type.shape);
}

Shape stand(const Shape& shape) { return {1, shape[0], shape[1], shape[2]}; }

void leave(Editor&, Node&) {}

}  // namespace

bool is_stood(const Shape& images, const Shape& rows) {
  return images.size() == 3 && are_many(images) && rows == stand(images);
}

const AxisRule kStood{image_members, pays_to_stand, stand, nullptr, leave};

}  // namespace colonnade::rewrite
