// SPDX-License-Identifier: Apache-2.0
// Axis permutations. A Transpose with perm p makes y of x with y.dim[i] = x.dim[p[i]].
#pragma once

#include <optional>

#include "graph/graph.hpp"

namespace colonnade::rewrite {

/// The permutation of a Transpose on a value of the given rank (an empty perm reverses).
Ints perm_of(const Transpose& transpose, std::size_t rank);
Ints identity_perm(std::size_t rank);
bool is_identity(const Ints& perm);
Ints inverse(const Ints& perm);
/// The one Transpose that equals `first`, then `second`.
Ints compose(const Ints& first, const Ints& second);
Shape permuted(const Shape& shape, const Ints& perm);
/// Where the axis of the untransposed value lies afterwards.
std::int64_t moved_axis(std::int64_t axis, const Ints& perm);
/// True when a Transpose of a value of this shape leaves its elements in order: only axes of size 1 move.
bool keeps_order(const Shape& shape, const Ints& perm);

/// The shape as a Reshape's target: at most one unknown dimension, written -1; nothing when more are unknown.
std::optional<Ints> reshape_target(const Shape& shape);

/// For a Reshape from `in` to `out`: the permutation q of the output for which
/// Transpose_q(Reshape(x)) == Reshape'(Transpose_perm(x)), Reshape' going to permuted(out, q); nothing when there is
/// none.
std::optional<Ints> through_reshape(const Shape& in, const Shape& out, const Ints& perm);

}  // namespace colonnade::rewrite
