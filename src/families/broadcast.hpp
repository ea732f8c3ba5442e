// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "families/family.hpp"

namespace colonnade {

/// One operand of a binary operator against the output's rows: which of its axes are broadcast.
struct Broadcast {
  bool images = false, rows = false, width = false, channels = false;  ///< true: one value for all
};
/// How `shape` broadcasts against `output`; nothing when it cannot be told by images, rows, width and channels.
std::optional<Broadcast> broadcast_of(const Shape& shape, const Shape& output);
/// Of both operands of a node.
std::optional<std::array<Broadcast, 2>> broadcasts_of(const Subject& node);

}  // namespace colonnade
