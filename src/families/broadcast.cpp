// SPDX-License-Identifier: Apache-2.0
#include "families/broadcast.hpp"

namespace colonnade {

std::optional<Broadcast> broadcast_of(const Shape& shape, const Shape& output) {
  if (shape == output) return Broadcast{};
  const auto count = [](const Shape& dims) { return element_count(dims); };
  if (count(shape) == 1) return Broadcast{true, true, true, true};
  if (output.size() > 4 || shape.size() > output.size()) return std::nullopt;
  Shape padded(output.size() - shape.size(), 1);
  padded.insert(padded.end(), shape.begin(), shape.end());
  const auto broadcast = [&](std::size_t axis) { return padded[axis] == 1 && output[axis] != 1; };
  switch (output.size()) {
    case 1: return Broadcast{false, false, false, broadcast(0)};
    case 2: return Broadcast{false, broadcast(0), false, broadcast(1)};
    case 3: return Broadcast{broadcast(0), broadcast(1), false, broadcast(2)};
    default: return Broadcast{broadcast(0), broadcast(1), broadcast(2), broadcast(3)};
  }
}

std::optional<std::array<Broadcast, 2>> broadcasts_of(const Subject& node) {
  const auto a = broadcast_of(node.input_shape(0), node.output_shape());
  const auto b = broadcast_of(node.input_shape(1), node.output_shape());
  if (!a || !b) return std::nullopt;
  return std::array{*a, *b};
}

}  // namespace colonnade
