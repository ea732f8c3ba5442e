// SPDX-License-Identifier: Apache-2.0
// Tensors in memory by strides: how many elements lie between neighbours along each axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "colonnade/colonnade.hpp"

namespace colonnade {

using Strides = std::vector<std::int64_t>;

/// Those of a dense row-major tensor.
Strides dense_strides(std::span<const std::int64_t> shape);

/// The order in which the axes lie in memory, outermost first: a dense tensor of the shape `in_order(shape, order)` has
/// its elements where the strides say, or could have been copied from there walking forwards. Empty: row-major. Axes of
/// size 1 or stride 0 stay where they are.
Strides memory_order(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

/// Position i of the result is position order[i] of `list`; all of it as it is when `order` is empty.
Shape in_order(std::span<const std::int64_t> list, std::span<const std::int64_t> order);

/// Whether elements lie next to each other without gaps, in the order of `order`. True when there are none.
bool is_dense(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
              std::span<const std::int64_t> order);

/// Whether two elements may lie at the same place: false is certain.
bool may_overlap(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

/// Throws Error{invalid_argument} when there are strides but not one an axis, or when elements lie further apart than
/// memory is large.
void check_strides(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

/// Elements from index 0 up to the furthest one after it, 0 when there are none; no strides: dense. Throws
/// Error{resource_limit} when a dense tensor has more than can be counted. The strides are checked.
std::int64_t reach_of(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);

/// Copies the elements of a tensor of any type, a string as a string; both sides by their strides.
void copy_elements(DType dtype, std::span<const std::int64_t> shape, const void* from,
                   std::span<const std::int64_t> from_strides, void* to, std::span<const std::int64_t> to_strides);

}  // namespace colonnade
