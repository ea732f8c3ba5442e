// SPDX-License-Identifier: Apache-2.0
// What a Rotate reads of its attributes: shared by its definition and its kernels.
#pragma once

#include <cstdint>

#include "graph/opaque.hpp"

namespace colonnade::reference {

/// The first `pairs` pairs of the last axis turn, the rest stays. Pairs are neighbours where interleaved, else `pairs`
/// apart. Heads are axis 1 or 2, positions the other one.
struct Rotation {
  std::int64_t pairs = 0, heads_axis = 1;
  bool interleaved = false;
};
/// Throws Error{invalid_model} for attributes that are no good.
Rotation rotation_of(const Opaque& op);

}  // namespace colonnade::reference
