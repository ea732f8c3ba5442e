// SPDX-License-Identifier: Apache-2.0
// Which axes of tensors are rows and which are columns, where operators allow another choice.
#pragma once

#include "passes/editor.hpp"

namespace colonnade::rewrite {

/// Nodes that a change of axes takes together, in ascending order.
struct AxisGroup {
  std::vector<int> nodes;
  bool contains(int node) const;
};

/// A change of axes that moves no element: values get another shape.
struct AxisRule {
  /// The inputs whose shapes change along with the output's; nothing for a node that the change does not suit.
  std::optional<std::vector<std::size_t>> (*members)(const Editor& editor, const Node& node);
  bool (*pays)(const Editor& editor, const AxisGroup& group);
  Shape (*shape)(const Shape& shape);
  /// The same of the planes [image, channel, row, column] that a Transpose makes channels-last; null: it stays behind.
  Shape (*planes)(const Shape& shape);
  /// Attributes and inputs that are no members.
  void (*adapt)(Editor& editor, Node& node);
};

/// Images of one column become images of one row: kernels take the pixels of a row together.
extern const AxisRule kLaidDown;
/// All positions of small images become the rows of one image, where products treat all positions alike: their weights
/// are read once and not once an image, and any number of threads shares the rows.
extern const AxisRule kJoined;
/// Many images of few elements become the rows of one image, where operators compute element by element: operands that
/// all images share are rows that repeat.
extern const AxisRule kStood;
/// Whether it makes these rows of images of that shape: no other pass takes that back.
bool is_stood(const Shape& images, const Shape& rows);

}  // namespace colonnade::rewrite
