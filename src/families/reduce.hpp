// SPDX-License-Identifier: Apache-2.0
// Reductions over adjacent axes of whole tensors.
#pragma once

#include <optional>

#include "families/family.hpp"

namespace colonnade {

/// [outer, reduced, inner]; units are blocks of the inner indices of each outer one.
struct ReducedAxes {
  static constexpr std::int64_t kUnitChannels = 256;

  std::int64_t outer = 1, reduced = 1, inner = 1;

  std::int64_t blocks() const;
  std::int64_t units() const { return outer * blocks(); }
};

/// Nothing, and why in `refused`, where the axes are not constants or not adjacent. Those of one element are whatever
/// is around them.
std::optional<ReducedAxes> reduced_axes(const Subject& node, const Reduce& op, Match& refused);

}  // namespace colonnade
