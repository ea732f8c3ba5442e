// SPDX-License-Identifier: Apache-2.0
// Nodes that only put the axes of a tensor in another order.
#pragma once

#include <optional>

#include "families/family.hpp"

namespace colonnade {

/// An input of `shape` is given out with its axes in this order.
struct AxisOrder {
  Shape shape;
  Ints axes;
};

/// Of a Transpose, and of depth and space where channels are the second of four axes; nothing of other nodes.
std::optional<AxisOrder> axis_order_of(const Subject& node);

}  // namespace colonnade
